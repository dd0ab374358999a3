"""LangChain's ChatOpenAI, as it comes from the registry."""

from importlib.metadata import version

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
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


# Tools that LangChain runs: bound, called, and answered.
@tool
def weather(city: str) -> str:
    """Says the weather of a city."""
    return f"{city} 4"


bound = model.bind_tools([weather])
talk = [HumanMessage("lc weather Bern Rome")]
called = bound.invoke(talk)
assert [call["args"] for call in called.tool_calls] == [{"city": "Bern"}, {"city": "Rome"}], called
talk += [called] + [weather.invoke(call) for call in called.tool_calls]
last = bound.invoke(talk)
assert last.content == "ok: Bern 4, Rome 4", last
talk += [last, HumanMessage("lc thanks")]
assert model.invoke(talk).content == "ok: lc thanks"
[thread] = thread_of("lc weather Bern Rome")
assert inputs(thread) == ["lc weather Bern Rome", "lc thanks"], inputs(thread)
pieces = list(bound.stream([HumanMessage("lc streamed weather Oslo")]))
whole = pieces[0]
for piece in pieces[1:]:
    whole += piece
assert [call["args"] for call in whole.tool_calls] == [{"city": "Oslo"}], whole

# Responses: the whole conversation each time, then by the id of the response before.
for by_id in (False, True):
    word = f"lr {'id' if by_id else 'list'}"
    model = ChatOpenAI(base_url=BASE, api_key="none", model="thinkd", use_responses_api=True, use_previous_response_id=by_id)
    talk = [SystemMessage("Be brief."), HumanMessage(f"{word} one")]
    first = model.invoke(talk)
    assert first.text == f"ok: {word} one", first
    assert first.usage_metadata["total_tokens"] >= 16
    talk += [first, HumanMessage(f"{word} two")]
    assert "".join(piece.text for piece in model.stream(talk)) == f"ok: {word} two"
    [thread] = thread_of(f"{word} one")
    assert inputs(thread) == [f"{word} one", f"{word} two"], inputs(thread)
    # Tools that LangChain runs.
    bound = model.bind_tools([weather])
    talk = [HumanMessage(f"{word} weather Bern Rome")]
    called = bound.invoke(talk)
    assert [call["args"] for call in called.tool_calls] == [{"city": "Bern"}, {"city": "Rome"}], called
    talk += [called] + [weather.invoke(call) for call in called.tool_calls]
    last = bound.invoke(talk)
    assert last.text == "ok: Bern 4, Rome 4", last
    talk += [last, HumanMessage(f"{word} thanks")]
    assert "".join(piece.text for piece in bound.stream(talk)) == f"ok: {word} thanks"
    [thread] = thread_of(f"{word} weather Bern Rome")
    assert inputs(thread) == [f"{word} weather Bern Rome", f"{word} thanks"], inputs(thread)
    pieces = list(bound.stream([HumanMessage(f"{word} streamed weather Oslo")]))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    assert [call["args"] for call in whole.tool_calls] == [{"city": "Oslo"}], whole
print("langchain-openai", version("langchain-openai"))
