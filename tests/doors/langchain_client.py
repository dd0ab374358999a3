"""LangChain's ChatOpenAI, as it comes from the registry."""

from importlib.metadata import version

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from door import BASE, inputs, thread_of

model = ChatOpenAI(base_url=BASE, api_key="none", model="thinkd")
talk = [SystemMessage("Be brief."), HumanMessage("lc one")]
first = model.invoke(talk)
assert first.content == "ok: lc one", first
assert first.usage_metadata["total_tokens"] >= 16
talk += [first, HumanMessage("lc two")]
assert "".join(piece.content for piece in model.stream(talk)) == "ok: lc two"
[thread] = thread_of("lc one")
assert inputs(thread) == ["lc one", "lc two"], inputs(thread)

# A list with examples that nobody said here is told, not taken for the log.
shots = [HumanMessage("lc 2+2"), AIMessage("4"), HumanMessage("lc 3+3")]
answer = model.invoke(shots).content
assert answer.startswith("ok: "), answer
for text in model.batch([[HumanMessage(f"lc batch {number}")] for number in range(4)]):
    assert text.content.startswith("ok: lc batch")
print("langchain-openai", version("langchain-openai"))
