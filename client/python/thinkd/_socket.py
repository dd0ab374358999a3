"""One WebSocket: opening, credentials, frames, and the meaning of its end."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from . import _json
from .errors import ThinkdError, Unreachable, problem_error, refusal

_FRAME = 64 << 20  # bytes of the largest frame that is read
_HELLO = 10.0  # seconds for each step of an opening
_GOODBYE = 1.0  # seconds for the end of a connection
_FIRST, _MOST = 0.1, 5.0  # seconds before the first and the later tries

_LEAVING: set[asyncio.Task[None]] = set()  # the loop itself holds no task


class Lost(Exception):
    """The connection is gone, and another try makes sense."""

    def __init__(self, code: int, detail: str) -> None:
        self.code = code
        super().__init__(detail or f"closed with {code}")


class _Connect(connect):
    """A redirect could take the token to another server."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class Socket:
    """A connection to a server that has said `hello`."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.hello: dict[str, Any] = {}

    @classmethod
    async def open(cls, address: str, token: str | None) -> Socket:
        """Connects and authenticates. Raises `Lost` where another try makes sense, else a `ThinkdError`."""
        try:
            connection = await _Connect(address, open_timeout=_HELLO, close_timeout=_GOODBYE, max_size=_FRAME)
        except InvalidStatus as error:
            raise _refused(error) from None
        except InvalidURI as error:
            raise Unreachable(str(error)) from None
        except (OSError, InvalidHandshake, asyncio.TimeoutError, EOFError) as error:
            raise Lost(1006, str(error) or type(error).__name__) from error
        socket = cls(connection)
        try:
            # Without a token the server says at once whether it wants one.
            await socket.send({"type": "ping"} if token is None else {"type": "auth", "token": token})
            while socket.hello.get("type") != "hello":
                socket.hello = await asyncio.wait_for(socket.receive(), _HELLO)
        except asyncio.TimeoutError as error:
            socket.abort()
            raise Lost(1006, "the server did not say hello in time") from error
        except BaseException:
            socket.abort()
            raise
        return socket

    async def send(self, frame: dict[str, Any]) -> None:
        """Sends a frame."""
        try:
            await self._connection.send(_json.write(frame))
        except ConnectionClosed as error:
            raise _ended(error) from None

    async def receive(self) -> dict[str, Any]:
        """The next frame. Cancelling this loses none."""
        try:
            text = await self._connection.recv()
        except ConnectionClosed as error:
            raise _ended(error) from None
        try:
            frame = _json.read(text if isinstance(text, str) else text.decode())
        except ValueError as error:
            raise Unreachable(f"the frame is no JSON, so this is no thinkd: {error}") from None
        if not isinstance(frame, dict):
            raise Unreachable("the frame is no object, so this is no thinkd")
        return frame

    async def close(self) -> None:
        """Says goodbye."""
        await self._connection.close()

    def leave(self) -> None:
        """Says goodbye without waiting, so that the log does not call this client lost."""
        task = asyncio.ensure_future(self.close())
        _LEAVING.add(task)
        task.add_done_callback(_LEAVING.discard)

    def abort(self) -> None:
        """Ends the connection at once."""
        self._connection.transport.abort()


def _refused(error: InvalidStatus) -> Exception:
    """The meaning of an HTTP answer in the place of a socket."""
    status = error.response.status_code
    try:
        problem = problem_error(_json.read(bytes(error.response.body or b"").decode()))
    except ValueError:
        problem = None  # a proxy in front of the server has answered
    if status in (408, 429) or status >= 500:
        return Lost(4429 if status == 429 else 1006, str(problem or f"the server answered {status}"))
    return problem or Unreachable(f"{status} in the place of a socket, which is no answer of thinkd")


def _ended(error: ConnectionClosed) -> Exception:
    """The meaning of a close code. All others pass: the server drains (1001), is gone (1006), has no room (4429), …"""
    code, reason = (error.rcvd.code, error.rcvd.reason) if error.rcvd else (1006, str(error))
    if code == 4401:
        return refusal("unauthenticated", 401, "The token is missing or wrong", reason or "the server wants a valid token")
    if code == 4403:
        return refusal("forbidden", 403, "This is forbidden", reason or "the token does not allow it")
    if code in (1002, 1003, 1007):
        return ThinkdError(f"the server closed the connection with {code}: {reason}")
    return Lost(code, reason)


def pause(attempt: int, code: int) -> float:
    """Seconds before a try (from 1): doubled each time, with half of it by chance."""
    if code == 1001 and attempt == 1:
        return random.random() * _FIRST  # a server that drains has a successor
    whole = min(_MOST, _FIRST * (8 if code == 4429 else 1) * 2.0 ** min(attempt - 1, 30))
    return whole / 2 + random.random() * whole / 2
