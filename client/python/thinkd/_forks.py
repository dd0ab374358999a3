"""The input that a reply answers, and the words and media with which it is said again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import ThinkdError
from .events import Event

if TYPE_CHECKING:
    from ._async import AsyncThread


def said_of(parts: list[Event]) -> dict[str, Any]:
    """The content of these parts of one input; media by their blobs."""
    words = [part.text for part in parts if isinstance(part.payload.get("text"), str) and "blob" not in part.payload]
    said: dict[str, Any] = {"text": "\n".join(words)} if words else {}
    for name, modality in (("images", "image"), ("audio", "audio")):
        blobs = [part.payload for part in parts if part.modality == modality and isinstance(part.payload.get("blob"), str)]
        if blobs:
            said[name] = [{"blob": one["blob"]} | ({"mimeType": one["mime"]} if isinstance(one.get("mime"), str) else {}) for one in blobs]
    return said


async def last_part(thread: AsyncThread, part: Event) -> Event:
    """The last part of the input that this is a part of."""
    if "part" in part.tags:
        async for event in thread.history(order="asc", tags=["input"], after=part.seq):
            if "part" not in event.tags:
                return event
    return part


async def message_of(thread: AsyncThread, of: Event) -> list[Event]:
    """The parts of the message that a reply answers, or of this one if it is an input."""
    batch = [(await last_part(thread, of)).seq] if "input" in of.tags else await _batch_of(thread, of)
    parts = await _last_input(thread, batch) if batch else []
    if not parts:
        raise ThinkdError(f"no input of {thread.id} is known that event {of.seq} answers")
    if any("type:message" not in part.tags for part in parts):
        raise ThinkdError(f"event {of.seq} answers no message, but event {parts[-1].seq}")
    return parts


async def _batch_of(thread: AsyncThread, event: Event) -> list[int]:
    """The seqs of all that the turn of an event was about."""
    if (turn := event.payload.get("turn")) is None:
        return []
    async for started in thread.history(tags=["turn", "started", f"turn:{turn}"], all_tags=True, before=event.seq, limit=1):
        return list(started.payload["batch"])
    return []


async def _last_input(thread: AsyncThread, batch: list[int]) -> list[Event]:
    """The parts of the last input in a batch. The parts before the last one stand directly before it."""
    parts: list[Event] = []
    async for event in thread.history(tags=["input"], before=max(batch) + 1):
        if parts and (event.seq != parts[0].seq - 1 or "part" not in event.tags):
            break
        if not parts and event.seq < min(batch):
            break
        if parts or event.seq in batch:
            parts.insert(0, event)
    return parts
