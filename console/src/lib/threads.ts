// The tree of threads: who is below whom, who waits for whom, and which cannot go on.
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

/** Why a thread cannot go on; absent: it can. One that waits with a reason does not wait because it wants to. */
export function stuck(thread: Thread): string | undefined {
  return thread.status === "waiting" && thread.reason ? thread.reason : undefined;
}

/** For whom or what a thread waits, in words. */
export function waitsFor(thread: Thread): string {
  const gathering = thread.gatherings[0];
  if (gathering) return `${gathering.back} of ${gathering.of}`;
  if (thread.waiting_for) return thread.waiting_for;
  return thread.status === "waiting" || thread.status === "idle" ? "anybody" : "";
}

/** What a thread is called, beside its id: its title, or what is wanted of a mission; nothing where that only repeats the id. */
export function nameOf(thread: Thread): string {
  const name = thread.title || thread.mission?.mission || "";
  return name === short(thread.id) ? "" : name;
}

/** The last part of an id. */
export const short = (id: string) => id.split(".").at(-1) ?? id;
