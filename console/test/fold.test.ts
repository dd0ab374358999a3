// Turns that are folded again and again while events come in.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyEvent } from "../src/lib/events.ts";
import { TurnFold } from "../src/lib/fold.ts";
import { Talk } from "../src/lib/talk.ts";
import { keyOf, turnsOf } from "../src/lib/turns.ts";
import { event, moment, story } from "./events.ts";

const second = (): AnyEvent[] => {
  const input = event(["input", "type:message"], { text: "and then?" }, 10_000);
  return [input, event(["turn", "started", "turn:2"], { turn: 2, batch: [input.seq], submodules: ["critic"] }, 10_100), event(["submodule:critic"], { turn: 2, text: "more" }, 10_200), event(["turn", "ended", "turn:2"], { turn: 2, outcome: "done" }, 10_300)];
};

test("after every event the turns are what they are when all is folded at once", () => {
  const events = [...story(), ...second()];
  const fold = new TurnFold();
  for (let n = 1; n <= events.length; n += 1) assert.deepEqual(fold.turns(events.slice(0, n)), turnsOf(events.slice(0, n)));
  // The window lets go of its old end, and goes back into the past.
  for (const first of [3, 7, 12, 5, 0]) assert.deepEqual(fold.turns(events.slice(first)), turnsOf(events.slice(first)));
});

test("a turn of which nothing came is the same object, and so is its line of the talk", () => {
  const [fold, talk] = [new TurnFold(), new Talk()];
  const events = story();
  const turns = fold.turns(events);
  const lines = talk.lines(events, turns);
  const more = [...events, ...second()];
  const after = fold.turns(more);
  assert.equal(after.get(keyOf("main", 1)), turns.get(keyOf("main", 1)));
  assert.deepEqual(talk.lines(more, after).map((line) => lines.includes(line)), [true, true, false, false], "the turn without a reply has a line, too");
});

test("a hint that a turn is at work counts as long as it is there", () => {
  const fold = new TurnFold();
  const events = story().slice(0, 5);
  const work = [{ thread: "main", turn: 1, module: "decision", purpose: "turn", since: moment(2_600), limit: undefined }];
  const key = keyOf("main", 1);
  assert.equal(fold.turns(events).get(key)!.working.length, 0);
  assert.equal(fold.turns(events, work).get(key)!.working.length, 1);
  assert.equal(fold.turns(events).get(key)!.working.length, 0);
});
