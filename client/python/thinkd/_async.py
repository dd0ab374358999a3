"""The asynchronous client."""

from __future__ import annotations

import asyncio
import base64
import uuid
import weakref
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Literal, TypeVar, overload

from . import _forks
from ._drafts import Delta
from ._http import Http, Token, segment
from ._items import AsyncEvents, AsyncTurn, _Items
from ._socket import Lost, pause
from ._stream import Line, Stream
from .errors import Closed, TurnFailed, Unavailable, Unreachable
from .events import Event, event_of

Media = bytes | Mapping[str, Any]
Policy = Literal["enqueue", "steer", "interrupt", "reject"]
"""An image or a sound: its bytes, or `{"blob": …}` of one that was uploaded."""

_Opened = TypeVar("_Opened", bound="_Items[Any]")


class AsyncThinkd:
    """A client of one space. `patience` is the time in seconds for which lost connections are tried again; `timeout` is that of one request over HTTP."""

    def __init__(self, url: str = "http://localhost:2953", token: Token = None, *, timeout: float = 30.0, patience: float = 60.0) -> None:
        base = url.rstrip("/")
        base = "http" + base[2:] if base.startswith(("ws://", "wss://")) else base
        if not base.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is no address of a server: it begins with http:// or https://")
        self.token = token
        """The key or token, or the function that gets one."""
        self._http = Http(base, lambda: self.token, timeout)
        self._line = Line(f"ws{base[4:]}/ws", lambda: self.token, patience)
        self._open: weakref.WeakSet[_Items[Any]] = weakref.WeakSet()

    async def connect(self) -> AsyncThinkd:
        """Asks the server who it is. A wrong address or token fails here; without this call it fails at the first use."""
        try:
            socket = await self._line.open()
        except Lost as lost:
            raise Unreachable(f"no answer from {self._line.address}: {lost}") from None
        await socket.close()
        return self

    async def close(self) -> None:
        """Ends all streams. A message that waits for its acknowledgement fails with `Closed`."""
        self._line.closed = True
        await asyncio.gather(*(one._stream.close() for one in list(self._open)))

    async def __aenter__(self) -> AsyncThinkd:
        return await self.connect()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def hello(self) -> dict[str, Any]:
        """The server's words about itself when it was last reached: `version`, `space`, `role`, `epoch`, …"""
        return self._line.hello

    def thread(self, id: str = "main") -> AsyncThread:
        """A thread. One that does not exist begins with its first message."""
        return AsyncThread(self, id)

    async def get(self, path: str, **query: object) -> Any:
        """`GET` of any documented address."""
        return await self.request("GET", path, query)

    async def post(self, path: str, body: object = None, **query: object) -> Any:
        """`POST` of JSON, or of bytes, to any documented address."""
        return await self.request("POST", path, query, body)

    async def request(self, method: str, path: str, query: Mapping[str, object] | None = None, body: object = None) -> Any:
        """One request. JSON comes back as values, everything else as bytes, nothing as None."""
        if self._line.closed:
            raise Closed("the client is closed")
        answer = await self._http.request(method, path, query, body)
        self._line.reached = True
        return answer

    async def pages(self, path: str, **query: object) -> AsyncIterator[Any]:
        """The items of a list, page by page: `async for thread in t.pages("/threads")`."""
        while True:
            page = await self.get(path, **query)
            for item in page["items"]:
                yield item
            if page["next"] is None:
                return
            query["cursor"] = page["next"]

    async def history(self, *, order: Literal["asc", "desc"] = "desc", **query: object) -> AsyncIterator[Event]:
        """Stored events, the newest first. `query` is that of `GET /events`: `tags`, `q`, `after`, `before`, `since`, …"""
        async for raw in self.pages("/events", order=order, **query):
            yield event_of(raw)

    @overload
    def events(self, *, deltas: Literal[False] = False, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> AsyncEvents[Event]: ...
    @overload
    def events(self, *, deltas: bool, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> AsyncEvents[Event | Delta]: ...
    def events(self, *, deltas: bool = False, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> AsyncEvents[Any]:
        """Events as they are stored. `after` replays those behind that `seq` first, 0 all of them; without `follow` the iteration ends with the replay.
        `filter` is that of the frame `subscribe`: `thread`, `subtree`, `tags`, `debug`."""
        return self._kept(AsyncEvents(Stream(self._line, dict(filter), after, epoch), deltas, follow))

    async def approvals(self, thread: str | None = None) -> list[dict[str, Any]]:
        """Tool calls that wait for a person, the oldest first."""
        return [one async for one in self.pages("/approvals", thread=thread)]

    async def approve(self, approval: str, *, arguments: Mapping[str, object] | None = None, reason: str | None = None) -> dict[str, Any]:
        """Lets a waiting call run, with other arguments where some are given."""
        verdict = {"verdict": "approve"} if arguments is None else {"verdict": "edit", "arguments": arguments}
        return await self._decide(approval, verdict, reason)

    async def deny(self, approval: str, *, reason: str | None = None) -> dict[str, Any]:
        """Lets a waiting call not run."""
        return await self._decide(approval, {"verdict": "reject"}, reason)

    async def respond(self, approval: str, text: str) -> dict[str, Any]:
        """Gives the result of a waiting call, which does not run."""
        return await self._decide(approval, {"verdict": "respond", "text": text}, None)

    async def _decide(self, approval: str, verdict: dict[str, Any], reason: str | None) -> dict[str, Any]:
        body = verdict if reason is None else {**verdict, "reason": reason}
        decided: dict[str, Any] = await self.post(f"/approvals/{segment(approval)}", body)
        return decided

    async def questions(self, thread: str | None = None) -> list[dict[str, Any]]:
        """Open questions of the mind, the oldest first."""
        return [one async for one in self.pages("/questions", thread=thread)]

    async def answer(self, question: str, text: str | None = None, *, value: object = None) -> None:
        """Answers a question in words, or with a `value` where it has a schema."""
        await self.post(f"/questions/{segment(question)}", {"value": value} if text is None else {"text": text})

    async def upload(self, data: bytes) -> dict[str, Any]:
        """Stores an image or a sound. The answer goes into `images` or `audio`."""
        return {"blob": (await self.post("/blobs", data))["blob"]}

    async def _stubborn(self, path: str, body: dict[str, Any], event_id: str) -> Any:
        """A request that the server carries out once under its `event_id`, tried again for as long as `patience` allows."""
        loop, attempt = asyncio.get_running_loop(), 0
        end = loop.time() + self._line.patience
        while True:
            try:
                return await self.post(path, body)
            except (Unreachable, Unavailable) as error:
                attempt += 1
                left = end - loop.time()
                if not self._line.reached or left <= 0:
                    error.event_id = event_id
                    raise
                await asyncio.sleep(min(left, pause(attempt, 1006)))

    def _kept(self, items: _Opened) -> _Opened:
        self._open.add(items)
        return items


class AsyncThread:
    """One conversation, or one process."""

    def __init__(self, client: AsyncThinkd, id: str) -> None:
        self.client = client
        self.id = id
        self._path = f"/threads/{segment(id)}"

    @overload
    def say(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (), deltas: Literal[False] = False,
            timeout: float | None = None, event_id: str | None = None, policy: Policy | None = None) -> AsyncTurn[Event]: ...
    @overload
    def say(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (), deltas: bool,
            timeout: float | None = None, event_id: str | None = None, policy: Policy | None = None) -> AsyncTurn[Event | Delta]: ...
    def say(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (), deltas: bool = False,
            timeout: float | None = None, event_id: str | None = None, policy: Policy | None = None) -> AsyncTurn[Any]:
        """Says something, at once. Iterate over the turn for the events that answer it; await it to know that the message is stored.

        `policy` says what happens while a turn runs, in place of the thread's own: `enqueue`, `steer` (it joins that turn), `interrupt`, `reject`."""
        said = _said(text, images, audio, event_id, policy)
        message = {"type": "message", "thread": self.id, **said, "id": "m"}
        return self._turn(said["event_id"], None, message, deltas, timeout)

    def follow(self, input: int | Event, *, deltas: bool = False, timeout: float | None = None) -> AsyncTurn[Any]:
        """The events of the turns that answer a stored message, given as its event or its `seq`."""
        seq = input.seq if isinstance(input, Event) else input
        return self._turn(seq, seq - 1, None, deltas, timeout)

    def _turn(self, said: str | int, after: int | None, message: dict[str, Any] | None, deltas: bool, timeout: float | None) -> AsyncTurn[Any]:
        stream = Stream(self.client._line, {"thread": self.id}, after, None, message)
        return self.client._kept(AsyncTurn(self, stream, said, deltas, timeout))

    async def ask(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (),
                  timeout: float | None = None, event_id: str | None = None, policy: Policy | None = None) -> str:
        """Says something, and returns the text of the reply; empty where the mind is done without one. A turn that fails is `TurnFailed`."""
        turn = self.say(text, images=images, audio=audio, timeout=timeout, event_id=event_id, policy=policy)
        async for _ in turn:
            pass
        if turn.outcome != "done":
            raise TurnFailed(str(turn.outcome), turn.failures)
        return turn.text

    async def send(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (),
                   event_id: str | None = None, policy: Policy | None = None) -> int:
        """Says something, and returns its `seq` once it is stored, without waiting for the turn."""
        said = _said(text, images, audio, event_id, policy)
        ack = await self.client._stubborn(f"{self._path}/messages", said, said["event_id"])
        return int(ack["events"][-1]["seq"])

    @overload
    def events(self, *, deltas: Literal[False] = False, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> AsyncEvents[Event]: ...
    @overload
    def events(self, *, deltas: bool, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> AsyncEvents[Event | Delta]: ...
    def events(self, *, deltas: bool = False, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> AsyncEvents[Any]:
        """Events of this thread as they are stored, as `AsyncThinkd.events` has them."""
        return self.client.events(deltas=deltas, after=after, epoch=epoch, follow=follow, thread=self.id, **filter)

    def history(self, *, order: Literal["asc", "desc"] = "desc", **query: object) -> AsyncIterator[Event]:
        """Stored events of this thread, as `AsyncThinkd.history` has them."""
        return self.client.history(order=order, thread=self.id, **query)

    async def messages(self, n: int = 50) -> list[dict[str, Any]]:
        """The last messages of the chat, the oldest first."""
        messages: list[dict[str, Any]] = await self.client.get("/messages", thread=self.id, n=n)
        return messages

    async def cancel(self, *, subtree: bool = False) -> bool:
        """Cancels the turn that runs; with `subtree` those of all threads below, too. False: none ran."""
        body = {"subtree": True} if subtree else None
        return bool((await self.client.post(f"{self._path}/cancel", body))["cancelled"])

    async def fork(self, at: int | None = None, *, thread: str | None = None) -> AsyncThread:
        """A thread with the past of this one up to the end of a turn: the last one, or that of `at`."""
        forked = await self.client.post(f"{self._path}/fork", {"at": at, "thread": thread})
        return self.client.thread(forked["thread"])

    async def edit(self, message: Event | str, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (),
                   deltas: bool = False, timeout: float | None = None) -> AsyncTurn[Any]:
        """Says something else in the place of a message (its event, or the id of its last event), in a fork. The turn that comes back is one of the fork."""
        instead = message if isinstance(message, str) else (await _forks.last_part(self, message)).event_id
        return await self._again(instead, _said(text, images, audio, None), deltas, timeout)

    async def regenerate(self, reply: Event, *, deltas: bool = False, timeout: float | None = None) -> AsyncTurn[Any]:
        """Asks for another answer: says the message again that a reply answers, in a fork. The turn that comes back is one of the fork."""
        parts = await _forks.message_of(self, reply)
        return await self._again(parts[-1].event_id, {**_forks.said_of(parts), "event_id": str(uuid.uuid4())}, deltas, timeout)

    async def _again(self, instead_of: str, said: dict[str, Any], deltas: bool, timeout: float | None) -> AsyncTurn[Any]:
        forked = await self.client._stubborn(f"{self._path}/fork", {"instead_of": instead_of, "message": said}, said["event_id"])
        return self.client.thread(forked["thread"]).follow(forked["events"][-1]["seq"], deltas=deltas, timeout=timeout)

    async def approvals(self) -> list[dict[str, Any]]:
        """Tool calls of this thread that wait for a person."""
        return await self.client.approvals(self.id)

    async def questions(self) -> list[dict[str, Any]]:
        """Open questions of this thread."""
        return await self.client.questions(self.id)


def _said(text: str | None, images: Iterable[Media], audio: Iterable[Media], event_id: str | None,
          policy: Policy | None = None) -> dict[str, Any]:
    """The members of a message."""
    said: dict[str, Any] = {"event_id": event_id or str(uuid.uuid4())}
    if text is not None:
        said["text"] = text
    for name, media in (("images", images), ("audio", audio)):
        if listed := [{"data": base64.b64encode(one).decode()} if isinstance(one, bytes) else dict(one) for one in media]:
            said[name] = listed
    if policy is not None:
        said["policy"] = policy
    return said
