// Missions: how far they are, what came of each route, how tasks are moved; and their graph, laid out.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Task, askingOf, changed, missionMark, missionsOf, outcomeMark, moved, progressOf, spentOf, taskMark, waysOf } from "../src/lib/missions.ts";
import type { Thread } from "../src/lib/threads.ts";
import { BOX, type Graph, graphOf } from "../src/lib/taskgraph.ts";
import { call, event } from "./events.ts";

/** A task as short as a test wants it. */
function task(n: number, requires: number[] = [], more: Partial<Task> = {}): Task {
  return { id: `t${n}`, name: `task ${n}`, description: "do it", status: "open", value: "medium", parent: null, tasks_required: requires.map((id) => `t${id}`), tasks_depending: [], tasks_and_thoughts_that_brought_to_it: [], rank: n, routes: [], seq: n, updated_at: "2026-11-25T12:00:00Z", ...more };
}
const map = (tasks: Task[]) => new Map(tasks.map((one) => [one.id, one]));
const layer = (graph: Graph, id: string) => graph.boxes.find((box) => box.task.id === id)?.layer;

test("a task says what it waits for, and that it waits for people", () => {
  const tasks = [task(1, [], { status: "closed" }), task(2), task(3, [1, 2]), task(4, [1])];
  assert.equal(taskMark(tasks[2]!, map(tasks)).word, "needs t2");
  assert.equal(taskMark(tasks[3]!, map(tasks)).word, "next");
  assert.equal(taskMark(task(5, [], { status: "in_progress" }), map(tasks), true).word, "waits for you");
  assert.equal(taskMark(task(6, [], { status: "failed_with_current_available_instruments", reason: "skipped" }), map(tasks)).word, "skipped");
  assert.deepEqual(progressOf(tasks), { of: 4, done: 1, failed: 0, working: 0 });
});

test("missions are threads that were given one: those at work first, then the newest", () => {
  const thread = (id: string, status: string, mission = true) => ({ id, status, mission: mission ? { mission: "x", value: "low", budget: {} } : null }) as unknown as Thread;
  const ids = missionsOf([thread("missions.1", "done"), thread("missions.2", "thinking"), thread("missions.2.t1", "thinking", false), thread("missions.3", "done"), thread("main", "idle", false)]).map((one) => one.id);
  assert.deepEqual(ids, ["missions.2", "missions.3", "missions.1"]);
});

test("a mission that rests says whether it waits for people", () => {
  const mission = { id: "missions.1", status: "waiting" } as Thread;
  assert.equal(missionMark(mission).word, "rests", "an older server does not say why");
  const resting = (rests: string) => ({ ...mission, mission: { rests } }) as Thread;
  assert.equal(missionMark(resting("paused"), true).word, "paused", "whatever people have said: somebody has to let it go on");
  assert.equal(missionMark(resting("people")).word, "waits for you");
  const asking = askingOf([{ thread: "missions.1.t4" }, { thread: "main" }]);
  assert.equal(missionMark(mission, asking.has(mission.id)).word, "waits for you");
  assert.equal(missionMark({ ...mission, status: "done" }, true).word, "ended", "what is over waits for nobody");
});

test("the outcome of a mission is another word than its state: that it ended does not make it solved", () => {
  const ended = (more: object) => ({ id: "missions.1", status: "done", ...more }) as Thread;
  const look = (more: object, tasks?: Task[]) => {
    const mark = outcomeMark(ended(more), tasks);
    return mark && [mark.role, mark.word];
  };
  assert.equal(look({ status: "waiting" }), undefined);
  assert.deepEqual(look({ outcome: "complete", tasks: { solved: 3, failed: 0, left: 0 } }), ["ok", "3 of 3 solved"]);
  assert.deepEqual(look({ outcome: "partial", tasks: { solved: 1, failed: 2, left: 0 } }), ["late", "1 of 3 solved"]);
  assert.deepEqual(look({ outcome: "failed", tasks: { solved: 0, failed: 1, left: 0 } }), ["fail", "none of 1 solved"]);
  assert.deepEqual(look({ status: "stopped", outcome: "stopped", tasks: { solved: 1, failed: 0, left: 2 } }), ["system", "stopped, 1 of 3 solved"]);
  const failed = task(1, [], { status: "failed_with_current_available_instruments" });
  assert.deepEqual(look({}, [failed]), ["fail", "none of 1 solved"], "an older server does not say: its tasks do");
  assert.deepEqual(look({}), ["pass", "outcome not known"]);
});

test("each route has its estimate and what came of it; what was tried and not listed is there, too", () => {
  const routes = [{ name: "poor", how: "", estimate: 0.2, splits: false }, { name: "best", how: "", estimate: 0.9, splits: false }, { name: "fair", how: "", estimate: 0.5, splits: false }];
  const working = task(1, [], { status: "in_progress", routes });
  const events = [
    event(["task", "tried", "task:t1"], { task: 1, route: "best", tier: "low", answer: "8", why: "quick" }),
    event(["task", "judged", "task:t1"], { task: 1, by: "program", passes: false, why: "it is 9" }),
    event(["task", "tried", "task:t1"], { task: 1, route: "unheard of", tier: "high", answer: null, why: "no answer" }),
  ];
  const ways = waysOf(working, events);
  assert.deepEqual(ways.map((way) => [way.name, way.outcome]), [["best", "failed"], ["fair", "in work"], ["poor", "not tried"], ["unheard of", "failed"]]);
  assert.deepEqual([ways[0]!.tries[0]!.by, ways[0]!.tries[0]!.why], ["program", "it is 9"]);
  const records = [call("mission:consider", 1, 1), call("mission:solve", 2, 1), events[0]!, call("mission:judge", 3, 1), events[1]!, call("mission:solve", 4, 1)];
  assert.deepEqual(waysOf(working, records).map((way) => way.calls), [2, 0, 0], "each route has its own calls");
  const judged = [...events, event(["task", "tried", "task:t1"], { task: 1, route: "fair", tier: "low", answer: "9", why: "" }), event(["task", "judged", "task:t1"], { task: 1, by: "rubric", passes: true, why: "fine" })];
  assert.deepEqual(waysOf({ ...working, status: "closed" }, judged).map((way) => way.outcome), ["failed", "passed", "not tried", "failed"]);
});

test("what a task cost is not known as soon as one call is not", () => {
  assert.deepEqual(spentOf([call("mission:solve", 10, 5), call("mission:judge", 20, 5)]), { calls: 2, tokens: 220, known: true });
  assert.equal(spentOf([call("mission:solve", 10, 5, { usage: {} })]).known, false);
});

test("a task is moved among those beside it that have not begun, and only ranks that differ are sent", () => {
  const tasks = [task(1, [], { status: "closed" }), task(2), task(3), task(4), task(5, [], { parent: "t1", rank: 0 })];
  assert.deepEqual(moved(tasks[3]!, tasks, -1), [{ id: "t4", rank: 3 }, { id: "t3", rank: 4 }]);
  assert.deepEqual(moved(tasks[1]!, tasks, -1), [], "the first one stays first");
  assert.deepEqual(moved(tasks[0]!, tasks, 1), [], "what is over has no place");
  const same = [task(1, [], { rank: 0 }), task(2, [], { rank: 0 }), task(3, [], { rank: 0 })];
  assert.deepEqual(moved(same[2]!, same, -2), [{ id: "t1", rank: 1 }, { id: "t2", rank: 2 }], "equal ranks become an order");
});

test("an edit has the members that differ, and no others", () => {
  const one = task(2, [1]);
  assert.deepEqual(changed(one, { name: "task 2 ", description: "do it", required: ["t1"] }), {});
  assert.deepEqual(changed(one, { name: "two", description: "do it", required: ["t1", "t3"] }), { name: "two", tasks_required: ["t1", "t3"] });
});

test("what is required stands left of what requires it, and boxes do not overlap", () => {
  const graph = graphOf([task(1), task(2), task(3, [1, 2]), task(4, [2]), task(5, [3, 4]), task(6)]);
  assert.deepEqual(["t1", "t2", "t3", "t4", "t5", "t6"].map((id) => layer(graph, id)), [0, 0, 1, 1, 2, 0]);
  assert.equal(graph.lines.length, 5);
  for (const one of graph.boxes) {
    assert.ok(one.x >= 0 && one.y >= 0 && one.x + BOX.width <= graph.width && one.y + BOX.height <= graph.height);
    for (const other of graph.boxes) assert.ok(one === other || one.layer !== other.layer || Math.abs(one.y - other.y) >= BOX.height);
  }
});

test("a line that others say already is not drawn", () => {
  const graph = graphOf([task(1), task(2, [1]), task(3, [1, 2])]);
  assert.deepEqual(graph.lines.map(({ from, to }) => `${from} ${to}`), ["t1 t2", "t2 t3"]);
});

test("parts stand before the task that was split, and behind what that waited for", () => {
  const graph = graphOf([task(1), task(2, [1, 3, 4]), task(3, [], { parent: "t2" }), task(4, [3], { parent: "t2" })]);
  assert.deepEqual(["t1", "t3", "t4", "t2"].map((id) => layer(graph, id)), [0, 1, 2, 3]);
  assert.ok(!graph.lines.some((line) => line.from === "t1" && line.to === "t3"), "order alone draws no line");
});

test("from sixty tasks on those of one parent share its box, which opens", () => {
  const tasks = [task(1), task(2, [1]), task(3, [2])];
  for (let n = 4; n < 70; n += 1) tasks.push(task(n, n % 2 ? [n - 1] : [], { parent: n < 40 ? "t1" : "t2", status: "closed" }));
  tasks[0]!.tasks_required = tasks.filter((one) => one.parent === "t1").map((one) => one.id);
  const graph = graphOf(tasks);
  assert.deepEqual(graph.boxes.map((box) => [box.task.id, box.parts?.of ?? 0]), [["t1", 36], ["t2", 30], ["t3", 0]]);
  assert.deepEqual(graph.lines.map(({ from, to }) => `${from} ${to}`), ["t1 t2", "t2 t3"]);
  const inside = graphOf(tasks, "t1");
  assert.equal(inside.boxes.length, 37, "the parts, and the task itself behind them");
  assert.equal(layer(inside, "t1"), Math.max(...inside.boxes.map((box) => box.layer)));
});

test("circles, strangers and thousands of tasks are laid out all the same, and soon", () => {
  const circle = graphOf([task(1, [2]), task(2, [1]), task(3, [3, 99])]);
  assert.equal(circle.boxes.length, 3);
  assert.equal(graphOf([]).width, 0);
  const orphans = graphOf([task(1, [], { parent: "t9" }), task(2, [], { parent: "t2" })]);
  assert.equal(orphans.boxes.length, 2);
  const begun = performance.now();
  const chain = Array.from({ length: 5_000 }, (_, i) => task(i + 1, i > 0 ? [i] : []));
  const graph = graphOf(chain);
  assert.equal(graph.boxes.length, 200);
  assert.equal(graph.left, 4_800);
  assert.ok(performance.now() - begun < 2_000);
});
