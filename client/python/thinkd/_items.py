"""Events as they come: of a subscription, and of the turns that answer a message."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._drafts import Delta, Drafts
from ._stream import Stream
from .errors import ThinkdError, TurnTimeout, Unreachable
from .events import Event, Failure, Input, Reply, event_of

if TYPE_CHECKING:
    from ._async import AsyncThread

Item = TypeVar("Item", bound="Event | Delta", covariant=True)
_FINAL = ("done", "failed", "stopped")


class _Items(AsyncIterator[Item], Generic[Item]):
    """An iterator over a stream. It survives a cancelled `__anext__`, and ends its connection when it is dropped."""

    def __init__(self, stream: Stream, deltas: bool) -> None:
        self._started: asyncio.Future[None] | None = asyncio.ensure_future(self._start())
        self._stream = stream
        self._deltas = Drafts() if deltas else None
        self._ready: deque[Any] = deque()
        self._over = False

    @property
    def cursor(self) -> int | None:
        """The `seq` after which another stream goes on."""
        return self._stream.cursor

    @property
    def epoch(self) -> str | None:
        """The incarnation of the log that the cursor belongs to."""
        return self._stream.epoch

    async def __anext__(self) -> Item:
        while not self._ready:
            if self._over:
                raise StopAsyncIteration
            self._take(await self._frame())
            if self._over:
                await self._stream.close()
        return self._ready.popleft()  # type: ignore[no-any-return]

    async def _start(self) -> None:
        """Begins at once, so that nothing is missed before the first item is asked for."""
        await self._stream.begin()

    async def _wait_started(self) -> None:
        self._started = self._started or asyncio.ensure_future(self._start())
        try:
            await asyncio.shield(self._started)
        except Unreachable:
            self._started = None  # the next call tries anew
            raise

    async def _frame(self) -> dict[str, Any]:
        await self._wait_started()
        return await self._stream.receive()

    def _take(self, frame: dict[str, Any]) -> None:
        raise NotImplementedError

    def _delta(self, frame: dict[str, Any]) -> None:
        if self._deltas and (delta := self._deltas.delta(frame) if frame["type"] == "delta" else self._deltas.end(frame)):
            self._ready.append(delta)

    def _event(self, frame: dict[str, Any]) -> Event:
        try:
            return event_of(frame["event"])
        except ValueError as error:
            raise Unreachable(f"{error}, so this is no thinkd") from None

    def _hand(self, event: Event) -> None:
        if self._deltas and isinstance(event, Reply) and (missing := self._deltas.reply(event)):
            self._ready.append(missing)
        self._ready.append(event)

    async def close(self) -> None:
        """Ends the iteration and its connection."""
        self._over = True
        self._ready.clear()
        await self._stream.close()

    def __del__(self) -> None:
        if stream := getattr(self, "_stream", None):
            stream.abort()

    async def __aenter__(self: Any) -> Any:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncEvents(_Items[Item]):
    """Events of a thread or of the whole space, each once, also over lost connections. Awaited, it waits until the subscription stands."""

    def __init__(self, stream: Stream, deltas: bool, follow: bool) -> None:
        super().__init__(stream, deltas)
        self._follow = follow

    def __await__(self) -> Generator[Any, None, AsyncEvents[Item]]:
        return self._begun().__await__()

    async def _begun(self) -> AsyncEvents[Item]:
        await self._wait_started()
        return self

    def _take(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "event":
            self._hand(self._event(frame))
        elif frame["type"] == "caught_up":
            self._over = not self._follow
        elif frame["type"] != "status":
            self._delta(frame)


class AsyncTurn(_Items[Item]):
    """The events of the turns that answer one message, until it is answered. Awaited, it waits until the message is stored."""

    def __init__(self, thread: AsyncThread, stream: Stream, message: str | int, deltas: bool, timeout: float | None) -> None:
        super().__init__(stream, deltas)
        self.thread = thread
        """The thread that answers."""
        self.event_id = message if isinstance(message, str) else None
        """The id of the message. Said again under this id, it is stored once."""
        self.seq = message if isinstance(message, int) else None
        """The position of the message in the log, once it is stored."""
        self.outcome: str | None = None
        """The end: `done`, `failed`, `cancelled`, `withdrawn` (the message was taken back), `ended` (the thread has ended)."""
        self.replies: list[Reply] = []
        """The replies so far."""
        self.failures: list[Event] = []
        """The failures so far, of voices and tools, too."""
        self._own = {self.seq}
        self._turn: int | None = None
        self._goes_on = False
        self._joined: int | None = None  # the running turn that took the message in
        self._running = False  # the turn that runs is about the message; its start may be stored later than its pieces come
        self._other: list[Event] = []  # of a turn that began before the message, and may answer it
        self._end = None if timeout is None else asyncio.get_running_loop().time() + timeout
        self._timeout = timeout
        self._early: list[dict[str, Any]] = []

    @property
    def text(self) -> str:
        """The text of the replies so far."""
        return "\n".join(reply.text for reply in self.replies)

    def __await__(self) -> Generator[Any, None, AsyncTurn[Item]]:
        return self._wait_stored().__await__()

    async def _wait_stored(self) -> AsyncTurn[Item]:
        await self._in_time(self._wait_started())
        return self

    async def _frame(self) -> dict[str, Any]:
        await self._wait_stored()
        return self._early.pop(0) if self._early else await self._in_time(self._stream.receive())

    async def _in_time(self, waits: Any) -> Any:
        if self._end is None:
            return await waits
        try:
            return await asyncio.wait_for(waits, max(0.0, self._end - asyncio.get_running_loop().time()))
        except asyncio.TimeoutError:
            error = TurnTimeout(f"the turn did not end within {self._timeout:g} s")
            error.event_id = self.event_id
            raise error from None

    async def _start(self) -> None:
        """Says the message, and waits for its acknowledgement."""
        if self.event_id is None:
            return await self._stream.begin()
        try:
            frame = await self._stream.receive()
            while frame["type"] != "ack":
                if frame["type"] != "status":
                    self._early.append(frame)
                frame = await self._stream.receive()
        except ThinkdError as error:
            error.event_id = self.event_id
            raise
        seqs = [int(placed["seq"]) for placed in frame["events"]]
        self.seq, self._own, self._running = seqs[-1], set(seqs), frame["status"] == "started"
        seen = {early["event"]["seq"] for early in self._early if early["type"] == "event"}
        if seqs[0] <= (self._stream.cursor or 0) and seqs[0] not in seen:
            self._early.clear()  # it was stored before this stream began
            await self._stream.restart(seqs[0] - 1)

    def _take(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "event":
            self._consider(self._event(frame))
        elif frame["type"] == "status":
            self._running |= frame["status"] == "thinking" and frame["queued"] == 0
        elif frame["type"] != "caught_up" and self._running:
            self._delta(frame)

    def _consider(self, event: Event) -> None:
        seq, kind, payload = self.seq or 0, event.tags[:2], event.payload
        if event.seq in self._own:
            self._ready.append(event)
        elif event.seq < seq:
            return
        elif kind == ("turn", "started") and (self._goes_on or seq in payload.get("batch", ())):
            self._turn, self._goes_on, self._running = payload.get("turn"), False, True
            self._hand(event)
        elif kind == ("turn", "steered") and any(seq == last for _, last in payload.get("inputs", ())):
            self._turn = self._joined = payload.get("turn")
            self._running = True
            self._other.clear()  # said before the message was seen
            self._hand(event)
        elif kind == ("turn", "ended"):
            self._ended(event)
        elif kind[:1] == ("withdrawn",) and payload.get("input") == seq:
            self._finish("withdrawn", event)
        elif kind == ("state", "set:thread") and self._has_ended(payload):
            self._finish("ended", event)
        elif payload.get("turn", self._turn) == self._turn is not None and not isinstance(event, Input):
            self._hand(event)
        elif self._turn is None and "turn" in payload:
            self._other.append(event)

    def _ended(self, event: Event) -> None:
        outcome, handled = str(event.payload.get("outcome")), event.payload.get("handled", 0) >= (self.seq or 0)
        handled |= self._joined is not None and self._joined == event.payload.get("turn")
        if self._turn is None and not handled:
            self._other.clear()
            return
        for other in self._other:
            self._hand(other)
        self._other.clear()
        self._turn = None
        if handled and outcome != "interrupted":
            self._finish(outcome, event)
        else:
            self._goes_on = handled  # the next turn goes on with an interrupted one
            self._hand(event)

    def _has_ended(self, payload: dict[str, Any]) -> bool:
        change = payload.get("change")
        return payload.get("key") == self.thread.id and isinstance(change, dict) and change.get("status") in _FINAL

    def _finish(self, outcome: str, event: Event) -> None:
        self.outcome, self._over = outcome, True
        self._hand(event)

    def _hand(self, event: Event) -> None:
        if isinstance(event, Reply):
            self.replies.append(event)
        elif isinstance(event, Failure) or "failure" in event.tags:
            self.failures.append(event)
        super()._hand(event)
