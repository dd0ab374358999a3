"""The errors of this client: refusals of the server, and messages that never reached it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .events import Event


class ThinkdError(Exception):
    """The base of all errors of this package."""

    event_id: str | None = None
    """The id of the message under way. It may have been stored: said again under this id, it is stored once."""


class ProblemError(ThinkdError):
    """The server refused something, and says why (RFC 9457)."""

    def __init__(self, problem: dict[str, Any], retry_after: float | None = None) -> None:
        self.problem = problem
        """The problem as the server sent it."""
        self.retry_after = retry_after
        """Seconds after which to try again, where the server says so."""
        super().__init__(f"{self.title}: {self.detail}")

    @property
    def slug(self) -> str:
        """The kind of problem: `queue-full`, `forbidden`, …"""
        return str(self.problem["type"]).rpartition("/")[2]

    @property
    def status(self) -> int:
        """The HTTP status."""
        return int(self.problem["status"])

    @property
    def title(self) -> str:
        """The kind of problem in words."""
        return str(self.problem["title"])

    @property
    def detail(self) -> str:
        """The error here, and the remedy."""
        return str(self.problem["detail"])


class Unauthenticated(ProblemError):
    """401: there is no valid token."""


class Forbidden(ProblemError):
    """403: the role of the token does not suffice."""


class NotFound(ProblemError):
    """404: there is no such thing."""


class Conflict(ProblemError):
    """409: the state of the thing forbids it now."""


class TooManyRequests(ProblemError):
    """429: a limit or a queue is full."""


class Unavailable(ProblemError):
    """503: the server cannot do it now."""


class Unreachable(ThinkdError):
    """No thinkd answered, or not for as long as `patience` allows."""


class Closed(ThinkdError):
    """The client was closed before the answer came."""


class EpochChanged(ThinkdError):
    """The log was restored from a backup: events and cursors of the former log say nothing about this one."""

    def __init__(self, before: str, now: str) -> None:
        self.before = before
        self.now = now
        super().__init__(f"the log is another one (epoch {now}, before {before}): forget the events that were read")


class TurnTimeout(ThinkdError, TimeoutError):
    """The turn did not end in time. The message is stored; `Thread.follow` resumes with it."""


class TurnFailed(ThinkdError):
    """The turn ended without an answer."""

    def __init__(self, outcome: str, failures: list[Event]) -> None:
        self.outcome = outcome
        """`failed`, `cancelled`, `withdrawn` (the message was taken back) or `ended` (the thread has ended)."""
        self.failures = failures
        """The failures that the log has of it."""
        super().__init__(f"the turn is over ({outcome})" + "".join(f"; {one.text}" for one in failures))


_BY_STATUS: dict[int, type[ProblemError]] = {
    401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 429: TooManyRequests, 503: Unavailable,
}


def problem_error(problem: object, retry_after: float | None = None) -> ProblemError | None:
    """The error of a problem; None where this is no problem of thinkd."""
    if not isinstance(problem, dict) or not isinstance(problem.get("status"), int):
        return None
    if not all(isinstance(problem.get(name), str) for name in ("type", "title", "detail")):
        return None
    return _BY_STATUS.get(problem["status"], ProblemError)(problem, retry_after)


def refusal(slug: str, status: int, title: str, detail: str) -> ProblemError:
    """A refusal by the client itself, in the words of the server."""
    problem = {"type": f"/problems/{slug}", "title": title, "status": status, "detail": detail}
    return _BY_STATUS.get(status, ProblemError)(problem)
