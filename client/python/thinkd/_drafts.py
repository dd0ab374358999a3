"""Replies while they are written: each piece once, also over reconnections, after which the server sends a reply from its beginning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .events import Reply

_MOST = 256  # more replies at a time than any space writes


@dataclass(frozen=True)
class Delta:
    """A piece of a reply. All pieces are there before the event `Reply` with the same `event_id`, and join to its text."""

    event_id: str
    """The id that the reply's event will have."""
    thread: str
    """The thread that replies."""
    at: int
    """The place where the piece begins. Text behind it that came before is replaced."""
    text: str
    """The piece."""
    draft: str
    """The reply as far as it has come, this piece included."""
    discarded: bool = False
    """The reply is taken back: no event follows."""


class Drafts:
    """The drafts of one stream."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._places: dict[str, int] = {}

    def delta(self, frame: dict[str, Any]) -> Delta | None:
        """Takes a piece in, and returns the part of it that is new. A piece behind a hole is left out: the event will have it."""
        event_id, at, text = str(frame["event_id"]), int(frame["at"]), str(frame["text"])
        known = self._texts.get(event_id, "")
        place = self._places.get(event_id, 0)
        if at != 0 and at != place:
            return None
        self._places.pop(event_id, None)
        self._places[event_id] = at + len(text)
        if len(self._places) > _MOST:
            oldest = next(iter(self._places))
            del self._places[oldest]
            self._texts.pop(oldest, None)
        if known.startswith(text, at):
            return None  # known from before the reconnection
        return self._joined(event_id, str(frame["thread"]), at, text)

    def reply(self, reply: Reply) -> Delta | None:
        """Takes the reply itself in, and returns the part of it that did not come in pieces."""
        missing = None if self._texts.get(reply.event_id, "") == reply.text else self._joined(reply.event_id, reply.thread, 0, reply.text)
        self._forget(reply.event_id)
        return missing

    def _joined(self, event_id: str, thread: str, at: int, text: str) -> Delta:
        known, same = self._texts.get(event_id, ""), 0
        while same < len(text) and known[at + same : at + same + 1] == text[same]:
            same += 1
        draft = self._texts[event_id] = known[: at + same] + text[same:]
        return Delta(event_id, thread, at + same, text[same:], draft)

    def end(self, frame: dict[str, Any]) -> Delta | None:
        """Takes the end of the pieces in."""
        event_id = str(frame["event_id"])
        if frame["outcome"] != "discarded":
            return None
        self._forget(event_id)
        return Delta(event_id, str(frame["thread"]), 0, "", "", discarded=True)

    def _forget(self, event_id: str) -> None:
        self._texts.pop(event_id, None)
        self._places.pop(event_id, None)
