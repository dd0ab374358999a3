// Branches: which threads go on from the same place, at which message they are chosen, and which events of a fork stand in its talk.
import assert from "node:assert/strict";
import { test } from "node:test";
import { saidOf } from "../../client/src/forks.ts";
import { type Forks, isFork, readForks, siblings } from "../src/lib/branches.ts";
import { linesOf, waiting } from "../src/lib/talk.ts";
import { turnsOf } from "../src/lib/turns.ts";
import { event } from "./events.ts";

/** Threads by what they left, and where. */
function threads(forked: Record<string, [from: string, at: number]>): Map<string, Forks> {
  const ids = new Set(["main", ...Object.keys(forked)]);
  return new Map([...ids].map((id) => {
    const forks = Object.entries(forked).filter(([, [from]]) => from === id).map(([thread, [, at]]) => ({ thread, at }));
    const [thread, at] = forked[id] ?? [];
    return [id, { id, ...(thread !== undefined && at !== undefined ? { forked_from: { thread, at } } : {}), ...(forks.length > 0 ? { forks } : {}) } as Forks];
  }));
}

test("the branches at a message are the thread that was forked and its forks there, the same from each of them", () => {
  const known = threads({ a: ["main", 41], b: ["main", 41], c: ["main", 80], d: ["a", 120] });
  for (const thread of ["main", "a", "b"]) assert.deepEqual(siblings(known, thread, 41), ["main", "a", "b"]);
  for (const thread of ["main", "c"]) assert.deepEqual(siblings(known, thread, 80), ["main", "c"]);
  for (const thread of ["a", "d"]) assert.deepEqual(siblings(known, thread, 120), ["a", "d"]);
  assert.deepEqual(siblings(known, "main", 7), ["main"]);
  assert.deepEqual(siblings(new Map(), "main", 41), ["main"]);
  known.set("main", { id: "main", forks: [{ thread: "b", at: 41 }] } as Forks);
  assert.deepEqual(siblings(known, "a", 41), ["main", "b", "a"], "one that is not in a cut list");
});

test("without a past a fork of a fork is a branch of the first thread, too", () => {
  const known = threads({ a: ["main", 0], b: ["a", 0], c: ["main", 0], d: ["b", 0] });
  for (const thread of known.keys()) assert.deepEqual(siblings(known, thread, 0), ["main", "a", "c", "b", "d"]);
});

test("threads that branches are made of are read once, and no others", async () => {
  const known = threads({ a: ["main", 0], b: ["a", 0], c: ["main", 41], d: ["c", 90] });
  const asked: string[] = [];
  const get = async (id: string) => (asked.push(id), known.get(id)!);
  assert.deepEqual([...(await readForks(["b"], get)).keys()].sort(), ["a", "b", "main"]);
  assert.deepEqual(asked.sort(), ["a", "b", "main"]);
  assert.deepEqual([...(await readForks(["c", "main"], get)).keys()].sort(), ["a", "b", "c", "main"]);
  await assert.rejects(readForks(["main"], () => Promise.reject(new Error("no answer"))), /no answer/);
  const many = threads(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`f${i}`, ["main", 0]])));
  assert.equal((await readForks(["main"], async (id) => many.get(id)!)).size, 100);
});

test("the event with which a fork begins is known", () => {
  const made = (change: object) => event(["state", "set:thread"], { kind: "thread", key: "f", change });
  assert.ok(isFork(made({ settings: {}, forked: { from: "main", at: 41, ranges: [] } })));
  assert.ok(!isFork(made({ settings: {} })));
  assert.ok(!isFork(event(["turn", "ended", "turn:1"], { turn: 1 })));
});

let n = 0;
/** A turn about messages: said, begun, answered, ended. */
function turn(thread: string, ...texts: string[]) {
  const inputs = texts.map((text) => event(["input", "type:message"], { text }, 0, { thread }));
  n += 1;
  const of = { turn: n };
  return [...inputs, event(["turn", "started", `turn:${n}`], { ...of, batch: inputs.map(({ seq }) => seq), submodules: [] }, 0, { thread }), event(["response"], { ...of, text: "so" }, 0, { thread }), event(["turn", "ended", `turn:${n}`], { ...of, outcome: "done" }, 0, { thread })];
}
const lines = (events: ReturnType<typeof turn>) => linesOf(events, turnsOf(events)).filter(({ kind }) => kind === "you").map(({ events: [first], begun, at }) => [first!.payload.text, begun, at]);

test("a message has the place before its turn: of two in one turn the last one, of one that waits the last end", () => {
  n = 0;
  const [first, second] = [turn("main", "one"), turn("main", "two", "three")];
  const next = event(["input", "type:message"], { text: "four" });
  const [end, last] = [first.at(-1)!.seq, second.at(-1)!.seq];
  assert.deepEqual(lines([...first, ...second, next]), [["one", true, 0], ["two", true, undefined], ["three", true, end], ["four", false, last]]);
  // The window begins in the middle: the end before is not here.
  assert.deepEqual(lines(second), [["two", true, undefined], ["three", true, undefined]]);
  // While a turn is at work nobody knows which one comes before the next.
  assert.deepEqual(lines([...first, ...second.slice(0, 3), next]).at(-1), ["four", false, undefined]);
});

test("a fork's talk has its past and its own lines, and what waited in its past does not wait", () => {
  n = 0;
  const past = turn("main", "one");
  const queued = event(["input", "type:message"], { text: "queued in main" });
  const events = [...past.slice(0, -1), queued, past.at(-1)!, ...turn("f", "two")];
  const turns = turnsOf(events);
  assert.deepEqual(linesOf(events, turns).map((line) => [line.events[0]!.thread, line.kind]), [["main", "you"], ["main", "mind"], ["main", "you"], ["f", "you"], ["f", "mind"]]);
  assert.deepEqual([...turns.values()].map((one) => [one.thread, one.n]), [["main", 1], ["f", 2]]);
  assert.equal(lines(events).at(-1)![2], past.at(-1)!.seq);
  assert.deepEqual(waiting(events.filter(({ thread }) => thread === "f"), turns), []);
});

test("a message is said again with all its parts", () => {
  const part = (modality: "text" | "image" | "audio", payload: object) => event(["input", "type:message"], { ...payload }, 0, { modality });
  const image = (blob: string) => part("image", { blob, mime: "image/png", bytes: 7 });
  assert.deepEqual(saidOf([part("text", { text: "look" }), image("ab"), image("cd"), part("audio", { blob: "ef" })]), { text: "look", images: [{ blob: "ab", mimeType: "image/png" }, { blob: "cd", mimeType: "image/png" }], audio: [{ blob: "ef" }] });
  assert.deepEqual(saidOf([image("ab")]), { images: [{ blob: "ab", mimeType: "image/png" }] });
});
