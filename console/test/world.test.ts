// The world model: what is around a name, laid out, and the moods that turns left.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schemas } from "../../client/src/index.ts";
import { NAME, aroundOf } from "../src/lib/around.ts";
import { moodsOf } from "../src/lib/moods.ts";
import { checkOf, claimantOf, readingOf, verdictOf } from "../src/lib/readings.ts";
import { event } from "./events.ts";

/** A statement as short as a test wants it: `subject relation object`. */
function held(said: string, more: Partial<Schemas.HeldStatement> = {}): Schemas.HeldStatement {
  const [subject, relation, object] = said.split(" ") as [string, string, string];
  return { id: said, text: said, label: said, status: "surviving", reflection_only: false, triple: { subject, relation, object, single: false } as Schemas.Triple, ...more };
}
const steps = (statements: Schemas.HeldStatement[], name: string) => Object.fromEntries(aroundOf(statements, name).names.map((one) => [one.name, one.steps]));

test("names stand by how many statements they are away, whichever way these go", () => {
  const all = [held("Alma leads Works"), held("Odd knows Alma"), held("Works builds Boats"), held("Odd owns Boats")];
  assert.deepEqual(steps(all, "alma"), { Alma: 0, Works: 1, Odd: 1, Boats: 2 });
  const graph = aroundOf(all, "Alma");
  assert.deepEqual(graph.ties.map(({ relation, back }) => [relation, back]), [["leads", false], ["knows", true], ["builds", false], ["owns", false]]);
  for (const one of graph.names) {
    assert.ok(one.x >= 0 && one.y >= 0 && one.x + NAME.width <= graph.width && one.y + NAME.height <= graph.height);
    for (const other of graph.names) assert.ok(one === other || one.steps !== other.steps || Math.abs(one.y - other.y) >= NAME.height);
  }
  assert.ok(graph.ties.every(({ x, y }) => x > 0 && x < graph.width && y > 0 && y < graph.height));
});

test("several statements of two names, and of one name with itself, are all there and written below each other", () => {
  const graph = aroundOf([held("Alma leads Works"), held("Alma founded Works"), held("Works owns Alma"), held("Alma likes Alma")], "Alma");
  assert.equal(graph.names.length, 2);
  assert.equal(new Set(graph.ties.slice(0, 3).map(({ y }) => y)).size, 3);
  assert.equal(graph.ties.length, 4);
});

test("names that differ in signs and case alone are one", () => {
  assert.deepEqual(steps([held("Alma leads Kaxro-Works"), { ...held("kaxro.works builds Boats") }], "Alma"), { Alma: 0, "Kaxro-Works": 1, Boats: 2 });
});

test("a name that is one with another begins at the nearest statement; what has no subject is counted", () => {
  assert.deepEqual(steps([held("Dr.Lien leads Works")], "Odd Lien"), { "Dr.Lien": 0, Works: 1 });
  const graph = aroundOf([held("Alma leads Works"), held("it rains today", { triple: null }), held("Far is Away")], "Alma");
  assert.deepEqual([graph.ties.length, graph.left], [1, 2]);
  assert.deepEqual(aroundOf([], "Alma").names, []);
});

test("of a thousand names sixty are drawn, and soon", () => {
  const begun = performance.now();
  const graph = aroundOf(Array.from({ length: 1000 }, (_, i) => held(`hub has spoke${i}`)), "hub");
  assert.deepEqual([graph.names.length, graph.ties.length, graph.left], [60, 59, 941]);
  assert.ok(performance.now() - begun < 1_000);
});

test("moods are those that turns left, in order; a turn of an older server left none", () => {
  const ended = (turn: number, mood?: Record<string, unknown>) => event(["turn", "ended", `turn:${turn}`], { turn, ...(mood ? { mood } : {}) });
  const events = [ended(1, { sum: 120, facts: 100, walk: 20, seen: 1 }), ended(2), ended(3, { sum: -40, facts: "x" }), event(["turn", "started", "turn:4"], { mood: { sum: 1 } })];
  assert.deepEqual(moodsOf(events.toReversed()).map(({ turn, sum, facts, walk }) => [turn, sum, facts, walk]), [[1, 0.12, 0.1, 0.02], [3, -0.04, 0, 0]]);
});

test("a reading shows its answer, and not why the instrument was chosen", () => {
  const read = (answer: string | undefined) => readingOf({ ...(answer === undefined ? {} : { answer }), choice: "no experiment can say anything of it", instrument: "reflection", note: "fine", quote: null, seq: 36 });
  assert.deepEqual([read("yes").answer, read("yes").role, read("yes").words, read("yes").why], ["yes", "ok", "fine", "no experiment can say anything of it"]);
  assert.deepEqual(["no", "asked", "none", undefined, "odd"].map((answer) => [read(answer).answer, read(answer).role]), [["no", "fail"], ["asked", "gate"], ["no answer", "pass"], ["no answer", "pass"], ["no answer", "pass"]]);
});

test("who claims is a person or the agent, and a verdict says what it came to", () => {
  assert.deepEqual([{ kind: "user", name: "ann" }, { kind: "user", name: null }, { kind: "mind" }, "x", null].map(claimantOf), ["ann", "a person", "the agent", "not known", "not known"]);
  assert.deepEqual(verdictOf({ outcome: "falsified", reason: "a no", carried: ["code", 1], seq: 53 }), { outcome: "falsified", reason: "a no", by: "code", place: "#53", seq: 53 });
  assert.deepEqual(verdictOf({}), { outcome: "", reason: "", by: "", place: "", seq: undefined });
});

test("a statement whose check came to nothing says so: since when, the cause, the next try; the model's own words come apart", () => {
  const now = Date.parse("2026-11-30T12:00:00Z");
  const of = (more: object) => checkOf({ status: "proposed", tested_at: null, due_at: null, reason: null, ...more }, now);
  const fresh = of({ due_at: "2026-11-30T12:00:00Z" })!;
  assert.deepEqual([fresh.word, fresh.missing, fresh.raw], ["being checked", "", ""]);
  const tried = { tested_at: "2026-11-30T11:01:00Z", due_at: "2026-11-30T12:30:00Z" };
  const unable = of({ ...tried, reason: "nothing was derived from it: the model did not call the tool derive" })!;
  assert.equal(unable.word, "not decided");
  assert.match(unable.missing, /model of this server did not take the check up: it has to call tools/);
  assert.match(unable.raw, /did not call the tool derive/);
  assert.equal(unable.next, tried.due_at);
  const away = of({ ...tried, reason: "nothing was derived from it: model m at http://x/v1 answered 400 Bad Request: {} (tried 4 times)" })!;
  assert.match(away.missing, /The model did not answer/);
  assert.doesNotMatch(away.missing, /http/);
  // A reason in plain words is not hidden.
  const said = of({ ...tried, due_at: null, reason: "said by Clara, not tested" })!;
  assert.deepEqual([said.missing, said.raw, said.next], ["Said by Clara, not tested.", "", undefined]);
  // A try that is due, and has not come, is no future.
  assert.equal(of({ ...tried, due_at: "2026-11-30T11:30:00Z", reason: "x" })!.next, undefined);
  assert.equal(of({ ...tried, due_at: "2026-11-30T11:30:00Z", reason: "x" })!.due, true);
  for (const status of ["surviving", "falsified", "retracted"]) assert.equal(of({ status }), undefined);
});
