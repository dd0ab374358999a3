// A mission as its view shows it: how far it is, how each task stands, what came of each route, and what moving a task means.
import type { Schemas } from "../../../client/src/index.ts";
import { type AnyEvent, type Role, isCall, tagged, textOf } from "./events.ts";
import { type Thread, isOver } from "./threads.ts";
export { isOver, missionsOf } from "./threads.ts";
import { callOf } from "./turns.ts";

export type Task = Schemas.Task;

/** The states of a task, in the order of the board's columns. */
export const STATES = ["open", "in_progress", "closed", "failed_with_current_available_instruments"] as const;
export type TaskState = (typeof STATES)[number];

/** What the columns of the board are called. */
export const TITLES: Record<TaskState, string> = { open: "To come", in_progress: "In work", closed: "Done", failed_with_current_available_instruments: "Failed" };

/** A sign, its colour role and its word. */
export interface Mark {
  sign: string;
  role: Role;
  word: string;
}

/** How a mission stands. One that waits rests: until people have said what it asks for, or, paused, until somebody lets it go on. `asks`: it waits for
 * people; an older server does not say so. */
export function missionMark(mission: Thread, asks = false): Mark {
  if (isOver(mission)) return { sign: "pass", role: "system", word: "ended" };
  if (mission.mission?.rests === "paused") return { sign: "timer", role: "late", word: "paused" };
  if (asks || mission.mission?.rests === "people") return { sign: "question", role: "gate", word: "waits for you" };
  if (mission.status === "waiting") return { sign: "timer", role: "late", word: "rests" };
  return { sign: "run", role: "ok", word: "in work" };
}

/** The outcome of a mission that has ended, beside its state: how much of it was solved. Absent: it has not ended. An older server does not say; then its tasks do. */
export function outcomeMark(mission: Thread, tasks?: readonly Task[]): Mark | undefined {
  if (!isOver(mission)) return undefined;
  const { solved, failed, left } = mission.tasks ?? countsOf(tasks ?? []);
  const of = solved + failed + left;
  const outcome = mission.outcome ?? (mission.status !== "done" ? mission.status : of === 0 ? "" : solved === of ? "complete" : solved > 0 ? "partial" : "failed");
  const part = of > 0 ? `${solved} of ${of} solved` : "";
  if (outcome === "complete") return { sign: "ok", role: "ok", word: part || "solved" };
  if (outcome === "partial") return { sign: "alert", role: "late", word: part || "solved in part" };
  if (outcome === "failed") return { sign: "fail", role: "fail", word: of > 0 ? `none of ${of} solved` : "failed" };
  if (outcome === "stopped") return { sign: "stop", role: "system", word: part ? `stopped, ${part}` : "stopped" };
  return { sign: "pass", role: "pass", word: "outcome not known" };
}

function countsOf(tasks: readonly Task[]): { solved: number; failed: number; left: number } {
  const { of, done, failed } = progressOf(tasks.filter(({ parent }) => !parent));
  return { solved: done, failed, left: of - done - failed };
}

/** The number in an id: 7 of `t7`. */
export function numberOf(id: string): number {
  return Number(/^t(\d+)$/.exec(id)?.[1] ?? Number.MAX_SAFE_INTEGER);
}

/** A task will not be worked on any more. */
export function taskOver(task: Task): boolean {
  return task.status === "closed" || task.status === "failed_with_current_available_instruments";
}

/** How a task stands. `asks`: a question of it waits for people. */
export function taskMark(task: Task, tasks: ReadonlyMap<string, Task>, asks = false): Mark {
  if (task.status === "closed") return { sign: "ok", role: "ok", word: "done" };
  if (task.status === "failed_with_current_available_instruments") return { sign: "fail", role: "fail", word: task.reason === "skipped" ? "skipped" : "failed" };
  if (asks) return { sign: "question", role: "gate", word: "waits for you" };
  if (task.status === "in_progress") return { sign: "run", role: "decision", word: "in work" };
  const before = task.tasks_required.filter((id) => {
    const required = tasks.get(id);
    return required && !taskOver(required);
  });
  return before.length > 0 ? { sign: "timer", role: "system", word: `needs ${names(before)}` } : { sign: "pass", role: "system", word: "next" };
}

function names(ids: string[]): string {
  const some = ids.slice(0, 3).join(", ");
  return ids.length > 3 ? `${some} and ${ids.length - 3} more` : some;
}

/** How far a mission is: as the server counts its tasks once it has ended, else by its tasks. The parts that one was split into count as that one. */
export function progressIn(mission: Thread, tasks: readonly Task[]): Progress {
  const counts = isOver(mission) ? mission.tasks : undefined;
  return counts ? { of: counts.solved + counts.failed + counts.left, done: counts.solved, failed: counts.failed, working: 0 } : progressOf(tasks.filter(({ parent }) => !parent));
}

/** How many tasks stand how. */
export interface Progress {
  of: number;
  done: number;
  failed: number;
  working: number;
}

/** Counts tasks. */
export function progressOf(tasks: readonly Task[]): Progress {
  const count = (state: TaskState) => tasks.filter((task) => task.status === state).length;
  return { of: tasks.length, done: count("closed"), failed: count("failed_with_current_available_instruments"), working: count("in_progress") };
}

/** One try of a route. */
export interface Try {
  tier: string;
  answer: string | undefined;
  /** Whether the answer passed its check; absent: it was not judged yet. */
  passes: boolean | undefined;
  /** What decided: a program, what is known, a rubric. */
  by: string;
  why: string;
  event: AnyEvent;
}

/** A route: what was expected of it, and what came of it. */
export interface Way {
  name: string;
  how: string;
  /** The chance that it works, from 0 to 1; absent: nobody estimated it. */
  estimate: number | undefined;
  splits: boolean;
  tries: Try[];
  /** Calls of models that went into its tries. */
  calls: number;
  outcome: "passed" | "failed" | "in work" | "not tried";
}

/** The routes of a task, the best estimate first, with what the events of its thread say of each. */
export function waysOf(task: Task, events: readonly AnyEvent[]): Way[] {
  const ways: Way[] = task.routes.map(({ name, how, estimate, splits }) => ({ name, how, estimate, splits, tries: [], calls: 0, outcome: "not tried" }));
  ways.sort((a, b) => (b.estimate ?? 0) - (a.estimate ?? 0));
  let last: Way | undefined;
  /** Calls that are not told of a route yet: that of an answer comes before its try, that of a judge behind it. */
  let calls = 0;
  for (const event of events) {
    if (isCall(event)) calls += textOf(event, "module") === "mission:consider" ? 0 : 1;
    if (!tagged(event, "task")) continue;
    if (tagged(event, "tried")) last = tried(ways, event);
    else if (tagged(event, "judged") && last) judged(last.tries.at(-1)!, event);
    else continue;
    last!.calls += calls;
    calls = 0;
  }
  for (const way of ways) way.outcome = outcomeOf(way);
  if (task.status === "in_progress" && !ways.some((way) => way.outcome === "in work")) {
    const next = ways.find((way) => way.outcome === "not tried");
    if (next) next.outcome = "in work";
  }
  return ways;
}

function tried(ways: Way[], event: AnyEvent): Way {
  const name = textOf(event, "route");
  const answer = typeof event.payload.answer === "string" ? event.payload.answer : undefined;
  const one: Try = { tier: textOf(event, "tier"), answer, passes: answer === undefined ? false : undefined, by: "", why: textOf(event, "why"), event };
  const way = ways.find((known) => known.name === name) ?? { name, how: "", estimate: undefined, splits: false, tries: [], calls: 0, outcome: "not tried" };
  if (!ways.includes(way)) ways.push(way);
  way.tries.push(one);
  return way;
}

function judged(one: Try, event: AnyEvent): void {
  if (one.passes !== undefined) return;
  one.passes = event.payload.passes === true;
  one.by = textOf(event, "by");
  one.why = textOf(event, "why");
}

function outcomeOf(way: Way): Way["outcome"] {
  const last = way.tries.at(-1);
  if (!last) return "not tried";
  if (last.passes === undefined) return "in work";
  return last.passes ? "passed" : "failed";
}

/** What the calls of a task came to, as far as providers said. */
export interface Spent {
  calls: number;
  tokens: number;
  known: boolean;
}

/** Sums the calls among events. */
export function spentOf(events: readonly AnyEvent[]): Spent {
  const spent: Spent = { calls: 0, tokens: 0, known: true };
  for (const event of events) {
    if (!isCall(event)) continue;
    const call = callOf(event);
    spent.calls += 1;
    spent.tokens += (call.input ?? 0) + (call.output ?? 0);
    if (call.input === undefined) spent.known = false;
  }
  return spent;
}

/** The tasks beside one: those of the same parent. */
export function siblingsOf(task: Task, tasks: readonly Task[]): Task[] {
  return tasks.filter((one) => one.id !== task.id && (one.parent ?? "") === (task.parent ?? ""));
}

/** The tasks of one parent that have not begun, in the order in which they are taken up. */
export function queueOf(task: Task, tasks: readonly Task[]): Task[] {
  const open = [...siblingsOf(task, tasks), task].filter((one) => one.status === "open");
  return open.sort((a, b) => a.rank - b.rank || numberOf(a.id) - numberOf(b.id));
}

/** Which ranks have to change so that a task stands so many places later in its queue; none: it cannot be moved there. */
export function moved(task: Task, tasks: readonly Task[], by: number): { id: string; rank: number }[] {
  const queue = queueOf(task, tasks);
  const from = queue.findIndex((one) => one.id === task.id);
  const to = from + by;
  if (from < 0 || to < 0 || to >= queue.length) return [];
  const ranks = queue.map((one) => one.rank);
  for (let i = 1; i < ranks.length; i += 1) ranks[i] = Math.max(ranks[i]!, ranks[i - 1]! + 1);
  const order = [...queue];
  order.splice(to, 0, ...order.splice(from, 1));
  return order.map((one, i) => ({ id: one.id, rank: ranks[i]!, before: one.rank })).filter((one) => one.rank !== one.before).map(({ id, rank }) => ({ id, rank }));
}

/** The members of a task that differ from what a form says; what is the same is not sent. */
export function changed(task: Task, form: { name: string; description: string; required: readonly string[] }): Schemas.EditTask {
  const edit: Schemas.EditTask = {};
  if (form.name.trim() !== task.name) edit.name = form.name.trim();
  if (form.description.trim() !== task.description) edit.description = form.description.trim();
  const same = form.required.length === task.tasks_required.length && form.required.every((id) => task.tasks_required.includes(id));
  if (!same) edit.tasks_required = [...form.required];
  return edit;
}

/** What missions wait for people for, by mission: approvals, of their plan, too, and questions. */
export function askingOf(requests: readonly { thread: string }[]): Set<string> {
  return new Set(requests.map(({ thread }) => missionIn(thread)));
}

/** The task that a question was asked for. */
export function askedFor(question: Schemas.Question): string {
  return String(question.call_id ?? "").split(".")[0] ?? "";
}

/** What missions have used so far, all their tasks together. */
export function usedBy(threads: readonly Thread[]): Map<string, { calls: number; tokens: number }> {
  const used = new Map<string, { calls: number; tokens: number }>();
  for (const { id, kind, budget } of threads) {
    if (kind !== "mission") continue;
    const sum = used.get(missionIn(id)) ?? { calls: 0, tokens: 0 };
    used.set(missionIn(id), { calls: sum.calls + budget.model_calls, tokens: sum.tokens + budget.tokens });
  }
  return used;
}

/** The mission of a thread: itself, or that of a task's thread. */
export function missionIn(thread: string): string {
  return thread.split(".").slice(0, 2).join(".");
}
