"""The catalogue of events, numbers, and drafts, without a server."""

import json
import re
import subprocess
import sys
import unittest
from decimal import Decimal
from pathlib import Path

from support import ROOT
from thinkd import Event, _json, events
from thinkd._drafts import Drafts
from thinkd.events import event_of

ENVELOPE = {"event_id": "0193b6c2-7c2e-7aaa-8000-0123456789ab", "ts": "2026-11-21T04:25:00.123456Z", "seq": 121}

WHERE = {"source": "user", "modality": "text", "thread": "main"}


def of(tags, payload):
    return event_of({**ENVELOPE, **WHERE, "meta": {"tags": tags}, "payload": payload})


class Catalogue(unittest.TestCase):
    def test_each_example_of_the_catalogue_is_of_its_kind(self):
        text = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
        examples = re.findall(r"^## ([a-z-]+)$.*?^```json\n(.*?)\n```", text, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(examples), 90)
        for name, example in examples:
            with self.subTest(name):
                raw = json.loads(example)
                event = event_of({**ENVELOPE, **raw})
                self.assertEqual(type(event).__name__, "".join(word.capitalize() for word in name.split("-")))
                self.assertEqual((event.payload, event.text), (raw["payload"], raw["payload"].get("text", "")))

    def test_members_are_attributes(self):
        event = of(["withdrawn"], {"input": 42, "from": 41, "text": "gone"})
        self.assertIsInstance(event, events.Withdrawn)
        self.assertEqual((event.input, event.from_, event.turns, event.text), (42, 41, None, "gone"))

    def test_what_a_newer_server_writes_is_an_event(self):
        for tags, payload in (
            (["hologram"], {"text": "new"}),
            ([], {"text": "new"}),
            (["turn", "ended", "turn:7", "newer"], {"text": "new", "turn": 7, "outcome": "done", "handled": 1}),
            (["turn", "ended", "turn:7"], {"text": "new", "turn": 7, "outcome": "paused", "handled": 1}),
            (["turn", "ended", "turn:7"], {"text": "new", "turn": "7", "outcome": "done", "handled": 1}),
            (["turn", "ended", "turn:7"], {"text": "new", "turn": 7, "outcome": "done"}),
            (["turn", "ended\nturn:7"], {"text": "new", "turn": 7, "outcome": "done", "handled": 1}),
        ):
            with self.subTest(tags=tags, payload=payload):
                event = of(tags, payload)
                self.assertIs(type(event), Event)
                self.assertEqual((event.text, event.payload, event.tags), ("new", payload, tuple(tags)))
        more = of(["turn", "ended", "turn:7"], {"text": "", "turn": 7, "outcome": "done", "handled": 1, "newer": [1]})
        self.assertIsInstance(more, events.TurnEnded)
        self.assertEqual(more.payload["newer"], [1])

    def test_what_is_no_event_is_refused(self):
        for raw in (None, 1, [], {}, {"meta": None}, {**ENVELOPE, "meta": {"tags": []}, "payload": {}}, {**ENVELOPE, **WHERE, "meta": {"tags": [1]}, "payload": {}},
                    {**ENVELOPE, **WHERE, "meta": {"tags": []}, "payload": []}):
            with self.subTest(raw=raw), self.assertRaises(ValueError):
                event_of(raw)

    def test_the_generated_classes_are_fresh(self):
        script = Path(__file__).parents[1] / "scripts" / "generate.py"
        subprocess.run([sys.executable, script, "--check"], check=True)


class Numbers(unittest.TestCase):
    def test_no_digit_is_lost(self):
        for digits in ("0", "-1", "9007199254740993", "18446744073709551616", "0.1", "1e+2", "1E+400", "0.1234567890123456789012345", "1" * 5_000):
            with self.subTest(digits[:30]):
                value = _json.read(digits)
                self.assertEqual(Decimal(_json.write(value)), Decimal(digits))

    def test_values_are_those_of_python_where_these_are_exact(self):
        text = '{"a": [1, 2.5, true, null, "ü\\u0000"], "b": {}, "c": 9007199254740993}'
        self.assertEqual(_json.read(text), json.loads(text))
        self.assertEqual(json.loads(_json.write(json.loads(text))), json.loads(text))
        self.assertEqual([type(value) for value in _json.read("[1, 1.0, 1e400]")], [int, float, Decimal])

    def test_what_json_has_not_is_refused(self):
        for wrong in (float("nan"), float("inf"), Decimal("NaN"), {1: 2}, object(), [{"a": b""}]):
            with self.subTest(wrong=wrong), self.assertRaises((ValueError, TypeError)):
                _json.write(wrong)
        for wrong in ("NaN", "-Infinity", "{", "[" * 100_000):
            with self.subTest(wrong[:9]), self.assertRaises(ValueError):
                _json.read(wrong)


class Pieces(unittest.TestCase):
    def setUp(self):
        self.drafts = Drafts()

    def take(self, at, text, id="e"):
        delta = self.drafts.delta({"event_id": id, "thread": "main", "at": at, "text": text})
        return delta and (delta.at, delta.text, delta.draft)

    def test_pieces_join(self):
        self.assertEqual(self.take(0, "Hé"), (0, "Hé", "Hé"))
        self.assertEqual(self.take(2, "🦉l"), (2, "🦉l", "Hé🦉l"))
        self.assertEqual(self.take(4, "o"), (4, "o", "Hé🦉lo"))

    def test_a_reply_from_its_beginning_brings_only_what_is_new(self):
        self.take(0, "Hello")
        self.assertIsNone(self.take(0, "Hel"))
        self.assertEqual(self.take(3, "lo wor"), (5, " wor", "Hello wor"))
        self.assertEqual(self.take(9, "ld"), (9, "ld", "Hello world"))

    def test_another_reply_under_the_same_id_replaces_the_text(self):
        self.take(0, "Hello")
        self.assertEqual(self.take(0, "Help"), (3, "p", "Help"))

    def test_a_piece_behind_a_hole_is_left_out(self):
        self.take(0, "Hello")
        self.assertIsNone(self.take(7, "x"))
        self.assertIsNone(self.take(3, "lo", id="never begun"))

    def test_a_reply_that_is_taken_back(self):
        self.take(0, "Hello")
        self.assertIsNone(self.drafts.end({"event_id": "e", "thread": "main", "outcome": "stored"}))
        self.assertTrue(self.drafts.end({"event_id": "e", "thread": "main", "outcome": "discarded"}).discarded)
        self.assertEqual(self.take(0, "New"), (0, "New", "New"))

    def test_the_reply_brings_what_did_not_come_in_pieces(self):
        self.take(0, "He")
        self.take(4, "o")
        payload = {"text": "Hello", "turn": 1, "tool": "reply", "call_id": "c"}
        reply = event_of({**ENVELOPE, **WHERE, "event_id": "e", "meta": {"tags": ["response", "result", "tool:reply"]}, "payload": payload})
        missing = self.drafts.reply(reply)
        self.assertEqual((missing.at, missing.text, missing.draft), (2, "llo", "Hello"))
        self.assertEqual(self.drafts.reply(reply).text, "Hello")
        self.take(0, "Hello")
        self.assertIsNone(self.drafts.reply(reply))

    def test_few_drafts_are_kept(self):
        for n in range(1_000):
            self.take(0, "x", id=str(n))
        self.assertLessEqual(len(self.drafts._texts), 256)


if __name__ == "__main__":
    unittest.main()
