"""Messages and their turns, against a real server."""

import asyncio
import unittest

from support import Case, background, until
from thinkd import AsyncThinkd, Closed, Conflict, Delta, EpochChanged, NotFound, ProblemError, Thinkd, TurnFailed, TurnTimeout, Unreachable, events


def kinds(items):
    return [type(item).__name__ for item in items]


class Talk(Case):
    settings = {"THINKD_TOOLS__APPROVAL": '["state_put", "clear_context"]'}

    def test_the_events_of_a_turn_are_those_of_the_log(self):
        turn = self.client().thread("turn").say("hello")
        seen = list(turn)
        self.assertEqual(kinds(seen), ["Input", "TurnStarted", "Action", "Reply", "TurnEnded"])
        self.assertEqual(seen, self.stored("turn"))
        self.assertEqual((turn.outcome, turn.text, turn.seq), ("done", "you said hello", seen[0].seq))

    def test_deltas_join_to_the_reply(self):
        self.hold()
        turn, seen = self.client().thread("deltas").say("hold the line", deltas=True), []
        for item in turn:
            seen.append(item)
            if isinstance(item, Delta):
                self.model.go.set()
        pieces = [item for item in seen if isinstance(item, Delta)]
        reply = next(item for item in seen if isinstance(item, events.Reply))
        self.assertGreater(len(pieces), 1)
        self.assertEqual("".join(piece.text for piece in pieces), reply.text)
        self.assertEqual({piece.event_id for piece in pieces}, {reply.event_id})
        self.assertEqual(pieces[-1].draft, reply.text)

    def test_ask_send_and_follow(self):
        thread = self.client().thread("ask")
        self.assertEqual(thread.ask("one"), "you said one")
        seq = thread.send("two")
        turn = thread.follow(seq)
        self.assertEqual((kinds(turn)[0], turn.text), ("Input", "you said two"))
        self.assertEqual([message["chat"] for message in thread.messages()], [["one"], ["you said one"], ["two"], ["you said two"]])

    def test_the_asynchronous_client(self):
        async def talk():
            async with AsyncThinkd(self.server.url) as t:
                a, b = await asyncio.gather(t.thread("async-a").ask("a"), t.thread("async-b").ask("b"))
                seen = [event async for event in t.thread("async-a").say("again")]
                stored = [event async for event in t.thread("async-a").history(order="asc", after=seen[0].seq - 1)]
                alone = await t.thread("async-a").say("stored")
                return a, b, seen, stored, alone.seq

        a, b, seen, stored, seq = asyncio.run(talk())
        self.assertEqual((a, b), ("you said a", "you said b"))
        self.assertEqual(seen, stored)
        self.assertIn("stored", [event.text for event in self.stored("async-a") if event.seq == seq])

    def test_a_cancelled_wait_loses_no_event(self):
        self.hold()

        async def talk():
            async with AsyncThinkd(self.server.url) as t:
                turn, seen = t.thread("impatient").say("hold on"), []
                while turn.outcome is None:
                    try:
                        seen.append(await asyncio.wait_for(turn.__anext__(), 0.02))
                    except asyncio.TimeoutError:
                        self.model.go.set()
                return [*seen, *[event async for event in turn]]

        self.assertEqual(asyncio.run(talk()), self.stored("impatient"))

    def test_the_blocking_client_works_where_a_loop_runs(self):
        async def cell():
            with Thinkd(self.server.url) as t:
                return [event.text for event in t.thread("notebook").say("hi")][-2]

        self.assertEqual(asyncio.run(cell()), "you said hi")

    def test_threads_at_once(self):
        client = self.client()
        joins = [background(lambda n=n: list(client.thread(f"at-once-{n}").say(f"hold {n}"))) for n in range(4)]
        self.hold()
        self.model.go.set()
        for n, join in enumerate(joins):
            self.assertEqual(join(), self.stored(f"at-once-{n}"))

    def test_two_messages_in_one_thread_each_have_their_turn(self):
        self.hold()
        thread = self.client().thread("queue")
        first, second = thread.say("hold 1"), thread.say("hold 2")
        self.model.go.set()
        self.assertEqual([list(first)[-2].text, list(second)[-2].text], ["you said hold 1", "you said hold 2"])
        self.assertEqual({event.payload.get("turn") for event in self.stored("queue")} - {None}, {1, 2})

    def test_a_refused_message_is_not_stored(self):
        thread = self.client().thread("refused")
        for wrong, slug, status in (({"text": ""}, "empty-input", 400), ({"text": "x" * 70_000}, "text-too-large", 400), ({"text": "x" * 9_000_000}, "too-large", 413)):
            for say in (lambda: thread.say(**wrong), lambda: thread.ask(**wrong)):
                with self.subTest(slug), self.assertRaises(ProblemError) as caught:
                    say()
                self.assertEqual((caught.exception.slug, caught.exception.status), (slug, status))
                self.assertTrue(caught.exception.detail)
        self.assertEqual(self.stored("refused"), [])

    def test_the_same_event_id_is_stored_once(self):
        thread, id = self.client().thread("again"), "6914e34b-a63f-4195-9224-42d4cb487860"
        first = list(thread.say("once", event_id=id))
        self.assertEqual(list(thread.say("once", event_id=id)), first)
        self.assertEqual(thread.send("once", event_id=id), first[0].seq)
        self.assertEqual(self.stored("again"), first)
        with self.assertRaises(ProblemError) as caught:
            thread.say("otherwise", event_id=id)
        self.assertEqual((caught.exception.slug, caught.exception.event_id), ("event-conflict", id))

    def test_a_cancelled_turn(self):
        self.hold()
        thread = self.client().thread("cancel")
        asked = background(lambda: thread.ask("hold this"))
        self.model.held.acquire()
        self.assertTrue(thread.cancel())
        with self.assertRaises(TurnFailed) as caught:
            asked()
        self.assertEqual(caught.exception.outcome, "cancelled")
        self.assertFalse(thread.cancel())

    def test_a_message_that_is_taken_back(self):
        self.hold()
        client = self.client()
        thread = client.thread("back")
        first, second = thread.say("hold the first"), thread.say("the second")
        self.model.held.acquire()
        client.request("DELETE", f"/threads/back/inputs/{second.event_id}")
        self.assertEqual((kinds(second)[-1], second.outcome), ("Withdrawn", "withdrawn"))
        self.model.go.set()
        self.assertEqual((list(first)[-2].text, first.outcome), ("you said hold the first", "done"))

    def test_a_thread_that_ends(self):
        self.hold()
        client = self.client()
        turn = client.thread("end").say("hold the line")
        self.model.held.acquire()
        client.post("/threads/end/end")
        list(turn)
        self.assertIn(turn.outcome, ("ended", "cancelled"))
        with self.assertRaises(ProblemError) as caught:
            client.thread("end").say("too late")
        self.assertEqual(caught.exception.slug, "thread-ended")

    def test_a_turn_that_takes_too_long_goes_on_without_the_client(self):
        self.hold()
        thread = self.client().thread("slow")
        with self.assertRaises(TurnTimeout) as caught:
            thread.ask("hold for long", timeout=0.3)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.model.go.set()
        turn = thread.follow(self.stored("slow")[0])
        self.assertEqual(list(turn)[-2].text, "you said hold for long")

    def test_fork_edit_and_regenerate(self):
        thread = self.client().thread("root")
        thread.ask("one")
        seen = list(thread.say("two"))
        edited = thread.edit(seen[0], "three")
        self.assertEqual(list(edited)[-2].text, "you said three")
        self.assertEqual([message["chat"][0] for message in edited.thread.messages()], ["one", "you said one", "three", "you said three"])
        again = thread.regenerate(seen[-2])
        self.assertEqual((list(again)[-2].text, again.thread.id != "root"), ("you said two", True))
        fork = thread.fork(seen[0].seq, thread="branch")
        self.assertEqual((fork.id, fork.ask("four")), ("branch", "you said four"))

    def test_big_numbers_and_approvals(self):
        client, thread = self.client(), self.client().thread("numbers")
        turn = thread.say('call clear_context {"keep": 9007199254740993}')
        pending = next(event for event in turn if isinstance(event, events.ApprovalPending))
        [waits] = thread.approvals()
        self.assertEqual((waits["approval_id"], waits["arguments"]), (pending.event_id, {"keep": 9007199254740993}))
        self.assertEqual(pending.arguments, {"keep": 9007199254740993})
        follower = thread.events(after=pending.seq)
        self.assertEqual(client.approve(waits["approval_id"], arguments={"keep": 9007199254740995}, reason="better so")["status"], "granted")
        verdict = next(event for event in follower if isinstance(event, events.ApprovalVerdict))
        self.assertEqual((verdict.arguments, verdict.reason), ({"keep": 9007199254740995}, "better so"))
        result = next(event for event in follower if isinstance(event, events.Result))
        self.assertEqual((result.tool, result.approval_id), ("clear_context", pending.event_id))
        with self.assertRaises(ProblemError) as caught:
            client.deny(waits["approval_id"])
        self.assertEqual((caught.exception.slug, caught.exception.status), ("already-settled", 409))

    def test_deny_and_respond(self):
        client, thread = self.client(), self.client().thread("verdicts")
        for key, decide, status in (("d", lambda id: client.deny(id, reason="not now"), "denied"), ("r", lambda id: client.respond(id, "it is there"), "answered")):
            list(thread.say("call state_put " + '{"key": "%s", "content": 1, "related_keys": []}' % key))
            [waits] = until("the approval", thread.approvals)
            self.assertEqual(decide(waits["approval_id"])["status"], status)

    def test_questions(self):
        client, thread = self.client(), self.client().thread("questions")
        list(thread.say('call ask_user {"question": "Which day?", "choices": null, "schema": null, "who": null, "expires_s": null}'))
        [question] = thread.questions()
        follower = thread.events()
        client.answer(question["question_id"], "Monday")
        self.assertEqual(next(event for event in follower if isinstance(event, events.UserAnswer)).text.count("Monday"), 1)
        self.assertEqual(thread.questions(), [])

    def test_events_of_the_whole_space_from_a_cursor(self):
        client = self.client()
        client.thread("space-a").ask("a")
        client.thread("space-b").ask("b")
        replay = client.events(after=0, follow=False)
        seen = list(replay)
        self.assertEqual(seen, list(client.history(order="asc", limit=7)))
        self.assertGreaterEqual(replay.cursor, seen[-1].seq)
        self.assertEqual(list(client.events(after=replay.cursor, follow=False)), [])
        self.assertEqual({event.thread for event in client.events(after=0, follow=False, thread="space-a")}, {"space-a"})
        calls = client.thread("space-a").events(after=0, follow=False, debug=True)
        self.assertIn("ModelCall", kinds(calls))

    def test_a_cursor_of_another_log_is_refused(self):
        with self.assertRaises(EpochChanged):
            next(self.client().events(after=0, epoch="6f6f2c8a-3c1e-4a9f-9d3f-2b1a0c9d8e7f"))
        with self.assertRaises(ProblemError) as caught:
            next(self.client().events(after=10_000_000))
        self.assertEqual(caught.exception.slug, "cursor-ahead")

    def test_any_address(self):
        client = self.client()
        self.assertEqual(client.get("/settings")["settings"]["user_away"], False)
        self.assertIn(b"thinkd_", client.get("/metrics"))
        client.thread("listed").ask("hi")
        self.assertIn("listed", [thread["id"] for thread in client.pages("/threads", limit=1)])
        with self.assertRaises(NotFound) as caught:
            client.get("/threads/no-such-thread")
        self.assertEqual((caught.exception.slug, caught.exception.status), ("not-found", 404))
        for path in ("http://127.0.0.1:1/x", "//127.0.0.1:1/x", "x"):
            with self.assertRaises(ValueError):
                client.get(path)

    def test_a_picture(self):
        picture = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000" "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082")
        client = self.client()
        blob = client.upload(picture)
        self.assertEqual(client.get(f"/blobs/{blob['blob']}"), picture)
        parts = list(client.thread("picture").say("look", images=[blob, picture]))[:3]
        self.assertEqual([(part.modality, part.payload.get("blob")) for part in parts], [("text", None), ("image", blob["blob"]), ("image", blob["blob"])])

    def test_closing_ends_what_waits(self):
        client = Thinkd(self.server.url)
        waits = background(lambda: next(client.thread("silent").events()))
        until("the follower", lambda: client.hello)
        client.close()
        with self.assertRaises(Closed):
            waits()
        with self.assertRaises(Closed):
            client.get("/settings")

    def test_nobody_answers(self):
        for url in ("http://127.0.0.1:1", "http://127.0.0.1:1/prefix"):
            with self.assertRaises(Unreachable):
                Thinkd(url).__enter__()
            with self.assertRaises(Unreachable):
                Thinkd(url).thread("main").ask("hi")
            with self.assertRaises(Unreachable):
                Thinkd(url).thread("main").send("hi")


class Interrupted(Case):
    settings = {"THINKD_TURN__POLICY": "interrupt"}

    def test_a_message_whose_turn_is_interrupted_is_answered_by_the_next(self):
        self.hold()
        thread = self.client().thread("main")
        first = thread.say("hold the first")
        self.model.held.acquire()
        second = thread.say("the second")
        seen = list(first)
        self.assertEqual([event.outcome for event in seen if isinstance(event, events.TurnEnded)], ["interrupted", "done"])
        self.assertEqual(seen[-1], list(second)[-1])


class Policies(Case):
    def test_a_message_has_an_effect_of_its_own_on_a_running_turn(self):
        self.hold()
        thread = self.client().thread("main")
        first = thread.say("hold the first")
        self.model.held.acquire()
        with self.assertRaises(Conflict) as caught:
            thread.send("not now", policy="reject")
        self.assertEqual(caught.exception.slug, "busy")
        # No call follows this one: it has the next turn.
        joins = thread.say("the second", policy="steer")
        self.model.go.set()
        self.assertEqual(first.outcome or list(first)[-1].outcome, "done")
        self.assertEqual(list(joins)[-1].outcome, "done")
        self.assertFalse(thread.cancel(subtree=True))


class Guarded(Case):
    settings = {"THINKD_TOKEN": "the-token-of-this-server"}

    def test_a_wrong_token_fails_at_once(self):
        from thinkd import Unauthenticated
        for token in (None, "another-token-of-another-server"):
            with self.assertRaises(Unauthenticated) as caught:
                Thinkd(self.server.url, token).__enter__()
            self.assertEqual((caught.exception.slug, caught.exception.status), ("unauthenticated", 401))
            with self.assertRaises(Unauthenticated):
                self.client(token=token).thread("main").say("hi")
            with self.assertRaises(Unauthenticated):
                self.client(token=token).get("/threads")

    def test_a_token_function_that_uses_its_own_client(self):
        client = self.client(token=lambda: client.get("/threads"))
        with self.assertRaises(RuntimeError):
            client.get("/threads")

    def test_a_token_or_a_function_that_gets_one(self):
        async def later():
            return "the-token-of-this-server"

        for token in ("the-token-of-this-server", lambda: "the-token-of-this-server", later):
            with Thinkd(self.server.url, token) as t:
                self.assertEqual(t.thread("main").ask("hi"), "you said hi")
                self.assertTrue(t.get("/threads")["items"])


if __name__ == "__main__":
    unittest.main()
