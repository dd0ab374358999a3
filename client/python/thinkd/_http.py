"""One request over HTTP: address, credentials, query, body and answer."""

from __future__ import annotations

import asyncio
import http.client
import inspect
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Union

from . import _json
from .errors import ThinkdError, Unreachable, problem_error

Token = Union[str, None, Callable[[], Union[str, None, Awaitable[Union[str, None]]]]]
"""A key or token, or a function that gets one. It is asked at each connection and request."""


async def secret(token: Token) -> str | None:
    """The token in force."""
    value = token() if callable(token) else token
    return await value if inspect.isawaitable(value) else value


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect could take the token to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


class Http:
    """Requests to the server at `base`, which has no trailing slash."""

    def __init__(self, base: str, token: Callable[[], Token], timeout: float) -> None:
        self._base = base
        self._token = token
        self._timeout = timeout

    async def request(self, method: str, path: str, query: Mapping[str, object] | None = None, body: object = None) -> Any:
        """Makes one request. Bytes go as they are, everything else as JSON; JSON comes back as values, everything else as bytes."""
        if not path.startswith("/") or path.startswith("//"):
            raise ValueError(f"{path!r} is no path of the server: it begins with one slash")
        headers = {"accept": "application/json"}
        if (token := await secret(self._token())) is not None:
            headers["authorization"] = f"Bearer {token}"
        data: bytes | None = None
        if isinstance(body, (bytes, bytearray, memoryview)):
            data, headers["content-type"] = bytes(body), "application/octet-stream"
        elif body is not None:
            data, headers["content-type"] = _json.write(body).encode(), "application/json"
        request = urllib.request.Request(self._base + path + search(query), data, headers, method=method)
        return await asyncio.to_thread(self._ask, request)

    def _ask(self, request: urllib.request.Request) -> Any:
        try:
            with _OPENER.open(request, timeout=self._timeout) as response:
                data: bytes = response.read()
                kind = response.headers.get_content_type()
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"no answer from {self._base}: {error}") from error
        if not kind.endswith("json"):
            return data or None
        try:
            return _json.read(data.decode())
        except ValueError as error:
            raise Unreachable(f"the answer of {self._base} is no JSON: {error}") from error


def _refused(error: urllib.error.HTTPError) -> ThinkdError:
    after = error.headers.get("retry-after", "")
    try:
        problem = problem_error(_json.read(error.read().decode()), float(after) if after.isdecimal() else None)
    except (ValueError, OSError, http.client.HTTPException):
        problem = None  # a proxy in front of the server has answered
    return problem or Unreachable(f"{error.code} {error.reason}, which is no answer of thinkd")


def search(query: Mapping[str, object] | None) -> str:
    """A query: lists repeat their name, and None is left out."""
    pairs = []
    for name, value in (query or {}).items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                pairs.append((name, str(one).lower() if isinstance(one, bool) else str(one)))
    return f"?{urllib.parse.urlencode(pairs)}" if pairs else ""


def segment(text: str) -> str:
    """One segment of a path."""
    return urllib.parse.quote(text, safe="")
