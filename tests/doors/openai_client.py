"""OpenAI's own client for Python, as it comes from the registry."""

import asyncio
import json

import openai
from openai import AsyncOpenAI, OpenAI

from door import BASE, conversations, decisions, inputs, outcomes, thread_of, until

client = OpenAI(base_url=BASE, api_key="none")


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def ask(messages, **more):
    answer = client.chat.completions.create(model="thinkd", messages=messages, **more)
    return answer.choices[0].message.content


def stream(messages, **more):
    pieces = client.chat.completions.create(model="thinkd", messages=messages, stream=True, **more)
    return "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)


# Talk, and stream: one thread.
assert [model.id for model in client.models.list()][0] == "thinkd"
talk = [user("py one")]
talk += [assistant(ask(talk)), user("py two")]
assert talk[1]["content"] == "ok: py one"
talk += [assistant(stream(talk)), user("py three")]
assert talk[3]["content"] == "ok: py two"
assert ask(talk) == "ok: py three"
[thread] = thread_of("py one")
assert inputs(thread) == ["py one", "py two", "py three"], inputs(thread)

# Usage, plain and at the end of a stream.
whole = client.chat.completions.create(model="thinkd", messages=[user("py usage")])
assert whole.usage.total_tokens >= 16 and whole.choices[0].finish_reason == "stop"
pieces = client.chat.completions.create(
    model="thinkd", messages=[user("py usage too")], stream=True, stream_options={"include_usage": True}
)
assert [piece.usage.total_tokens for piece in pieces if piece.usage][-1] >= 16

# Regenerate and edit: branches, and what was said stays.
again = talk[:3]
assert ask(again) == "ok: py two"
edited = talk[:2] + [user("py deux")]
assert ask(edited) == "ok: py deux"
assert sorted(inputs(branch)[1] for branch in thread_of("py one")) == ["py deux", "py two", "py two"]
assert inputs(thread) == ["py one", "py two", "py three"]

# Stop: hanging up in the middle cancels the turn.
pieces = client.chat.completions.create(model="thinkd", messages=[user("slow py")], stream=True)
for piece in pieces:
    if piece.choices[0].delta.content:
        break
pieces.close()
[stopped] = thread_of("slow py")
until(lambda: outcomes(stopped) == ["cancelled"], "the turn is cancelled")
assert ask([user("slow py"), assistant("ok: slow"), user("py go on")]) == "ok: py go on"
assert inputs(stopped) == ["slow py", "py go on"], inputs(stopped)

# Errors: the client's own classes, and no second try of a turn that failed.
before = decisions()
for wrong, error in [
    (dict(model="gpt-4o", messages=[user("py")]), openai.NotFoundError),
    (dict(model="thinkd", messages=[]), openai.BadRequestError),
    (dict(model="thinkd", messages=[user("py")], n=2), openai.UnprocessableEntityError),
    (dict(model="thinkd", messages=[user("fail py")]), openai.APIStatusError),
]:
    try:
        client.chat.completions.create(**wrong)
        raise SystemExit(f"not refused: {wrong}")
    except error as problem:
        assert problem.code and str(problem), problem
assert len(inputs(thread_of("fail py")[0])) == 1

# Tools of the client: it runs them, plain and in a stream, and the answer goes on in the same thread.
city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
tools = [{"type": "function", "function": {"name": "weather", "description": "Says the weather.", "parameters": city}}]
talk = [user("py weather Bern Rome")]
called = client.chat.completions.create(model="thinkd", messages=talk, tools=tools).choices[0]
assert called.finish_reason == "tool_calls" and called.message.content is None, called
talk.append(called.message)
for call in called.message.tool_calls:
    talk.append({"role": "tool", "tool_call_id": call.id, "content": f"{json.loads(call.function.arguments)['city']} 4"})
talk.append(assistant(ask(talk, tools=tools)))
assert talk[-1]["content"] == "ok: Bern 4, Rome 4", talk[-1]
assert ask(talk[:-1], tools=tools) == talk[-1]["content"], "a result that comes twice has one answer"
talk.append(user("py and thanks"))
assert ask(talk) == "ok: py and thanks"
[thread] = thread_of("py weather Bern Rome")
assert inputs(thread) == ["py weather Bern Rome", "py and thanks"], inputs(thread)
talk = [user("py streamed weather Oslo")]
with client.chat.completions.stream(model="thinkd", messages=talk, tools=tools) as events:
    called = events.get_final_completion().choices[0]
assert called.finish_reason == "tool_calls", called
[call] = called.message.tool_calls
assert json.loads(call.function.arguments) == {"city": "Oslo"}
talk += [called.message, {"role": "tool", "tool_call_id": call.id, "content": "snow"}]
assert stream(talk, tools=tools) == "ok: snow"
try:
    ask([user("py"), called.message, {"role": "tool", "tool_call_id": "call_other", "content": "snow"}], tools=tools)
    raise SystemExit("a result of no call is not refused")
except openai.BadRequestError as problem:
    assert problem.param == "messages[2].tool_call_id", problem

# A title beside the conversation makes no thread.
known = conversations()
assert ask([user("### Task:\nName this chat.")]) == "A Title"
assert ask([user("Name it.")], extra_headers={"X-OpenWebUI-Task": "title_generation"}) == "A Title"
assert conversations() == known

# The same request again, as a client repeats it whose connection was cut.
keyed = dict(extra_headers={"Idempotency-Key": "py-1"})
before = decisions()
assert ask([user("py once")], **keyed) == ask([user("py once")], **keyed) == "ok: py once"
assert decisions() == before + 1 and len(thread_of("py once")) == 1


# Many at once who say the same: a thread each.
async def crowd():
    people = AsyncOpenAI(base_url=BASE, api_key="none")

    async def person(number):
        said = [user("py hi")]
        first = await people.chat.completions.create(model="thinkd", messages=said)
        said += [assistant(first.choices[0].message.content), user(f"py secret {number}")]
        await people.chat.completions.create(model="thinkd", messages=said)

    await asyncio.gather(*(person(number) for number in range(20)))


asyncio.run(crowd())
# A person whose own thread another one took goes on in a fork: with the same first words, and alone.
secrets = [said for said in map(inputs, thread_of("py hi")) if len(said) > 1]
assert [len(said) for said in secrets] == [2] * 20, secrets
assert len({said[1] for said in secrets}) == 20


# Responses: create, stream, retrieve, a tree by the id of the response before.
def said(response):
    return response.output_text


first = client.responses.create(model="thinkd", input="pr one", instructions="Be brief.", metadata={"topic": "py"})
assert (first.status, said(first), first.metadata) == ("completed", "ok: pr one", {"topic": "py"}), first
assert first.usage.total_tokens >= 16 and first.instructions == "Be brief."
assert client.responses.retrieve(first.id).to_dict() == first.to_dict()
with client.responses.stream(model="thinkd", input="pr two", previous_response_id=first.id) as events:
    words = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    second = events.get_final_response()
assert words == said(second) == "ok: pr two"
[thread] = thread_of("pr one")
assert inputs(thread) == ["pr one", "pr two"], inputs(thread)
branch = client.responses.create(model="thinkd", input="pr deux", previous_response_id=first.id)
assert said(branch) == "ok: pr deux" and inputs(thread) == ["pr one", "pr two"]
assert sorted(inputs(it)[1] for it in thread_of("pr one")) == ["pr deux", "pr two"]
[item] = client.responses.input_items.list(second.id)
assert (item.role, item.content[0].text) == ("user", "pr two")

# A stream in the background that was cut goes on behind its last number.
events = client.responses.create(model="thinkd", input="slow pr", background=True, stream=True)
words, last = "", 0
for event in events:
    last = event.sequence_number
    if event.type == "response.created":
        slow = event.response
    if event.type == "response.output_text.delta":
        words += event.delta
        if len(words) > 20:
            break
events.close()
assert client.responses.retrieve(slow.id).status == "in_progress"
for event in client.responses.retrieve(slow.id, stream=True, starting_after=last):
    assert event.sequence_number > last
    last = event.sequence_number
    words += event.delta if event.type == "response.output_text.delta" else ""
assert event.type == "response.completed" and words == said(event.response), words
with client.responses.stream(response_id=slow.id, starting_after=3) as events:
    assert said(events.get_final_response()) == words

# Cancel, and the state of a turn that failed.
slow = client.responses.create(model="thinkd", input="slow pr again", background=True)
assert slow.status in ("queued", "in_progress")
assert client.responses.cancel(slow.id).status == "cancelled"
failed = client.responses.create(model="thinkd", input="fail pr", background=True)
until(lambda: client.responses.retrieve(failed.id).status == "failed", "the response fails")
assert client.responses.retrieve(failed.id).error.code == "server_error"
for wrong, error in [
    (lambda: client.responses.create(model="thinkd", input="fail pr too"), openai.APIStatusError),
    (lambda: client.responses.create(model="thinkd", input="pr", previous_response_id="resp_1"), openai.NotFoundError),
    (lambda: client.responses.create(model="thinkd", input="pr", store=False), openai.UnprocessableEntityError),
    (lambda: client.responses.create(model="thinkd", input="pr", tools=[{"type": "web_search"}]), openai.UnprocessableEntityError),
    (lambda: client.responses.retrieve("resp_1"), openai.NotFoundError),
    (lambda: client.responses.delete(first.id), openai.UnprocessableEntityError),
]:
    try:
        wrong()
        raise SystemExit("not refused")
    except error as problem:
        assert problem.code and str(problem), problem
assert len(inputs(thread_of("fail pr too")[0])) == 1
keyed = dict(extra_headers={"Idempotency-Key": "pr-1"})
once = [client.responses.create(model="thinkd", input="pr once", **keyed).id for _ in range(2)]
assert once[0] == once[1] and len(thread_of("pr once")) == 1


async def later():
    people = AsyncOpenAI(base_url=BASE, api_key="none")
    response = await people.responses.create(model="thinkd", input="pr async", background=True)
    while response.status in ("queued", "in_progress"):
        response = await people.responses.retrieve(response.id)
    assert said(response) == "ok: pr async"


asyncio.run(later())
# Functions of the client: plain, in a stream, and answered behind the response that called them.
functions = [{"type": "function", "name": "weather", "description": "Says the weather.", "parameters": city, "strict": False}]


def results(response):
    calls = [item for item in response.output if item.type == "function_call"]
    output = [f"{json.loads(call.arguments)['city']} 4" for call in calls]
    return [{"type": "function_call_output", "call_id": call.call_id, "output": text} for call, text in zip(calls, output)]


asked = client.responses.create(model="thinkd", input="pr weather Bern Rome", tools=functions)
assert asked.status == "completed" and len(results(asked)) == 2, asked
answer = client.responses.create(model="thinkd", input=results(asked), previous_response_id=asked.id, tools=functions)
assert said(answer) == "ok: Bern 4, Rome 4", answer
again = client.responses.create(model="thinkd", input=results(asked), previous_response_id=asked.id, tools=functions)
assert again.id == answer.id, "results that come twice have one answer"
assert said(client.responses.create(model="thinkd", input="pr thanks", previous_response_id=answer.id)) == "ok: pr thanks"
[thread] = thread_of("pr weather Bern Rome")
assert inputs(thread) == ["pr weather Bern Rome", "pr thanks"], inputs(thread)
with client.responses.stream(model="thinkd", input="pr streamed weather Oslo", tools=functions) as events:
    kinds = [event.type for event in events]
    asked = events.get_final_response()
assert "response.function_call_arguments.done" in kinds, kinds
answer = client.responses.create(model="thinkd", input=results(asked), previous_response_id=asked.id, tools=functions)
assert said(answer) == "ok: Oslo 4", answer
print("openai for Python", openai.__version__)
