"""A client for thinkd: events of turns as they come, resumed after a lost connection without gaps and duplicates.

    from thinkd import Thinkd

    with Thinkd("http://localhost:2953") as t:
        for event in t.thread("main").say("hi"):
            print(event.text)
"""

from . import events
from ._async import AsyncThinkd, AsyncThread
from ._drafts import Delta
from ._event import Event
from ._items import AsyncEvents, AsyncTurn
from ._sync import Events, Thinkd, Thread, Turn
from .errors import (
    Closed,
    Conflict,
    EpochChanged,
    Forbidden,
    NotFound,
    ProblemError,
    ThinkdError,
    TooManyRequests,
    TurnFailed,
    TurnTimeout,
    Unauthenticated,
    Unavailable,
    Unreachable,
)

__version__ = "0.1.0"
__all__ = [
    "AsyncEvents", "AsyncThinkd", "AsyncThread", "AsyncTurn", "Closed", "Conflict", "Delta", "EpochChanged", "Event", "Events", "Forbidden",
    "NotFound", "ProblemError", "Thinkd", "ThinkdError", "Thread", "TooManyRequests", "Turn", "TurnFailed", "TurnTimeout", "Unauthenticated",
    "Unavailable", "Unreachable", "events",
]
