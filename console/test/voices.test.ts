// A voice in figures.
import assert from "node:assert/strict";
import { test } from "node:test";
import { triedOf } from "../src/lib/trials.ts";
import { binsOf, sharesOf, versionsOf, voiceOf } from "../src/lib/voices.ts";
import { call, event } from "./events.ts";

test("shares name only what came, and times have bins up to the longest, and as many as others need", () => {
  const figures = { asked: 4, spoke: 3, passed: 0, late: 1, failed: 0, followed_up: 0, times: [], tokens: {} };
  assert.deepEqual(sharesOf(figures).map(({ n, word }) => [n, word]), [[3, "spoke"], [1, "late"]]);
  const times = [[50, 0], [100, 2], [200, 0], [500, 1], [null, 0]].map(([up_to_ms, turns]) => ({ up_to_ms: up_to_ms ?? null, turns: turns! }));
  assert.deepEqual(binsOf(times), [{ from: 0, to: 50, turns: 0 }, { from: 50, to: 100, turns: 2 }, { from: 100, to: 200, turns: 0 }, { from: 200, to: 500, turns: 1 }]);
  assert.deepEqual(binsOf([{ up_to_ms: 50, turns: 0 }, { up_to_ms: null, turns: 1 }])[1], { from: 50, to: undefined, turns: 1 });
  assert.equal(binsOf(times, 5).length, 5);
  assert.deepEqual(binsOf([]), []);
});

test("versions are counted from the first, each with what it took the place of", () => {
  const at = "2026-11-25T12:00:00Z";
  const versions = versionsOf([{ seq: 9, at, prompt: "c" }, { seq: 7, at, prompt: null }, { seq: 3, at, prompt: "a" }]);
  assert.deepEqual(versions.map(({ n, prompt, before }) => [n, prompt, before]), [[3, "c", ""], [2, undefined, "a"], [1, "a", ""]]);
});

test("an event is of the voice that said it or was asked", () => {
  assert.equal(voiceOf(event(["submodule:critic", "late"])), "critic");
  assert.equal(voiceOf(call("submodule:memory", 10, 5)), "memory");
  assert.equal(voiceOf(call("decision", 10, 5)), undefined);
});

test("what a trial brought is read from its output, whatever that is", () => {
  assert.deepEqual(triedOf([{ thread: "main", turn: 3, then: "hoo", now: null, calls: ["recall", 7], failure: null }, null, "x", { thread: 4 }]), [{ thread: "main", turn: 3, then: "hoo", now: undefined, calls: ["recall"], failure: undefined, thenFailed: false, modelThen: undefined, model: undefined }]);
  for (const none of [undefined, null, "text", { thread: "main", turn: 1 }]) assert.deepEqual(triedOf(none), []);
});

test("a trial tells who had no answer then from who passed, and which models they were where they differ", () => {
  const [one, other] = triedOf([{ thread: "main", turn: 3, then_failed: true, model_then: "special", model: "m" }, { thread: "main", turn: 4, then_failed: "true", model_then: 7 }]);
  assert.deepEqual([one!.thenFailed, one!.modelThen, one!.model], [true, "special", "m"]);
  assert.deepEqual([other!.thenFailed, other!.modelThen, other!.model], [false, undefined, undefined]);
});
