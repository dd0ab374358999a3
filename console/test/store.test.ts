// The store, the window on the log, filters and the connection line.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { State } from "../../client/src/index.ts";
import { words } from "../src/lib/connection.ts";
import { bandsOf, matches, readFilter, rowsOf, tagsOf, writeFilter } from "../src/lib/filter.ts";
import { EventStore } from "../src/lib/store.ts";
import { type Ask, EventWindow, NEAR } from "../src/lib/window.ts";
import { event, story } from "./events.ts";

const numbered = (seqs: number[]) => seqs.map((seq) => event(["x"], {}, 0, { seq, event_id: `e${seq}` }));

test("events stand in the order of seq, once, however they come", () => {
  const store = new EventStore();
  assert.equal(store.add(numbered([5, 3, 4])), 3);
  assert.equal(store.add(numbered([4, 6])), 1);
  assert.deepEqual(store.events.map((one) => one.seq), [3, 4, 5, 6]);
});

test("a gap is counted and named", () => {
  const store = new EventStore();
  store.add(numbered([1, 2, 5, 9]));
  assert.equal(store.missing(), 5);
  assert.deepEqual(store.hole(), { after: 5, before: 9 });
  store.add(numbered([3, 4, 6, 7, 8]));
  assert.equal(store.missing(), 0);
  assert.equal(store.hole(), undefined);
});

test("memory is bounded: the far end goes", () => {
  const store = new EventStore(3);
  store.add(numbered([1, 2, 3, 4, 5]));
  assert.deepEqual(store.events.map((one) => one.seq), [3, 4, 5]);
  store.add(numbered([1, 2]), "oldest");
  assert.deepEqual(store.events.map((one) => one.seq), [1, 2, 3]);
  assert.equal(store.at(5), undefined);
});

/** A log of `n` events behind a window. */
function log(n: number, most?: number) {
  const all = numbered(Array.from({ length: n }, (_, i) => i + 1));
  const window = new EventWindow(async ({ before, after, order, limit }) => {
    const found = all.filter((one) => one.seq < (before ?? Infinity) && one.seq > (after ?? 0));
    return (order === "desc" ? found.toReversed() : found).slice(0, limit);
  }, () => true, () => undefined, most);
  return { all, window };
}

test("a window reads a long log to its beginning without a gap or a duplicate", async () => {
  const { window } = log(1_234);
  await window.open();
  while (window.older) await window.loadOlder();
  assert.equal(window.store.size, 1_234);
  assert.equal(window.store.missing(), 0);
});

test("a window that went far into the past lets go of the live end, takes nothing live, and comes back", async () => {
  const { window } = log(1_500, 600);
  await window.open();
  for (let i = 0; i < 4; i += 1) await window.loadOlder();
  assert.ok(window.store.size <= 600);
  assert.equal(window.newer, true);
  window.push(numbered([1_501]));
  assert.notEqual(window.store.newest, 1_501);
  while (window.newer) await window.loadNewer();
  assert.equal(window.store.newest, 1_500);
});

test("at its live end a window keeps the newest events and says that there are older ones; one that is read keeps them all", async () => {
  const { window } = log(10);
  await window.open();
  await window.loadOlder();
  assert.equal(window.older, false);
  const numbers = (from: number, to: number) => numbered(Array.from({ length: to - from + 1 }, (_, i) => from + i));
  for (let seq = 11; seq < 10_000; seq += 100) {
    window.push(numbers(seq, seq + 99));
    assert.ok(window.store.size <= NEAR * 1.5);
  }
  assert.equal(window.store.missing(), 0);
  assert.equal(window.older, true);
  window.near = false;
  window.push(numbers(10_011, 14_010));
  assert.ok(window.store.size >= 4_000 && window.store.missing() === 0);
});

test("a permalink opens the window around its seq", async () => {
  const { window } = log(5_000);
  await window.open(2_500);
  assert.ok(window.store.at(2_500) && window.store.at(2_501) && window.store.at(2_499));
});

test("a permalink beyond the end of the log opens its end, and the log goes on there", async () => {
  const asked: Ask[] = [];
  const window = new EventWindow(async (ask) => {
    asked.push(ask);
    if ((ask.after ?? 0) > 3) throw new Error("the cursor is beyond the log's end");
    return numbered([1, 2, 3]).filter(({ seq }) => seq > (ask.after ?? 0));
  }, () => true, () => undefined);
  await window.open(999);
  assert.deepEqual([window.problem, window.newer, window.store.newest, asked.length], [undefined, false, 3, 2]);
  window.push(numbered([4]));
  assert.equal(window.store.newest, 4);
});

test("a page that does not come says why, and does not end the window", async () => {
  let fail = true;
  const window = new EventWindow(async () => {
    if (fail) throw new Error("no answer");
    return numbered([1]);
  }, () => true, () => undefined);
  await window.open();
  assert.match(String(window.problem), /no answer/);
  fail = false;
  await window.open();
  assert.equal(window.problem, undefined);
});

test("a filter survives its address", () => {
  const filter = { thread: "main.a", subtree: true, kinds: ["input", "voices"], tags: ["set:thread"], q: "glass wall", debug: true };
  assert.deepEqual(readFilter(writeFilter(filter)), filter);
});

test("live events are narrowed as the server narrows", () => {
  const plain = readFilter({});
  assert.ok(matches(event(["input"]), plain, []));
  assert.ok(!matches(event(["debug", "call:decision"]), plain, []));
  assert.ok(matches(event(["debug"]), plain, ["DEBUG"]));
  const below = { ...plain, thread: "main", subtree: true };
  assert.ok(matches(event(["x"], {}, 0, { thread: "main.a" }), below, []));
  assert.ok(!matches(event(["x"], {}, 0, { thread: "mainly" }), below, []));
  assert.deepEqual(tagsOf({ ...plain, kinds: ["voices", "failures"] }, ["critic"]), ["submodule:critic", "failure"]);
});

test("action and result are one row, and the reply's action is none", () => {
  const rows = rowsOf(story());
  assert.ok(rows.every((row) => !row.event.meta.tags.includes("action")));
  assert.equal(rows.find((row) => row.event.meta.tags.includes("tool:state_search"))?.action?.payload.tool, "state_search");
  assert.equal(bandsOf(rows).filter((entry) => entry.kind === "band").length, 1);
});

test("the connection line says facts, and bad news only after a second", () => {
  const facts = { badSince: undefined, now: 100_000, toGo: 0, behind: 0, missing: 0, asleep: 0, known: true, read: true };
  const live: State = { kind: "live" };
  assert.equal(words({ ...facts, state: live }).text, "up to date");
  assert.equal(words({ ...facts, state: live, missing: 3 }).text, "connected, 3 events missing");
  assert.equal(words({ ...facts, state: live, behind: 2_500 }).text, "this page is slow, 2,500 events behind");
  assert.equal(words({ ...facts, state: { kind: "catching up" }, toGo: 347 }).text, "behind by 347 events, catching up");
  assert.equal(words({ ...facts, state: { kind: "catching up" }, toGo: 347, asleep: 3_600_000 }).text, "asleep for 1 h, behind by 347 events, catching up");
  const gone: State = { kind: "waiting", attempt: 2, at: 104_000, code: 1006, detail: "" };
  assert.equal(words({ ...facts, state: gone, badSince: 99_500 }).text, "reconnecting");
  assert.equal(words({ ...facts, state: gone, badSince: 99_500, known: false }).text, "connecting");
  assert.equal(words({ ...facts, state: { kind: "connecting", attempt: 2 }, badSince: 98_000 }).text, "reconnecting, no server yet");
  assert.equal(words({ ...facts, state: live, read: false }).text, "connected, reading the log", "nothing is claimed of a log that is not here yet");
  assert.deepEqual(words({ ...facts, state: gone, badSince: 98_000 }), { tone: "fail", text: "disconnected: no server, again in 4 s", banner: false });
  assert.equal(words({ ...facts, state: gone, badSince: 90_000 }).banner, true);
  assert.equal(words({ ...facts, state: { kind: "closed", reason: "unauthenticated", detail: "" } }).text, "no access");
});
