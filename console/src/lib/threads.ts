// The tree of threads: who is below whom, who waits for whom, and which cannot go on.
import type { Role } from "./events.ts";
import type { Schemas } from "../../../client/src/index.ts";

export type Thread = Schemas.Thread;

/** A thread in its place. */
export interface Leaf {
  thread: Thread;
  depth: number;
  children: number;
}

/** The tree as rows: parents before their children, in the order of ids; what is closed hides what is below. */
export function tree(threads: readonly Thread[], closed: ReadonlySet<string> = new Set()): Leaf[] {
  const known = new Set(threads.map((thread) => thread.id));
  const below = new Map<string, Thread[]>();
  for (const thread of threads) {
    const parent = thread.parent && known.has(thread.parent) ? thread.parent : "";
    below.set(parent, [...(below.get(parent) ?? []), thread]);
  }
  const rows: Leaf[] = [];
  const walk = (parent: string, depth: number) => {
    const children = [...(below.get(parent) ?? [])].sort((a, b) => (a.id === "main" ? -1 : b.id === "main" ? 1 : a.id < b.id ? -1 : 1));
    for (const thread of children) {
      rows.push({ thread, depth, children: below.get(thread.id)?.length ?? 0 });
      if (!closed.has(thread.id)) walk(thread.id, depth + 1);
    }
  };
  walk("", 0);
  return rows;
}

/** The reason of a thread whose turn was stopped: it goes on with the next message. */
const STOPPED = "its last turn was cancelled";

/** A person stopped its last turn. */
const isStopped = (thread: Thread) => thread.status === "waiting" && thread.reason === STOPPED;

/** Why a thread cannot go on; absent: it can. One that waits with a reason does not wait because it wants to, unless a person stopped it. */
export function stuck(thread: Thread): string | undefined {
  return thread.status === "waiting" && thread.reason && !isStopped(thread) ? thread.reason : undefined;
}

/** For whom or what a thread waits, in words. */
export function waitsFor(thread: Thread): string {
  const gathering = thread.gatherings[0];
  if (gathering) return `${gathering.back} of ${gathering.of}`;
  if (isStopped(thread)) return "a message: its last turn was stopped";
  if (thread.waiting_for) return thread.waiting_for;
  return thread.status === "waiting" || thread.status === "idle" ? "a message" : "";
}

/** What a thread is called, beside its id: its title, or what is wanted of a mission; nothing where that only repeats the id. */
export function nameOf(thread: Thread): string {
  const name = thread.title || thread.mission?.mission || "";
  return name === short(thread.id) ? "" : name;
}

/** What people call a thread: its title, what is wanted of it, or its id, where that is not made of digits. */
export function titleOf(id: string, thread: Thread | undefined): string {
  const name = thread ? nameOf(thread) : "";
  if (name) return name;
  const [kind, digits = "", ...rest] = id.split(".");
  if ((kind !== "missions" && kind !== "runs") || !/^[0-9a-f]{32}$/.test(digits)) return id;
  const what = `${kind === "runs" ? "run" : "mission"} …${digits.slice(-6)}`;
  return rest.length ? `${rest.join(".")} of ${what}` : what;
}

/** The state of a thread and, where it has ended, its outcome: two words. */
export function threadMark(thread: Thread): { sign: string; role: Role; word: string; outcome: string } {
  if (stuck(thread)) return { sign: "alert", role: "fail", word: "cannot go on", outcome: "" };
  if (isStopped(thread)) return { sign: "stop", role: "system", word: "stopped", outcome: "" };
  const ended = ["done", "failed", "stopped"].includes(thread.status);
  if (!ended) return { ...(STATES[thread.status] ?? { sign: "system", role: "system", word: thread.status }), outcome: "" };
  const outcome = thread.outcome ?? (thread.status === "done" ? "" : thread.status);
  const [sign, role, word] = OUTCOMES[outcome] ?? ["pass", "system", ""];
  return { sign, role, word: "ended", outcome: word };
}

const STATES: Record<string, { sign: string; role: Role; word: string }> = { thinking: { sign: "run", role: "ok", word: "thinking" }, waiting: { sign: "timer", role: "system", word: "waits" }, idle: { sign: "pass", role: "system", word: "idle" } };
const OUTCOMES: Record<string, [sign: string, role: Role, word: string]> = { complete: ["ok", "ok", "solved"], partial: ["alert", "late", "solved in part"], failed: ["fail", "fail", "failed"], stopped: ["stop", "system", "stopped"] };

/** The last part of an id. */
export const short = (id: string) => id.split(".").at(-1) ?? id;

/** All threads below one, however deep, that have not ended. */
export function openBelow(threads: readonly Thread[], id: string): Thread[] {
  const parents = new Map(threads.map((thread) => [thread.id, thread.parent]));
  const isBelow = (of: string) => {
    const seen = new Set<string>();
    for (let up = parents.get(of); up && !seen.has(up); up = parents.get(up)) {
      if (up === id) return true;
      seen.add(up);
    }
    return false;
  };
  return threads.filter((thread) => !isOver(thread) && isBelow(thread.id));
}

/** The missions among threads: those at work first, then the newest. */
export function missionsOf(threads: readonly Thread[]): Thread[] {
  const missions = threads.filter((thread) => thread.mission);
  return missions.sort((a, b) => Number(isOver(a)) - Number(isOver(b)) || (a.id < b.id ? 1 : -1));
}

/** A mission has ended, one way or another. */
export function isOver(mission: Thread): boolean {
  return ["done", "failed", "stopped"].includes(mission.status);
}
