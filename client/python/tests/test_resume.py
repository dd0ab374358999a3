"""Lost connections: killed servers, cut and silent connections, other logs."""

import http.server
import threading
import time
import unittest

from support import Case, Door, background, until
from thinkd import Delta, EpochChanged, Thinkd, Unreachable, events


class Resume(Case):
    def follow(self, thread, turns, **options):
        """Follows a thread until so many turns have ended; the function that comes back waits for the events."""
        client = self.client(**options)
        items = client.thread(thread).events(after=0)

        def read():
            seen = []
            while sum(isinstance(event, events.TurnEnded) for event in seen) < turns:
                seen.append(next(items))
            return seen

        return background(read)

    def test_a_server_killed_in_the_middle_of_a_turn(self):
        self.hold()
        thread = self.client().thread("killed")
        followed = self.follow("killed", 3)
        before = list(thread.say("before"))
        turn = thread.say("hold this", deltas=True)
        pieces = [next(turn), next(turn)]
        self.assertEqual([type(item) for item in pieces], [events.Input, Delta])
        self.server.kill()
        # Said while there is no server: kept, and stored once.
        behind = background(lambda: list(thread.say("behind")))
        self.model.go.set()
        self.server.start()
        seen = pieces + list(turn)
        self.assertEqual((turn.outcome, turn.text), ("done", "you said hold this"))
        after, stored = behind(), self.stored("killed")
        self.assertEqual(followed(), stored)
        own = [item for item in seen if not isinstance(item, Delta)]
        asked = [event for event in stored if event.payload.get("turn") == turn.replies[0].turn]
        self.assertEqual(own, [own[0], *asked])
        self.assertEqual([event.text for event in stored if isinstance(event, events.Input)], ["before", "hold this", "behind"])
        self.assertEqual(after[-2].text, "you said behind")
        self.assertEqual(before, stored[: len(before)])

    def test_kills_and_cuts_at_every_moment(self):
        door = Door(self.server.port)
        self.addCleanup(door.close)
        thread = self.client(url=door.url).connect().thread("shaken")
        followed = self.follow("shaken", 8, url=door.url)
        shaking = threading.Event()
        self.addCleanup(shaking.set)

        def shake():
            for step in range(40):
                if shaking.wait(0.03):
                    return
                if step % 10 == 9:
                    self.server.kill()
                    self.server.start()
                else:
                    door.cut()

        shaken = background(shake)
        answers = [thread.ask(f"number {n}") for n in range(8)]
        shaking.set()
        shaken()
        self.assertEqual(answers, [f"you said number {n}" for n in range(8)])
        stored = self.stored("shaken")
        self.assertEqual(followed(), stored)
        self.assertEqual([event.text for event in stored if isinstance(event, events.Input)], [f"number {n}" for n in range(8)])

    def test_pieces_come_once_over_a_cut_connection(self):
        door = Door(self.server.port)
        self.addCleanup(door.close)
        self.hold()
        turn = self.client(url=door.url).thread("pieces").say("hold these pieces", deltas=True)
        pieces = []
        for item in turn:
            if isinstance(item, Delta):
                pieces.append(item)
                if len(pieces) == 1:
                    door.cut()
                    background(lambda: until("the new subscription", lambda: b"caught_up" in door.heard) and self.model.go.set())
        self.assertEqual("".join(piece.text for piece in pieces), turn.text)
        self.assertEqual([piece.draft for piece in pieces][-1], turn.text)

    def test_a_message_whose_acknowledgement_is_lost_is_stored_once(self):
        door = Door(self.server.port)
        self.addCleanup(door.close)
        client = self.client(url=door.url)
        client.thread("lost").ask("first")
        for way, last_words in (("say", b'"hello"'), ("send", b"")):
            door.last_words = last_words
            said = background(lambda: getattr(client.thread("lost"), way)(f"deaf {way}"))
            until("the message", lambda: [event for event in self.stored("lost") if event.text == f"deaf {way}"])
            door.cut()
            turn = said()
            if way == "say":
                self.assertEqual([type(event) for event in turn][-2:], [events.Reply, events.TurnEnded])
        texts = [event.text for event in self.stored("lost") if isinstance(event, events.Input)]
        self.assertEqual(texts, ["first", "deaf say", "deaf send"])

    def test_a_server_that_stays_away_is_waited_for_so_long(self):
        client = self.client(patience=0.6)
        thread = client.thread("away")
        thread.ask("hello")
        follower = thread.events()
        self.server.kill()
        try:
            for use in (lambda: thread.say("nobody hears"), lambda: thread.send("nobody hears"), lambda: next(follower)):
                begun = time.monotonic()
                with self.assertRaises(Unreachable) as caught:
                    use()
                self.assertLess(time.monotonic() - begun, 5)
                self.assertTrue(caught.exception.event_id or use.__code__.co_names == ("next",))
        finally:
            self.server.start()
        seq = thread.send("back again")
        self.assertEqual(next(follower).seq, seq)  # it goes on where it was

    def test_another_log_is_told(self):
        client = self.client()
        client.thread("old").ask("hello")
        follower = client.events(after=0)
        next(follower)
        self.hold()
        turn = client.thread("old").say("hold this")
        self.server.kill()
        self.server.start(fresh=True)
        self.model.go.set()
        for items in (follower, turn):
            with self.assertRaises(EpochChanged):
                list(items)
        with Thinkd(self.server.url) as other:
            self.assertEqual(other.thread("old").ask("anew"), "you said anew")


class Elsewhere(unittest.TestCase):
    """Servers that are no thinkd."""

    def serve(self, status, headers=(), body=b""):
        asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                asked.append((self.path, dict(self.headers)))
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value.replace("http:", "ws:") if self.path == "/ws" else value)
                self.send_header("content-length", str(len(body)))
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}", asked

    def test_a_redirect_takes_the_token_nowhere(self):
        elsewhere, asked = self.serve(200)
        for status in (301, 302, 307, 308):
            url, seen = self.serve(status, [("location", f"{elsewhere}/ws")])
            for use in (lambda t: t.get("/threads"), lambda t: t.connect(), lambda t: t.thread().say("hi"), lambda t: t.thread().send("hi")):
                client = Thinkd(url, "secret")
                self.addCleanup(client.close)
                with self.assertRaises(Unreachable):
                    use(client)
            self.assertEqual(len(seen), 4)
        self.assertEqual(asked, [])

    def test_an_answer_of_something_else(self):
        for status, body in ((200, b"<html>"), (404, b"{}"), (502, b"bad gateway"), (500, b'{"type": 1}')):
            url, _ = self.serve(status, [("content-type", "application/json")], body)
            client = Thinkd(url)
            self.addCleanup(client.close)
            for use in (lambda: client.get("/threads"), client.connect, lambda: client.thread().ask("hi")):
                with self.subTest(status), self.assertRaises(Unreachable):
                    use()


if __name__ == "__main__":
    unittest.main()
