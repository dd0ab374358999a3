"""The blocking client: the asynchronous one on an event loop in a thread of its own, so that it works where a loop runs, as in a notebook."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import weakref
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar, overload

from ._async import AsyncThinkd, AsyncThread, Media, Policy
from ._drafts import Delta
from ._http import Token
from ._items import AsyncEvents, AsyncTurn, Item, _Items
from .errors import Closed
from .events import Event, Reply

T = TypeVar("T")


class _Loop:
    """An event loop in a thread. It ends with `stop`, with its owner, or with the program."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._serve, name="thinkd", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_cancel_all())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs this on the loop and waits for it. An interrupt (Ctrl-C) cancels it."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a token function cannot use its own client")
        with self._lock:
            if self._stopped:
                work.close()
                raise Closed("the client is closed")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Closed("the client was closed") from None
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """Ends the thread."""
        with self._lock:
            self._stopped = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(5)


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _await(work: Any) -> Any:
    return await work


async def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Calls a function of the asynchronous client that needs a running loop."""
    return function(*args, **kwargs)


class _Iteration(Iterator[Item], Generic[Item]):
    """An asynchronous iterator, blocking."""

    def __init__(self, client: Thinkd, items: _Items[Item]) -> None:
        self._client = client  # the loop ends with it
        self._run = client._loop.run
        self._items = items

    def __next__(self) -> Item:
        try:
            return self._run(self._items.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    @property
    def cursor(self) -> int | None:
        """The `seq` after which another iteration goes on."""
        return self._items.cursor

    @property
    def epoch(self) -> str | None:
        """The incarnation of the log that the cursor belongs to."""
        return self._items.epoch

    def close(self) -> None:
        """Ends the iteration and its connection."""
        self._run(self._items.close())

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Events(_Iteration[Item]):
    """Events of a thread or of the whole space, each once, also over lost connections."""


class Turn(_Iteration[Item]):
    """The events of the turns that answer one message, until it is answered. The message is stored when this is there."""

    _items: AsyncTurn[Item]

    def __init__(self, thread: Thread, turn: AsyncTurn[Item]) -> None:
        super().__init__(thread.client, turn)
        self.thread = thread
        """The thread that answers."""

    @property
    def event_id(self) -> str | None:
        """The id of the message. Said again under this id, it is stored once."""
        return self._items.event_id

    @property
    def seq(self) -> int | None:
        """The position of the message in the log."""
        return self._items.seq

    @property
    def outcome(self) -> str | None:
        """The end: `done`, `failed`, `cancelled`, `withdrawn` (the message was taken back), `ended` (the thread has ended)."""
        return self._items.outcome

    @property
    def text(self) -> str:
        """The text of the replies so far."""
        return self._items.text

    @property
    def replies(self) -> list[Reply]:
        """The replies so far."""
        return self._items.replies

    @property
    def failures(self) -> list[Event]:
        """The failures so far, of voices and tools, too."""
        return self._items.failures


class Thinkd:
    """A client of one space. `patience` is the time in seconds for which lost connections are tried again; `timeout` is that of one request over HTTP."""

    def __init__(self, url: str = "http://localhost:2953", token: Token = None, *, timeout: float = 30.0, patience: float = 60.0) -> None:
        self._client = AsyncThinkd(url, token, timeout=timeout, patience=patience)
        self._loop = _Loop()
        self._stop = weakref.finalize(self, self._loop.stop)

    def connect(self) -> Thinkd:
        """Asks the server who it is. A wrong address or token fails here; without this call it fails at the first use."""
        self._loop.run(self._client.connect())
        return self

    def close(self) -> None:
        """Ends all iterations."""
        if self._stop.alive:
            self._loop.run(self._client.close())
            self._stop()

    def __enter__(self) -> Thinkd:
        try:
            return self.connect()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def hello(self) -> dict[str, Any]:
        """The server's words about itself when it was last reached: `version`, `space`, `role`, `epoch`, …"""
        return self._client.hello

    def thread(self, id: str = "main") -> Thread:
        """A thread. One that does not exist begins with its first message."""
        return Thread(self, AsyncThread(self._client, id))

    def get(self, path: str, **query: object) -> Any:
        """`GET` of any documented address."""
        return self._loop.run(self._client.get(path, **query))

    def post(self, path: str, body: object = None, **query: object) -> Any:
        """`POST` of JSON, or of bytes, to any documented address."""
        return self._loop.run(self._client.post(path, body, **query))

    def request(self, method: str, path: str, query: Mapping[str, object] | None = None, body: object = None) -> Any:
        """One request. JSON comes back as values, everything else as bytes, nothing as None."""
        return self._loop.run(self._client.request(method, path, query, body))

    def pages(self, path: str, **query: object) -> Iterator[Any]:
        """The items of a list, page by page: `for thread in t.pages("/threads")`."""
        return self._each(self._client.pages(path, **query))

    def history(self, *, order: Literal["asc", "desc"] = "desc", **query: object) -> Iterator[Event]:
        """Stored events, the newest first. `query` is that of `GET /events`: `tags`, `q`, `after`, `before`, `since`, …"""
        return self._each(self._client.history(order=order, **query))

    @overload
    def events(self, *, deltas: Literal[False] = False, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> Events[Event]: ...
    @overload
    def events(self, *, deltas: bool, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> Events[Event | Delta]: ...
    def events(self, *, deltas: bool = False, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> Events[Any]:
        """Events as they are stored. `after` replays those behind that `seq` first, 0 all of them; without `follow` the iteration ends with the replay.
        `filter` is that of the frame `subscribe`: `thread`, `subtree`, `tags`, `debug`."""
        events: AsyncEvents[Any] = self._loop.run(_call(self._client.events, deltas=deltas, after=after, epoch=epoch, follow=follow, **filter))
        return Events(self, self._loop.run(_await(events)))

    def approvals(self, thread: str | None = None) -> list[dict[str, Any]]:
        """Tool calls that wait for a person, the oldest first."""
        return self._loop.run(self._client.approvals(thread))

    def approve(self, approval: str, *, arguments: Mapping[str, object] | None = None, reason: str | None = None) -> dict[str, Any]:
        """Lets a waiting call run, with other arguments where some are given."""
        return self._loop.run(self._client.approve(approval, arguments=arguments, reason=reason))

    def deny(self, approval: str, *, reason: str | None = None) -> dict[str, Any]:
        """Lets a waiting call not run."""
        return self._loop.run(self._client.deny(approval, reason=reason))

    def respond(self, approval: str, text: str) -> dict[str, Any]:
        """Gives the result of a waiting call, which does not run."""
        return self._loop.run(self._client.respond(approval, text))

    def questions(self, thread: str | None = None) -> list[dict[str, Any]]:
        """Open questions of the mind, the oldest first."""
        return self._loop.run(self._client.questions(thread))

    def answer(self, question: str, text: str | None = None, *, value: object = None) -> None:
        """Answers a question in words, or with a `value` where it has a schema."""
        self._loop.run(self._client.answer(question, text, value=value))

    def upload(self, data: bytes) -> dict[str, Any]:
        """Stores an image or a sound. The answer goes into `images` or `audio`."""
        return self._loop.run(self._client.upload(data))

    def _each(self, items: AsyncIterator[T]) -> Iterator[T]:
        """The items of an asynchronous generator."""
        while True:
            try:
                item: T = self._loop.run(_await(items.__anext__()))
            except StopAsyncIteration:
                return
            yield item


class Thread:
    """One conversation, or one process."""

    def __init__(self, client: Thinkd, thread: AsyncThread) -> None:
        self.client = client
        self.id = thread.id
        self._thread = thread
        self._run = client._loop.run

    @overload
    def say(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (), deltas: Literal[False] = False,
            timeout: float | None = None, event_id: str | None = None, policy: Policy | None = None) -> Turn[Event]: ...
    @overload
    def say(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (), deltas: bool,
            timeout: float | None = None, event_id: str | None = None, policy: Policy | None = None) -> Turn[Event | Delta]: ...
    def say(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (), deltas: bool = False,
            timeout: float | None = None, event_id: str | None = None, policy: Policy | None = None) -> Turn[Any]:
        """Says something; returns once it is stored. Iterate over the turn for the events that answer it. `policy` as `AsyncThread.say` has it."""
        turn: AsyncTurn[Any] = self._run(
            _call(self._thread.say, text, images=images, audio=audio, deltas=deltas, timeout=timeout, event_id=event_id, policy=policy))
        return Turn(self, self._run(_await(turn)))

    def follow(self, input: int | Event, *, deltas: bool = False, timeout: float | None = None) -> Turn[Any]:
        """The events of the turns that answer a stored message, given as its event or its `seq`."""
        return Turn(self, self._run(_call(self._thread.follow, input, deltas=deltas, timeout=timeout)))

    def ask(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (),
            timeout: float | None = None, event_id: str | None = None, policy: Policy | None = None) -> str:
        """Says something, and returns the text of the reply; empty where the mind is done without one. A turn that fails is `TurnFailed`."""
        return self._run(self._thread.ask(text, images=images, audio=audio, timeout=timeout, event_id=event_id, policy=policy))

    def send(self, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (),
             event_id: str | None = None, policy: Policy | None = None) -> int:
        """Says something, and returns its `seq` once it is stored, without waiting for the turn."""
        return self._run(self._thread.send(text, images=images, audio=audio, event_id=event_id, policy=policy))

    @overload
    def events(self, *, deltas: Literal[False] = False, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> Events[Event]: ...
    @overload
    def events(self, *, deltas: bool, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> Events[Event | Delta]: ...
    def events(self, *, deltas: bool = False, after: int | None = None, epoch: str | None = None, follow: bool = True,
               **filter: object) -> Events[Any]:
        """Events of this thread as they are stored, as `Thinkd.events` has them."""
        return self.client.events(deltas=deltas, after=after, epoch=epoch, follow=follow, thread=self.id, **filter)

    def history(self, *, order: Literal["asc", "desc"] = "desc", **query: object) -> Iterator[Event]:
        """Stored events of this thread, as `Thinkd.history` has them."""
        return self.client.history(order=order, thread=self.id, **query)

    def messages(self, n: int = 50) -> list[dict[str, Any]]:
        """The last messages of the chat, the oldest first."""
        return self._run(self._thread.messages(n))

    def cancel(self, *, subtree: bool = False) -> bool:
        """Cancels the turn that runs; with `subtree` those of all threads below, too. False: none ran."""
        return self._run(self._thread.cancel(subtree=subtree))

    def fork(self, at: int | None = None, *, thread: str | None = None) -> Thread:
        """A thread with the past of this one up to the end of a turn: the last one, or that of `at`."""
        return Thread(self.client, self._run(self._thread.fork(at, thread=thread)))

    def edit(self, message: Event | str, text: str | None = None, *, images: Iterable[Media] = (), audio: Iterable[Media] = (),
             deltas: bool = False, timeout: float | None = None) -> Turn[Any]:
        """Says something else in the place of a message (its event, or the id of its last event), in a fork. The turn that comes back is one of the fork."""
        return self._forked(self._run(self._thread.edit(message, text, images=images, audio=audio, deltas=deltas, timeout=timeout)))

    def regenerate(self, reply: Event, *, deltas: bool = False, timeout: float | None = None) -> Turn[Any]:
        """Asks for another answer: says the message again that a reply answers, in a fork. The turn that comes back is one of the fork."""
        return self._forked(self._run(self._thread.regenerate(reply, deltas=deltas, timeout=timeout)))

    def _forked(self, turn: AsyncTurn[Any]) -> Turn[Any]:
        return Turn(Thread(self.client, turn.thread), turn)

    def approvals(self) -> list[dict[str, Any]]:
        """Tool calls of this thread that wait for a person."""
        return self._run(self._thread.approvals())

    def questions(self) -> list[dict[str, Any]]:
        """Open questions of this thread."""
        return self._run(self._thread.questions())
