"""Fills an empty log: fill.py DATABASE EVENTS. What turns leave, ten events each, most of them in `main`. Tables beside the log stay as they are; words are found once the
server has indexed them.

Over HTTP it would take minutes: each event there is a commit of its own.
"""
import json
import sqlite3
import sys
import time
import uuid

STEP = 250_000  # microseconds between two events
VOICES = ("critic", "memory", "understanding", "warmth")


def turn(n, seq):
    """The events of one turn: source, modality, payload, tags, visibility."""
    thread = "main" if n % 10 else f"side-{n % 100}"
    yield thread, "user", "text", {"text": f"what of plan number {n}?"}, ["input", "type:message"], 3
    started = {"batch": [seq], "deadline_ms": 2000, "root": seq, "submodules": VOICES, "text": f"turn {n} started", "turn": n}
    yield thread, "internal", "state", started, ["turn", "started", f"turn:{n}"], 1
    for voice in VOICES:
        yield thread, "internal", "text", {"text": f"{voice} thinks that plan number {n} should be looked at once more", "turn": n}, [f"submodule:{voice}"], 2
    call = {"turn": n, "call_id": f"c{n}.0.0", "tool": "state_search", "arguments": {"query": f"plan {n}", "limit": 5}, "text": "state_search"}
    yield thread, "internal", "text", call, ["decision", "action", "tool:state_search"], 2
    yield thread, "tool", "text", {"turn": n, "call_id": f"c{n}.0.0", "text": "nothing"}, ["result", "tool:state_search"], 2
    yield thread, "tool", "text", {"turn": n, "call_id": f"c{n}.0.1", "text": f"here is what I think of plan number {n}"}, ["response", "result", "tool:reply"], 3
    yield thread, "internal", "state", {"turn": n, "outcome": "done", "handled": seq, "text": f"turn {n} ended"}, ["turn", "ended", f"turn:{n}"], 1


def rows(first, ts, events):
    seq, n = first, 1
    while seq < first + events:
        for thread, source, modality, payload, tags, visibility in turn(n, seq):
            ts += STEP
            yield "default", seq, uuid.uuid4().bytes, ts, thread, source, modality, json.dumps(payload), json.dumps(tags), visibility
            seq += 1
        n += 1


database, events = sys.argv[1], int(sys.argv[2])
log = sqlite3.connect(database)
first = log.execute("select coalesce(max(seq), 0) + 1 from events").fetchone()[0]
with log:
    log.execute("insert or ignore into spaces values ('default', 1)")
    log.executemany("insert into events values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows(first, time.time_ns() // 1000 - events * STEP, events))
print(first, first + events - 1)
