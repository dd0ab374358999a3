// The minute at the top of every view.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Minute } from "../src/lib/minute.ts";
import { event, moment, story } from "./events.ts";

test("a turn that is over is laid out once: what came of it stays as long as the minute, and ends with it", () => {
  const minute = new Minute();
  const events = story();
  const [first] = minute.turns(events, [], moment(20_000));
  assert.equal(first!.n, 1);
  assert.ok(first!.strokes.some(({ role, voice }) => role === "late" && voice?.of === 4) && first!.strokes.some(({ voice }) => voice === undefined));
  assert.deepEqual(first!.inputs, [moment(0)]);
  assert.equal(minute.turns([], [], moment(40_000))[0], first, "the same, although its events are not looked at any more");
  assert.equal(minute.turns([], [], moment(100_000)).length, 0);
});

test("a turn at work is laid out anew each time, until a while after its end", () => {
  const minute = new Minute();
  const events = story();
  const until = (ms: number, of = events) => Math.max(...minute.turns(of, [], moment(ms))[0]!.strokes.map(({ to }) => to));
  const begun = events.slice(0, 3);
  assert.ok(until(2_000, begun) > until(1_000, begun));
  assert.equal(until(6_000), moment(5_900));
  const late = event(["submodule:frugal", "follow-up"], { turn: 1, text: "and keep it dry" }, 6_500);
  assert.equal(until(7_000, [...events, late]), moment(6_500));
});
