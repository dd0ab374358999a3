"""Fills an empty log with too much of everything: crowd.py DATABASE. 10,000 threads, a turn of 32 voices, a line of a megabyte, an image that is not there, a statement with 1,000
predictions, a run of 84 nodes whose names are hostile. Its rows are made by `thinkd rebuild` afterwards."""
import json
import sqlite3
import sys
import time
import uuid

STATEMENT = uuid.UUID("0193b6c2-7c2e-7aaa-8000-0123456789ab")
FALLEN = uuid.UUID("0193b6c2-7c2e-7aaa-8000-0123456789ac")
RUN = uuid.UUID("0193b6c2-7c2e-7bbb-8000-0123456789ab")
HOSTILE = "<img src=x onerror=window.planted=1>\u202e" + "n" * 150
VOICES = [f"voice-{n:02}" for n in range(1, 33)]


def prediction(n):
    return {"code": None, "fails_if": f"day {n} is cold", "instrument": "knowledge", "question": None, "reason": "it can say it", "search": "weather", "text": f"Day {n} is warm."}


RUNS = f"runs.{RUN.hex}"


def run(**payload):
    return {"run": str(RUN), "pipeline": "summary", **payload}


def events():
    """Thread, source, modality, payload, tags, visibility, and the id where it matters."""
    yield RUNS, "user", "state", run(text="summary started", input={}), ["run", "started", "pipeline:summary"], 1, RUN
    for n in range(1, 9_998):
        settings = {"kind": "process", "prompt": "Look after it.", "title": f"bed number {n}"}
        yield f"bed-{n}", "internal", "state", {"change": {"settings": settings}, "key": f"bed-{n}", "kind": "thread", "text": "set"}, ["state", "set:thread"], 1, None
    yield "main", "user", "text", {"text": "what of the beds?"}, ["input", "type:message"], 3, None
    yield "main", "internal", "state", {"batch": [9_999], "deadline_ms": 2000, "root": 9_999, "submodules": VOICES, "text": "turn 1 started", "turn": 1}, ["turn", "started", "turn:1"], 1, None
    for voice in VOICES:
        yield "main", "internal", "text", {"text": f"{voice} says a word", "turn": 1}, [f"submodule:{voice}"], 2, None
    yield "main", "tool", "text", {"turn": 1, "call_id": "c1.0.0", "text": "m" * 1_000_000}, ["response", "result", "tool:reply"], 3, None
    yield "main", "internal", "state", {"turn": 1, "outcome": "done", "handled": 9_999, "text": "turn 1 ended"}, ["turn", "ended", "turn:1"], 1, None
    yield "pictures", "user", "image", {"blob": "0" * 64, "mime": "image/png", "bytes": 9, "text": ""}, ["input", "type:message"], 3, None
    claim = {"premises": [], "source": {"by": {"kind": "user", "name": "ann"}, "quote": None, "seqs": [9_999]}, "text": "Every day is warm."}
    tag = f"statement:{STATEMENT}"
    yield "main", "internal", "state", {"claim": claim, "statement": str(STATEMENT), "text": claim["text"]}, ["statement", "claimed", tag], 2, STATEMENT
    derived = {"predictions": [prediction(n) for n in range(1, 1_001)], "rejected": [], "triple": None, "valid": {"from": None, "to": None}}
    yield "main", "internal", "state", {"derived": derived, "statement": str(STATEMENT), "text": "1,000 predictions follow"}, ["statement", "derived", tag], 2, None
    judged = {"available": ["knowledge"], "breaks": 0, "by": None, "carried": ["knowledge"], "due": None, "others": [], "outcome": "surviving", "reason": "none was refuted", "reopened": 0, "retest": 0, "survived": 1_000, "testable": ["knowledge"], "tried": True, "tries": 1, "valid": {"from": None, "to": None}}
    for n in range(1, 85):
        place, needs = (f"2/{HOSTILE[:20]}.{n}", []) if n > 82 else (str(n), [] if n == 1 else ["1"] if n < 82 else [str(m) for m in range(2, 66)])
        what = {"node": "read" if n == 1 else "join" if n == 82 else HOSTILE, "place": place}
        yield RUNS, "internal", "state", run(text="started", needs=needs, needs_more=16 if n == 82 else 0, **what), ["node", "started", "pipeline:summary"], 1, None
        yield RUNS, "internal", "state", run(text="finished", value=HOSTILE, **what), ["node", "finished", "pipeline:summary"], 1, None
    yield RUNS, "internal", "state", run(text="ended", outcome="done", output=HOSTILE), ["run", "ended", "pipeline:summary", "done"], 1, None
    yield "main", "internal", "state", {"judged": judged, "statement": str(STATEMENT), "text": "surviving"}, ["statement", "judged", tag, "surviving"], 2, None
    tag = f"statement:{FALLEN}"
    yield "main", "internal", "state", {"claim": {**claim, "text": "Bob is here."}, "statement": str(FALLEN), "text": "Bob is here."}, ["statement", "claimed", tag], 2, FALLEN
    triple = {"subject": "Bob", "relation": "is", "object": "here", "single": False}
    yield "main", "internal", "state", {"derived": {**derived, "predictions": [prediction(1)], "triple": triple}, "statement": str(FALLEN), "text": "one prediction follows"}, ["statement", "derived", tag], 2, None
    yield "main", "internal", "state", {"judged": {**judged, "outcome": "falsified", "reason": "he is away", "survived": 0}, "statement": str(FALLEN), "text": "falsified"}, ["statement", "judged", tag, "falsified"], 2, None


log = sqlite3.connect(sys.argv[1])
ts = time.time_ns() // 1000 - 60_000_000
with log:
    log.execute("insert or ignore into spaces values ('default', 1)")
    rows = (("default", seq, (of or uuid.uuid4()).bytes, ts + seq, thread, source, modality, json.dumps(payload), json.dumps(tags), visibility) for seq, (thread, source, modality, payload, tags, visibility, of) in enumerate(events(), 1))
    log.executemany("insert into events values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
