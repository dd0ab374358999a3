"""The base of all events, and the way from an event as the server sent it to its class in `events`."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar


@dataclass(frozen=True, kw_only=True, eq=False)
class Event:
    """An event of any kind. One of no other class here was written by a newer server: show its `text`, and take it for nothing else."""

    event_id: str
    """Its identity (a UUID)."""
    seq: int
    """Its position in the log."""
    thread: str
    """The thread that it belongs to."""
    ts: str
    """The time when it was stored (UTC)."""
    source: str
    """`user`, `tool`, `system` or `internal`."""
    modality: str
    """`text`, `image`, `audio` or `state`."""
    tags: tuple[str, ...]
    """Its kind, word by word."""
    payload: dict[str, Any] = field(repr=False)
    """Its content as the server sent it, also members that this version does not know."""
    text: str
    """Its words; empty where it has none."""

    TAGS: ClassVar[str] = ""
    """The pattern of its tags in the catalogue."""
    MEMBERS: ClassVar[dict[str, str]] = {}
    """The members of its payload with their types; `?` marks one that may be missing."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and (self.event_id, self.seq, self.payload) == (other.event_id, other.seq, other.payload)

    def __hash__(self) -> int:
        return hash(self.event_id)


_ENVELOPE = ("event_id", "seq", "thread", "ts", "source", "modality")


def attribute(member: str) -> str:
    """The name of the attribute for a member of the payload: `from_` for `from`."""
    return member + "_" if keyword.iskeyword(member) or member in Event.__dataclass_fields__ else member


def _is(value: object, kind: str) -> bool:
    """The value has this type of the catalogue, such as `string`, `number[]` or `"done" | "failed"`."""
    return any(_is_one(value, word) for word in kind.split(" | "))


def _is_one(value: object, kind: str) -> bool:
    if kind.endswith("[]"):
        return isinstance(value, list) and all(_is_one(inner, kind[:-2]) for inner in value)
    return value == kind[1:-1] if kind.startswith('"') else _TYPES[kind](value)


_TYPES: dict[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
    "unknown": lambda _: True,
}


class Catalogue:
    """The classes of events, found by the tags of an event."""

    def __init__(self, classes: list[type[Event]]) -> None:
        self._by_first: dict[str, list[tuple[re.Pattern[str], type[Event]]]] = {}
        for one in classes:
            for word in one.TAGS.split(", ")[0].split("|"):
                self._by_first.setdefault(word.partition(":")[0], []).append((_pattern(one.TAGS), one))

    def event(self, raw: Any) -> Event:
        """Reads an event; a `ValueError` says that this is none. One of no known kind, or with members of other types than its kind has, is an `Event`."""
        try:
            payload, tags = raw["payload"], tuple(raw["meta"]["tags"])
            text = payload.get("text")
            envelope: dict[str, Any] = {name: raw[name] for name in _ENVELOPE}
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("this is no event") from error
        if not all(isinstance(tag, str) for tag in tags):
            raise ValueError("this is no event")
        envelope |= {"payload": payload, "tags": tags, "text": text if isinstance(text, str) else ""}
        kind = self._kind(tags)
        members = _members(kind, payload)
        return Event(**envelope) if members is None else kind(**envelope, **members)

    def _kind(self, tags: tuple[str, ...]) -> type[Event]:
        written = "".join(f"{tag}\n" for tag in tags)
        if written.count("\n") == len(tags):
            for pattern, kind in self._by_first.get(tags[0].partition(":")[0], []) if tags else []:
                if pattern.fullmatch(written):
                    return kind
        return Event


def _members(kind: type[Event], payload: dict[str, Any]) -> dict[str, Any] | None:
    members = {}
    for name, wanted in kind.MEMBERS.items():
        if name not in payload:
            if not wanted.endswith("?"):
                return None
        elif not _is(payload[name], wanted.removesuffix("?")):
            return None
        elif name != "text":
            members[attribute(name)] = payload[name]
    return members


def _pattern(tags: str) -> re.Pattern[str]:
    """The pattern of tags as the catalogue has them: `<name>` is any text, `a|b` one of two, `?` and `*` mark the number."""
    whole = ""
    for tag in tags.split(", "):
        many = tag[-1] if tag[-1] in "?*" else ""
        words = [re.sub("<[a-z]+>", "[^\n]*", re.escape(word)) for word in tag.rstrip("?*").split("|")]
        whole += f"(?:(?:{'|'.join(words)})\n){many}"
    return re.compile(whole)
