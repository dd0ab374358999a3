"""A subscription with a cursor: it is resumed after a lost connection, and a message said with it is stored once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import _json
from ._http import Token, secret
from ._socket import Lost, Socket, pause
from .errors import Closed, EpochChanged, ThinkdError, Unauthenticated, Unreachable, problem_error, refusal

log = logging.getLogger("thinkd")

_SILENCE, _PONG = 25.0, 10.0  # seconds without a frame before a ping, and for its answer
_STEADY = 5.0  # seconds that a connection lasts which counts as a good one


@dataclass
class Line:
    """The way to a server, shared by the streams of a client."""

    address: str
    token: Callable[[], Token]
    patience: float
    reached: bool = False
    closed: bool = False
    hello: dict[str, Any] = field(default_factory=dict)

    async def open(self) -> Socket:
        """Opens a socket, once."""
        if self.closed:
            raise Closed("the client is closed")
        socket = await Socket.open(self.address, await secret(self.token()))
        if self.closed:
            socket.abort()
            raise Closed("the client is closed")
        self.reached, self.hello = True, socket.hello
        return socket


class Stream:
    """The frames of one subscription, over reconnections."""

    def __init__(self, line: Line, wish: dict[str, Any], after: int | None, epoch: str | None, message: dict[str, Any] | None = None) -> None:
        self.cursor = after
        """Everything up to this `seq` was handed over, or is not asked for."""
        self.epoch = epoch
        """The incarnation of the log that the cursor belongs to."""
        self._line = line
        self._wish = wish
        self._message = message
        self._socket: Socket | None = None
        self._loop = asyncio.get_running_loop()
        self._id = ""
        self._count = 0
        self._begun = False
        self._closed = False
        self._lost: Lost | None = None
        self._since = self._opened = self._loop.time()
        self._attempt = 0
        self._refused_at: float | None = None
        self._pending: asyncio.Task[dict[str, Any]] | None = None

    async def receive(self) -> dict[str, Any]:
        """The next frame of type `event` (each once), `ack` (of the message), `caught_up`, `delta`, `delta_end` or `status`. Cancelling this loses none."""
        while True:
            try:
                socket = self._socket or await self._connect()
                frame = await self._next(socket)
                if frame.get("type") == "expiring":
                    await self._renew(socket, str(frame.get("at")))
                elif self._take(frame):
                    return frame
            except Lost as lost:
                self._lose(lost)
            except Unauthenticated:
                # A token that was good has ended, and the function may have another one.
                if not self._begun or not callable(self._line.token()):
                    self.abort()
                    raise
                self._lose(Lost(4401, "the token has ended"))
            except Unreachable:
                raise  # the next call tries anew
            except ThinkdError:
                self.abort()
                raise

    async def begin(self) -> None:
        """Subscribes, so that no later event is missed."""
        if not self._socket:
            await self._connect()

    async def restart(self, after: int) -> None:
        """Replays from another place."""
        self.cursor = after
        self._begun = False
        if self._socket:
            try:
                await self._subscribe(self._socket)
            except Lost as lost:
                self._lose(lost)

    async def close(self) -> None:
        """Ends the stream."""
        self._closed = True
        if socket := self._socket:
            self._socket = None
            await socket.close()

    def abort(self) -> None:
        """Ends the stream without waiting, from any thread."""
        self._closed = True
        if self._socket and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._socket.leave)

    async def _connect(self) -> Socket:
        """Opens a socket and says on it what is wanted, for as long as `patience` allows."""
        while True:
            await self._pause()
            socket: Socket | None = None
            try:
                socket = await self._line.open()
                await self._subscribe(socket)
                if self._message is not None:
                    await self._say(socket)
            except BaseException as error:
                if socket:
                    socket.abort()
                if not isinstance(error, Lost):
                    raise
                self._lose(error)
            else:
                self._socket, self._opened = socket, self._loop.time()
                return socket

    async def _pause(self) -> None:
        """Waits before a try, and gives up where that takes too long."""
        if self._lost is None:
            return
        if not self._line.reached:
            raise Unreachable(f"no answer from {self._line.address}: {self._lost}")
        left = self._since + self._line.patience - self._loop.time()
        if left <= 0:
            lost, self._lost, self._attempt = self._lost, None, 0  # the next call tries anew
            raise Unreachable(f"no answer from {self._line.address} for {self._line.patience:g} s: {lost}")
        await asyncio.sleep(min(left, pause(self._attempt, self._lost.code)))

    async def _subscribe(self, socket: Socket) -> None:
        epoch = socket.hello["epoch"]
        if self.epoch not in (None, epoch):
            raise EpochChanged(str(self.epoch), epoch)
        self.epoch = epoch
        if self.cursor is None:
            self.cursor = int(socket.hello["head"])
        self._begun = False
        self._count += 1
        self._id = f"s{self._count}"
        await socket.send({"type": "subscribe", **self._wish, "after": self.cursor, "epoch": epoch, "id": self._id})

    async def _say(self, socket: Socket) -> None:
        most = socket.hello.get("limits", {}).get("frame_bytes", 1 << 62)
        size = len(_json.write(self._message).encode())
        if size > most:
            raise refusal("too-large", 413, "This is too large", f"a frame has at most {most} bytes; this one has {size}")
        await socket.send(self._message or {})

    async def _next(self, socket: Socket) -> dict[str, Any]:
        """The next frame. The task that waits for it outlives a cancelled call."""
        for seconds in (_SILENCE, _PONG):
            if self._pending is None:
                self._pending = asyncio.ensure_future(socket.receive())
                self._pending.add_done_callback(lambda task: task.cancelled() or task.exception())
            if (await asyncio.wait({self._pending}, timeout=seconds))[0]:
                pending, self._pending = self._pending, None
                return pending.result()
            if seconds == _SILENCE:
                await socket.send({"type": "ping"})
        raise Lost(1006, "the server fell silent")

    def _lose(self, lost: Lost) -> None:
        """The connection is gone; the next call of `receive` opens another one."""
        now = self._loop.time()
        if self._socket:
            self._socket.abort()
            # A connection that did not last counts as a failed try.
            self._attempt = 0 if now - self._opened > _STEADY else self._attempt
        if self._pending:
            self._pending.cancel()
        self._socket, self._pending, self._begun = None, None, False
        if self._closed or self._line.closed:
            raise Closed("the client is closed")
        if lost.code == 1009 and self._message is not None:
            raise refusal("too-large", 413, "This is too large", "the server closed the connection over it")
        if self._lost is None:
            self._since = now
        self._attempt, self._lost = self._attempt + 1, lost

    async def _renew(self, socket: Socket, at: str) -> None:
        """The token ends soon: a function may have a later one."""
        if callable(self._line.token()) and (token := await secret(self._line.token())) is not None:
            await socket.send({"type": "auth", "token": token})
        else:
            log.warning("the token of this connection ends at %s: pass a function as `token` that gets another one", at)

    def _take(self, frame: dict[str, Any]) -> bool:
        """Takes a frame in, and says whether it is handed over."""
        kind, own = frame.get("type"), frame.get("id")
        if kind == "problem":
            self._refused(own, frame["problem"])
        elif kind == "ack" and own == self._id:
            self._begun, self._lost = True, None
        elif kind == "ack" and self._message is not None and own == self._message["id"]:
            self._message = None
            return True
        elif not self._begun:
            return False
        elif kind == "event" and frame["event"]["seq"] > (self.cursor or 0):
            self.cursor = frame["event"]["seq"]
            return True
        elif kind == "pong" or (kind == "caught_up" and own == self._id):
            self.cursor = max(self.cursor or 0, frame["after"])
            return bool(kind == "caught_up")
        return kind in ("delta", "delta_end") or (kind == "status" and frame["thread"] == self._wish.get("thread"))

    def _refused(self, own: object, problem: object) -> None:
        error = problem_error(problem)
        if error is None:
            raise Unreachable("a problem without type, title, status and detail, so this is no thinkd")
        if self._message is not None and own == self._message["id"]:
            # The log cannot be written now: the same again on the next connection.
            now = self._loop.time()
            self._refused_at = self._refused_at or now
            if error.slug != "unavailable" or now > self._refused_at + self._line.patience:
                raise error
            raise Lost(1013, error.detail)
        if own != self._id:
            log.warning("the server says: %s", error)
        elif error.slug in ("unavailable", "epoch-changed"):
            raise Lost(1013, error.detail)  # the next `hello` says the epoch
        else:
            raise error
