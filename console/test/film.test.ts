// The film of a thread: turns that the page has, and those that only the server knows.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schemas } from "../../client/src/index.ts";
import { filmOf, pastStrip } from "../src/lib/film.ts";
import { turnsOf } from "../src/lib/turns.ts";
import { story } from "./events.ts";

function past(turn: number, more: Partial<Schemas.Turn> = {}): Schemas.Turn {
  return { turn, first: 1, last: 2, started_at: "2026-11-25T12:00:00Z", ended_at: "2026-11-25T12:00:04Z", outcome: "done", deadline_ms: 2500, batch: [], joined: [], voices: [], rounds: 1, calls: 1, failures: 0, replies: 1, tools: 0, tokens: {}, ...more };
}

test("what the page has whole stands for itself, what it lacks is as the server says, and only the newest are there", () => {
  const turns = [...turnsOf(story()).values()];
  const film = filmOf(turns, [past(3), past(2), past(1)], 2);
  assert.deepEqual(film.map((one) => one.n), [2, 3]);
  const all = filmOf(turns, [past(2), past(1)], 10);
  assert.deepEqual(all.map((one) => [one.n, one.turn !== undefined]), [[1, true], [2, false]]);
  const cut = [...turnsOf(story().slice(5)).values()];
  assert.equal(filmOf(cut, [past(1)], 10)[0]!.turn, undefined, "a turn without its beginning is not drawn from what is here");
});

test("a past turn has a line for each voice, the deadline where one was late, and never leaves its strip", () => {
  const voices = [{ name: "a", followed_up: false, ms: 900, outcome: "spoke" }, { name: "b", followed_up: false, ms: 3_600, outcome: "late" }, { name: "c", followed_up: false, ms: null, outcome: "failed" }, { name: "d", followed_up: false, ms: 90_000, outcome: "passed" }];
  const strip = pastStrip(past(1, { voices }), 128, 22);
  assert.deepEqual(strip.strokes.map((stroke) => stroke.role), ["voice", "late", "fail", "pass", "decision", "reply"]);
  assert.ok(strip.deadline !== undefined);
  for (const { x1, x2, y } of strip.strokes) assert.ok(x1 >= 0 && x2 <= 130 && y >= 0 && y <= 22);
  // The server's beginning is where the first output was stored: the whole is what was waited for, and the rest.
  const slow = pastStrip(past(1, { ended_at: "2026-11-25T12:00:01Z", voices: [{ name: "a", followed_up: false, ms: 7_000, outcome: "spoke" }] }), 128, 22).strokes;
  assert.ok(slow[1]!.x2 - slow[1]!.x1 > 10, "the decision has its second behind the seven of the submodule");
  assert.equal(pastStrip(past(1, { rounds: 0, replies: 0, ended_at: null }), 128, 22).strokes.length, 0);
});
