"""The socket against a server that misbehaves on purpose: ends of tokens, refusals for a time, silence, close codes."""

import asyncio
import contextlib
import json
import logging
import unittest
from unittest import mock

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from thinkd import AsyncThinkd, Closed, EpochChanged, Forbidden, ProblemError, ThinkdError, Unauthenticated, Unavailable, Unreachable, _stream

logging.getLogger("asyncio").setLevel(logging.ERROR)  # below: steps that took long, on a busy machine

HELLO = {"type": "hello", "protocol": "thinkd.v1", "version": "0", "space": "s", "role": "member", "epoch": "e", "head": 0, "limits": {"frame_bytes": 1000}}
PROBLEM = {"type": "/problems/unavailable", "title": "Not now", "status": 503, "detail": "the log cannot be written"}


def event(seq, tags=("input", "type:message"), **payload):
    return {"type": "event", "event": {"event_id": f"id-{seq}", "ts": "", "source": "user", "modality": "text", "thread": "main", "seq": seq,
                                       "meta": {"tags": list(tags)}, "payload": {"text": "", **payload}}}


class Peer:
    """One connection at the server: what the client sends, and what it is sent."""

    def __init__(self, socket, heard):
        self.socket, self.heard = socket, heard

    async def read(self, kind=None):
        while True:
            frame = json.loads(await self.socket.recv())
            self.heard.append(frame)
            if kind in (None, frame["type"]):
                return frame

    async def send(self, *frames):
        for frame in frames:
            await self.socket.send(json.dumps(frame))

    async def greet(self, **hello):
        """Says hello and takes the subscription."""
        await self.read()
        await self.send({**HELLO, **hello})
        subscribed = await self.read("subscribe")
        await self.send({"type": "ack", "id": subscribed["id"], "events": [], "status": "ok"})
        return subscribed


class Line(unittest.IsolatedAsyncioTestCase):
    async def talk(self, *peers, token=None, patience=5.0):
        """A client of a server that meets its connections with these, one after another."""
        heard, left = [], list(peers)

        async def meet(socket):
            with contextlib.suppress(ConnectionClosed):  # the client has gone
                await left.pop(0)(Peer(socket, heard))

        server = await serve(meet, "127.0.0.1", 0)
        self.addAsyncCleanup(self.end, server)
        t = AsyncThinkd(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", token, patience=patience)
        self.addAsyncCleanup(t.close)
        return t, heard

    async def end(self, server):
        server.close()
        await server.wait_closed()

    async def test_a_cursor_and_an_epoch_go_along(self):
        async def first(peer):
            await peer.greet()
            await peer.send(event(3), event(7), {"type": "pong", "after": 9})

        async def second(peer):
            await peer.greet()
            await peer.send(event(7), event(9), event(12))
            await peer.read()

        t, heard = await self.talk(first, second)
        items = t.events(after=0)
        self.assertEqual([(await anext(items)).seq for _ in range(3)], [3, 7, 12])
        self.assertEqual([(frame["after"], frame["epoch"]) for frame in heard if frame["type"] == "subscribe"], [(0, "e"), (9, "e")])

    async def test_a_token_that_ends_is_asked_for_again(self):
        async def first(peer):
            await peer.greet()
            await peer.send({"type": "expiring", "at": "soon"})
            await peer.read("auth")
            await peer.send(event(1))
            await peer.socket.close(4401, "ended")

        async def second(peer):
            await peer.greet()
            await peer.send(event(2))
            await peer.read()

        tokens = iter("abc")
        t, heard = await self.talk(first, second, token=lambda: next(tokens))
        items = t.events(after=0)
        self.assertEqual([(await anext(items)).seq, (await anext(items)).seq], [1, 2])
        self.assertEqual([frame["token"] for frame in heard if frame["type"] == "auth"], ["a", "b", "c"])

    async def test_a_token_that_stays_the_same_is_not_tried_twice(self):
        async def first(peer):
            await peer.greet()
            await peer.socket.close(4401, "ended")

        t, _ = await self.talk(first, token="a")
        with self.assertRaises(Unauthenticated):
            await anext(t.events(after=0))

    async def test_what_cannot_be_written_now_is_said_again(self):
        async def refuse(peer):
            await peer.greet()
            said = await peer.read("message")
            await peer.send({"type": "problem", "id": said["id"], "problem": PROBLEM})
            await peer.read()

        async def take(peer):
            await peer.greet()
            said = await peer.read("message")
            await peer.send({"type": "ack", "id": said["id"], "events": [{"event_id": said["event_id"], "thread": "main", "seq": 5}], "status": "started"})
            await peer.read()

        t, heard = await self.talk(refuse, refuse, take)
        turn = await t.thread().say("hi")
        self.assertEqual(turn.seq, 5)
        self.assertEqual([frame["event_id"] for frame in heard if frame["type"] == "message"], [turn.event_id] * 3)
        t, _ = await self.talk(*[refuse] * 50, patience=0.3)
        with self.assertRaises(Unavailable) as caught:
            await t.thread().say("hi")
        self.assertTrue(caught.exception.event_id)

    async def test_pieces_of_the_turn_before_are_left_out(self):
        def delta(event_id, text):
            return {"type": "delta", "thread": "main", "event_id": event_id, "at": 0, "text": text}

        def status(queued):
            return {"type": "status", "thread": "main", "status": "thinking", "queued": queued}

        for answer, frames in (("started", [delta("own", "mine")]),
                               ("queued", [delta("other", "not mine"), status(1), delta("other", "nor this"), status(0), delta("own", "mine")])):
            async def take(peer, answer=answer, frames=frames):
                await peer.greet()
                said = await peer.read("message")
                await peer.send({"type": "ack", "id": said["id"], "events": [{"event_id": said["event_id"], "thread": "main", "seq": 5}], "status": answer})
                await peer.send(*frames)
                await peer.read()

            t, _ = await self.talk(take)
            with self.subTest(answer):
                self.assertEqual((await anext(t.thread().say("hi", deltas=True))).text, "mine")

    async def test_an_iteration_that_is_dropped_says_goodbye(self):
        ended = asyncio.get_running_loop().create_future()

        async def first(peer):
            await peer.greet()
            await peer.send(event(1))
            await peer.socket.wait_closed()
            ended.set_result(peer.socket.close_code)

        t, _ = await self.talk(first)
        items = t.events(after=0)
        await anext(items)
        del items
        self.assertEqual(await asyncio.wait_for(ended, 10), 1000)

    async def test_a_cancelled_wait_does_not_unsay_a_message(self):
        go = asyncio.Event()

        async def late(peer):
            await peer.greet()
            said = await peer.read("message")
            await go.wait()
            await peer.send({"type": "ack", "id": said["id"], "events": [{"event_id": said["event_id"], "thread": "main", "seq": 5}], "status": "started"})
            await peer.read()

        t, heard = await self.talk(late)
        turn = t.thread().say("hi")
        for _ in range(3):
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(turn._wait_stored(), 0.02)
        go.set()
        self.assertEqual((await turn).seq, 5)
        self.assertEqual(len([frame for frame in heard if frame["type"] == "message"]), 1)

    async def test_close_codes(self):
        for code, error in ((4403, Forbidden), (1002, ThinkdError), (1003, ThinkdError), (1007, ThinkdError)):
            async def shut(peer, code=code):
                await peer.greet()
                await peer.socket.close(code)

            t, _ = await self.talk(shut)
            with self.subTest(code), self.assertRaises(error):
                await anext(t.events(after=0))

        async def too_big(peer):
            await peer.greet()
            await peer.read("message")
            await peer.socket.close(1009)

        t, _ = await self.talk(too_big)
        with self.assertRaises(ProblemError) as caught:
            await t.thread().say("hi")
        self.assertEqual(caught.exception.slug, "too-large")

    async def test_a_frame_is_not_larger_than_the_server_says(self):
        async def first(peer):
            await peer.greet()
            await peer.read()

        t, heard = await self.talk(first)
        with self.assertRaises(ProblemError) as caught:
            await t.thread().say("x" * 1000)
        self.assertEqual(caught.exception.status, 413)
        self.assertNotIn("message", [frame["type"] for frame in heard])

    async def test_a_server_that_falls_silent_is_left(self):
        async def silent(peer):
            await peer.greet()
            await peer.read("ping")
            await peer.read("never")

        async def second(peer):
            await peer.greet()
            await peer.send(event(1))
            await peer.read()

        t, heard = await self.talk(silent, second)
        with mock.patch.multiple(_stream, _SILENCE=0.05, _PONG=0.1):
            self.assertEqual((await anext(t.events(after=0))).seq, 1)

    async def test_a_server_that_takes_nobody_is_tried_for_so_long(self):
        async def drop(peer):
            await peer.greet()
            await peer.socket.close(4429)

        async def shut(peer):
            await peer.read()
            await peer.send(HELLO)
            await peer.socket.close(1001)

        t, heard = await self.talk(drop, *[shut] * 100, patience=0.5)
        with self.assertRaises(Unreachable):
            await anext(t.events(after=0))

    async def test_another_epoch_is_told_before_any_event(self):
        async def first(peer):
            await peer.greet()
            await peer.send(event(1))

        async def second(peer):
            await peer.read()
            await peer.send({**HELLO, "epoch": "f"}, event(2))
            await peer.read()

        t, _ = await self.talk(first, second)
        items = t.events(after=0)
        self.assertEqual((await anext(items)).seq, 1)
        with self.assertRaises(EpochChanged) as caught:
            await anext(items)
        self.assertEqual((caught.exception.before, caught.exception.now), ("e", "f"))
        with self.assertRaises(Closed):
            await anext(items)

    async def test_what_is_no_json_is_no_thinkd(self):
        for words in ("hello", "[]", '{"type": "problem", "id": "s1", "problem": 1}', '{"type": "event", "event": {"seq": 1}}'):
            async def babble(peer, words=words):
                await peer.greet()
                await peer.socket.send(words)
                await peer.read()

            t, _ = await self.talk(babble)
            with self.subTest(words), self.assertRaises(Unreachable):
                await anext(t.events(after=0))

    async def test_events_of_frames_that_nobody_knows_are_left_out(self):
        async def first(peer):
            await peer.greet()
            await peer.send({"type": "hologram", "x": 1}, {"no": "type"}, event(1))
            await peer.read()

        t, _ = await self.talk(first)
        self.assertEqual((await anext(t.events(after=0))).seq, 1)


if __name__ == "__main__":
    unittest.main()
