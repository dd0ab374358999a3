// Runs of pipelines: their nodes folded from events, and laid out by what they need.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keptOf, keptWords } from "../src/lib/kept.ts";
import { layersOf } from "../src/lib/layers.ts";
import { type RunGraph, runGraph } from "../src/lib/rungraph.ts";
import { type RunNode, bodyOf, nodeMark, nodesOf } from "../src/lib/runs.ts";
import { BOX } from "../src/lib/taskgraph.ts";
import { event, moment } from "./events.ts";

const started = (place: string, node: string, needs?: unknown, more: Record<string, unknown> = {}) => event(["node", "started", "pipeline:p"], { node, place, ...(needs === undefined ? {} : { needs }), ...more });
const finished = (place: string, node: string, value: unknown = place) => event(["node", "finished", "pipeline:p"], { node, place, value });
const failed = (place: string, node: string) => event(["failure", "node", "pipeline", "node", "failed"], { node, place, text: "broke" });
const resumed = () => event(["run", "resumed", "pipeline:p"]);

/** A node that is done, as short as a test wants it. */
function node(place: string, name: string, needs: string[] = [], more: Partial<RunNode> = {}): RunNode {
  return { place, node: name, state: "done", start: 0, end: 1, journal: false, value: null, kept: undefined, needs, more: 0, event: event(["node"]), ...more };
}
const lines = (graph: RunGraph) => graph.lines.map(({ from, to, called }) => `${from}${called ? " calls " : " "}${to}`).sort();
const layer = (graph: RunGraph, key: string) => graph.boxes.find((box) => box.key === key)?.layer;

test("a node has what flows into it, its state, and whether the journal answered for it", () => {
  const { nodes, resumed: again } = nodesOf([started("1", "read"), finished("1", "read"), started("2", "digest", ["1"]), finished("2", "digest"), started("3", "digest", ["1"]), resumed(), started("3", "digest", ["1"]), failed("3", "digest"), started("4", "join", ["2", "3"], { needs_more: 2 })]);
  assert.deepEqual(nodes.map(({ place, state, journal, needs, more }) => [place, state, journal, needs, more]), [["1", "done", true, [], 0], ["2", "done", true, ["1"], 0], ["3", "failed", false, ["1"], 0], ["4", "running", false, ["2", "3"], 2]]);
  assert.deepEqual(nodes.map((one) => nodeMark(one).word), ["from the journal", "from the journal", "failed", "running"]);
  assert.equal(new Set(nodes.map((one) => `${nodeMark(one).sign} ${nodeMark(one).role}`)).size, 3, "each by sign and colour, and what the journal answered apart");
  assert.equal(again.length, 1);
});

test("needs that are none, of a hostile log or an older one, are left out", () => {
  const all = nodesOf([started("1", "a"), started("2", "b", "1"), started("3", "c", [1, null, {}, "1"]), started("4", "d", ["4", "99"], { needs_more: "many" })]).nodes;
  assert.deepEqual(all.map(({ needs }) => needs), [[], [], ["1"], ["4", "99"]]);
  assert.deepEqual(lines(runGraph(all)), ["1 3"], "no line to itself, none to what is not there");
});

test("a place tells in whose body it is, through branches", () => {
  const places: [string, string][] = [["2", ""], ["2.1", "2"], ["2.1.10", "2.1"], ["/apples.1", ""], ["2/pears.1", "2"], ["2/pears~2.1.3", "2/pears~2.1"], ["/t3/t7.2", ""], ["/a.1/b.2", "/a.1"], ["", ""], [".", ""], ["x/y", ""]];
  for (const [place, body] of places) assert.equal(bodyOf(place), body, place);
});

test("what is needed stands left of what needs it, also where nodes finish in another order", () => {
  const graph = runGraph([node("1", "read"), node("3", "digest", ["1"]), node("2", "digest", ["1"]), node("4", "join", ["2", "3", "1"])]);
  assert.deepEqual(["1", "2", "3", "4"].map((key) => layer(graph, key)), [0, 1, 1, 2]);
  assert.deepEqual(lines(graph), ["1 2", "1 3", "1 4", "2 4", "3 4"], "every value that flows is a line");
  for (const one of graph.boxes) {
    assert.ok(one.x >= 0 && one.y >= 0 && one.x + BOX.width <= graph.width && one.y + BOX.height <= graph.height);
    for (const other of graph.boxes) assert.ok(one === other || one.layer !== other.layer || Math.abs(one.y - other.y) >= BOX.height);
  }
});

test("what a body called is drawn behind it, by a line of its own", () => {
  const graph = runGraph([node("1", "around"), node("1.1", "first"), node("1.2", "second", ["1.1"]), node("1/side.1", "beside"), node("2", "last", ["1"])]);
  assert.deepEqual(lines(graph), ["1 2", "1 calls 1.1", "1 calls 1.2", "1 calls 1/side.1", "1.1 1.2"]);
  assert.ok(layer(graph, "1.2")! > layer(graph, "1.1")!);
});

test("from sixty nodes on those of a body share its box, which opens", () => {
  const inner = Array.from({ length: 70 }, (_, i) => node(`2.${i + 1}`, "step", i > 0 ? [`2.${i}`] : []));
  const all = [node("1", "read"), node("2", "loop", ["1"]), ...inner, node("3", "close", ["2"])];
  const graph = runGraph(all);
  assert.deepEqual(graph.boxes.map((box) => [box.key, box.name, box.of]), [["1", "read", 1], ["2", "loop and 70 inside", 71], ["3", "close", 1]]);
  assert.deepEqual(lines(graph), ["1 2", "2 3"]);
  const inside = runGraph(all, "2");
  assert.deepEqual(inside.boxes.map((box) => box.name).sort(), ["loop", "step × 70"], "and there those of one name share one");
  const each = runGraph(all, inside.boxes.find((box) => box.of > 1)!.key);
  assert.equal(each.boxes.length, 70);
  assert.equal(each.lines.length, 69);
});

test("from sixty nodes on those of one name share a box, which opens and says how they are", () => {
  const digests = Array.from({ length: 80 }, (_, i) => node(`${i + 2}`, "digest", ["1"], i === 0 ? { state: "failed" } : i < 41 ? { journal: true } : i === 79 ? { state: "running" } : {}));
  const all = [node("1", "read"), ...digests, node("82", "join", digests.map(({ place }) => place).slice(0, 64), { more: 16 })];
  const graph = runGraph(all);
  assert.deepEqual(graph.boxes.map((box) => box.name), ["read", "digest × 80", "join"]);
  const many = graph.boxes[1]!;
  assert.equal(many.words, "1 failed, 40 from the journal, 38 done, 1 running");
  assert.equal(many.mark.word, "failed", "the worst of them is what the box says");
  assert.deepEqual(lines(graph), [`${many.key} 82`, `1 ${many.key}`].sort());
  assert.equal(graph.unnamed, 16);
  assert.equal(runGraph(all, many.key).boxes.length, 80);
  assert.deepEqual(runGraph(all, "no such").boxes, []);
});

test("circles, strangers and thousands of nodes are laid out all the same, and soon", () => {
  assert.equal(runGraph([node("1", "a", ["2"]), node("2", "b", ["1"]), node("3", "c", ["3"])]).boxes.length, 3);
  assert.equal(runGraph([]).width, 0);
  assert.equal(runGraph([node("9.9.9", "lost")]).boxes.length, 1, "a node whose bodies are not here");
  const begun = performance.now();
  const wide = runGraph(Array.from({ length: 1_000 }, (_, i) => node(`${i + 1}`, `n${i}`, Array.from({ length: Math.min(i, 64) }, (_, j) => `${i - j}`))));
  assert.deepEqual([wide.boxes.length, wide.left], [200, 800]);
  let deep = "1";
  const chain = Array.from({ length: 600 }, () => node((deep += ".1"), "down"));
  assert.equal(runGraph([node("1", "top"), ...chain]).boxes.length, 1);
  assert.ok(performance.now() - begun < 2_000);
});

test("the failure of a run for a node's sake is no node, and what has no place is drawn without an end to it", () => {
  const run = event(["failure", "node", "pipeline:p"], { kind: "node", text: "node `read` failed: there is no thread nosuch" });
  const { nodes } = nodesOf([started("1", "read"), failed("1", "read"), run]);
  assert.deepEqual(nodes.map(({ place, state }) => [place, state]), [["1", "failed"]]);
  assert.equal(runGraph(nodes).boxes.length, 1);
  assert.equal(runGraph([node("", "nowhere"), node(".", "dot", ["", "."]), node("1", "one", ["1", ""])]).boxes.length, 3);
});

test("bodies within bodies, thousands deep, are no way to overflow the stack", () => {
  let deep = "1";
  const chain = Array.from({ length: 3_000 }, () => node((deep += ".1"), "down"));
  assert.equal(runGraph([node("1", "top"), ...chain]).boxes.length, 1);
  assert.equal(runGraph([node("1", "top"), ...chain], "1").boxes.length, 2);
});

test("layers come to an end, whatever requires what", () => {
  assert.deepEqual(layersOf(["a", "b"], new Map([["a", new Set(["a"])], ["b", new Set(["gone", "a"])]])).flat().sort(), ["a", "b"]);
  assert.deepEqual(layersOf(["a", "b", "c"], new Map([["a", new Set(["c"])], ["b", new Set(["a"])], ["c", new Set(["b"])]])).flat().sort(), ["a", "b", "c"]);
});

test("a node that was under way when its run ended is stopped; what ended before is as it was", () => {
  const ended = event(["run", "ended", "pipeline:p", "cancelled"], {}, 9_000);
  const { nodes } = nodesOf([started("1", "read"), finished("1", "read"), started("2", "digest", ["1"]), started("3", "digest", ["1"]), failed("3", "digest"), ended]);
  assert.deepEqual(nodes.map(({ state }) => state), ["done", "stopped", "failed"]);
  assert.equal(nodes[1]!.end, moment(9_000), "it does not grow any more");
  assert.equal(nodeMark(nodes[1]!).word, "stopped");
  const digests = Array.from({ length: 80 }, (_, i) => node(`${i + 1}`, "digest", [], i === 7 ? { state: "stopped" } : {}));
  assert.equal(runGraph(digests).boxes[0]!.mark.word, "stopped");
});

test("a value that a blob has is said to be that, how large it is, and what is no such thing is none", () => {
  const blob = "b49014d8cdcba86f3f571a93ccecbe20361c4570990bb180e251d5f42e47a8fd";
  const kept = { blob, bytes: 120_318, mime: "application/json" };
  const large = event(["node", "finished", "pipeline:p"], { node: "ask", place: "1", value_blob: kept, text: "ask finished" });
  const [one] = nodesOf([started("1", "ask"), large]).nodes;
  assert.deepEqual([one!.kept, one!.value], [{ blob, bytes: 120_318 }, undefined]);
  assert.equal(keptWords(one!.kept!), "120 kB of JSON");
  assert.deepEqual([{ blob, bytes: 999 }, { blob, bytes: 4_200_000 }].map(keptWords), ["999 bytes of JSON", "4.2 MB of JSON"]);
  for (const none of [undefined, null, "x", {}, { blob: 1, bytes: 1 }, { blob: "../keys", bytes: 1 }, { blob, bytes: "1" }, { blob, bytes: -1 }, { blob, bytes: Infinity }]) assert.equal(keptOf(none), undefined);
});
