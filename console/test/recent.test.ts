// The last minutes of the whole space: as strokes at the top of every view, and as lanes of threads.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyEvent } from "../src/lib/events.ts";
import { HOUR, Hour } from "../src/lib/hour.ts";
import { inputsOf, minuteOf } from "../src/lib/minute.ts";
import { type Brief, Recent } from "../src/lib/recent.ts";
import { spanOf } from "../src/lib/spans.ts";
import { event, moment, story } from "./events.ts";

const brief = (thread: string, n: number, from: number, to: number): Brief => ({ key: `${thread} ${n}`, thread, n, from, to, end: to, inputs: [], strokes: [{ from, to, role: "decision", voice: undefined }] });
const glance = (turns: Brief[]) => ({ turns, messages: [], inputs: [] });

test("a turn that is over is laid out once: what came of it stays for five minutes, and ends with them", () => {
  const recent = new Recent();
  const events = story();
  const [first] = recent.look(events, [], moment(20_000)).turns;
  assert.equal(first!.n, 1);
  assert.ok(first!.strokes.some(({ role, voice }) => role === "late" && voice?.of === 4) && first!.strokes.some(({ voice }) => voice === undefined));
  assert.deepEqual(first!.inputs, [moment(0)]);
  assert.equal(recent.look(events, [], moment(40_000)).turns[0], first, "the same");
  assert.equal(recent.look([...events.slice(-1), event(["input"], {}, 50_000)], [], moment(50_000)).turns[0], first, "although most of its events are not here any more");
  assert.equal(recent.look([event(["input"], {}, 400_000)], [], moment(400_000)).turns.length, 0);
});

test("a turn at work is laid out anew each time, until a while after its end", () => {
  const recent = new Recent();
  const events = story();
  const until = (ms: number, of: AnyEvent[]) => recent.look(of, [], moment(ms)).turns[0]!.to;
  assert.equal(until(1_000, events.slice(0, 3)), moment(1_000));
  assert.equal(until(2_000, events.slice(0, 4)), moment(2_000));
  assert.equal(until(6_000, events), moment(5_900));
  const late = event(["submodule:frugal", "follow-up"], { turn: 1, text: "and keep it dry" }, 6_500);
  assert.equal(until(7_000, [...events, late]), moment(6_500));
});

test("a turn that was broken off is gone after five minutes, and one that is worked on is not", () => {
  const events = story().slice(0, 5);
  const work = [{ thread: "main", turn: 1, module: "decision", purpose: "turn", since: moment(2_600), limit: undefined }];
  const [left, kept] = [new Recent(), new Recent()];
  for (const recent of [left, kept]) assert.equal(recent.look(events, work, moment(3_000)).turns.length, 1);
  assert.equal(left.look(events, [], moment(302_000)).turns.length, 0);
  assert.equal(kept.look(events, work, moment(302_000)).turns.length, 1);
});

test("a turn that goes on for longer than the page keeps events has its beginning", () => {
  const recent = new Recent();
  const events = story();
  recent.look(events.slice(0, 8), [], moment(3_000));
  const [turn] = recent.look(events.slice(8), [], moment(9_000)).turns;
  assert.equal(turn!.from, moment(0));
});

test("older events that come later, and another log, are taken anew", () => {
  const recent = new Recent();
  const events = story();
  assert.equal(recent.look(events.slice(-4), [], moment(20_000)).turns[0]!.from, moment(5_400));
  assert.equal(recent.look(events, [], moment(20_000)).turns[0]!.from, moment(0));
  const other = events.slice(0, 4).map((one) => ({ ...one, thread: "other" }));
  assert.deepEqual(recent.look(other, [], moment(20_000)).turns.map(({ thread }) => thread), ["other"]);
});

test("the minute has no more strokes than it has room for, and what was there stays where it was", () => {
  const turns = Array.from({ length: 5_000 }, (_, i) => brief(`t${i % 20}`, i, moment(i * 10), moment(i * 10 + 300)));
  const one = minuteOf(turns, moment(0), moment(60_000));
  assert.equal(one.length, 1);
  assert.equal(one[0]!.d, "M0 19h503");
  const alone = [brief("main", 1, moment(1_000), moment(1_010)), brief("main", 2, moment(30_000), moment(31_000))];
  assert.equal(minuteOf(alone, moment(0), moment(60_000))[0]!.d, "M10 19h2M300 19h10", "the shortest is wide enough to be seen");
  assert.equal(minuteOf(alone, moment(0), moment(75_000))[0]!.d, "M300 19h10", "what is older than a minute is gone, and the rest has not moved");
});

test("inputs that come one upon the other stand apart", () => {
  const said = (...ms: number[]): Brief => ({ ...brief("main", 1, moment(0), moment(100)), inputs: ms.map(moment) });
  assert.equal(inputsOf([said(1_000, 5_000), said(1_100, 2_000)], moment(0)), "M10 13h3M20 13h3M50 13h3");
});

test("a lane of many turns is a band of what was at work at once, and one of few has a box for each", () => {
  const busy = Array.from({ length: 500 }, (_, i) => brief("busy", i, moment(i * 600), moment(i * 600 + (i === 100 ? 3_000 : 500))));
  const { lanes } = spanOf(glance([...busy, brief("main", 1, moment(10_000), moment(20_000))]), moment(300_000), 300_000);
  assert.deepEqual(lanes.map(({ name, band }) => [name, band !== undefined]), [["main", false], ["busy", true]]);
  assert.ok(lanes[1]!.band!.most >= 4);
  assert.match(lanes[1]!.band!.d, /^M0 100(H\d+V\d+)+H1000V100Z$/);
  assert.ok(lanes[1]!.band!.d.length < 2_000);
});

test("many threads of one parent share a lane, and a thousand lanes are not drawn", () => {
  const below = Array.from({ length: 20 }, (_, i) => brief(`main.q${i}`, 1, moment(0), moment(100)));
  assert.deepEqual(spanOf(glance([brief("main", 1, moment(0), moment(10)), ...below]), moment(1_000), 300_000).lanes.map(({ name }) => name), ["main", "main, 20 below"]);
  const flat = Array.from({ length: 1_000 }, (_, i) => brief(`t${i}`, 1, moment(0), moment(100)));
  assert.equal(spanOf(glance(flat), moment(1_000), 300_000).lanes.length, 60);
});

test("an hour is made of beginnings and ends in any order, and what the page has seen itself is better known", () => {
  const hour = new Hour();
  const bounds = (turn: number, from: number, to: number) => [event(["turn", "started", `turn:${turn}`], { turn }, from), event(["turn", "ended", `turn:${turn}`], { turn, outcome: "done" }, to)];
  const mail = event(["message", "from:main.a"], { text: "done" }, 3_000_000);
  hour.add([mail, ...bounds(2, 2_000_000, 2_030_000).reverse(), ...bounds(1, 1_000, 2_000)]);
  const seen = brief("main", 2, moment(1_999_000), moment(2_031_000));
  const look = hour.look(glance([seen]), moment(3_500_000));
  assert.deepEqual(look.turns.map(({ n, from, to }) => [n, from, to]), [[1, moment(1_000), moment(2_000)], [2, seen.from, seen.to]]);
  assert.deepEqual(look.messages, [{ seq: mail.seq, t: moment(3_000_000), from: "main.a", to: "main" }]);
  assert.deepEqual(hour.look(glance([]), moment(HOUR + 10_000)).turns.map(({ n }) => n), [2], "what is older than an hour is gone");
});

test("of an hour that holds too much the newest is kept", () => {
  const hour = new Hour();
  const many = Array.from({ length: 10_500 }, (_, i) => event(["turn", "ended"], { turn: i + 1 }, i));
  hour.add(many.reverse());
  const { turns } = hour.look(glance([]), moment(20_000));
  assert.equal(turns.length, 10_000);
  assert.ok(turns.every(({ n }) => n > 500));
});
