// Branches of a talk: threads that go on from the same place, one of which the others were forked from.
import type { Schemas } from "../../../client/src/index.ts";
import { type AnyEvent, partOf, tagged } from "./events.ts";

/** The part of a thread that says its forks, and which thread it is a fork of. */
export type Forks = Pick<Schemas.Thread, "id" | "forked_from" | "forks">;

/** Most threads that are read for the branches of one talk. */
const MOST = 100;

/** The branches at a message of `thread` before which the turn with the end `at` stands: the thread that was forked, then its forks. */
export function siblings(threads: ReadonlyMap<string, Forks>, thread: string, at: number): string[] {
  const found = [originOf(threads, thread, at)];
  // Without a past a fork of a fork leaves the fork; with one, it leaves the thread that has the end.
  for (const id of found) for (const fork of threads.get(id)?.forks ?? []) if (fork.at === at) found.push(fork.thread);
  // Of very many forks the server lists the first ones.
  return found.includes(thread) ? found : [...found, thread];
}

function originOf(threads: ReadonlyMap<string, Forks>, thread: string, at: number): string {
  const from = threads.get(thread)?.forked_from;
  return from?.at === at && from.thread !== thread ? originOf(threads, from.thread, at) : thread;
}

/** Reads all that `siblings` needs for messages of these threads. */
export async function readForks(ids: readonly string[], get: (id: string) => Promise<Forks>): Promise<Map<string, Forks>> {
  const known = new Map<string, Forks>();
  for (let wanted = new Set(ids); wanted.size > 0 && known.size < MOST; ) {
    const read = await Promise.all([...wanted].slice(0, MOST - known.size).map(get));
    for (const thread of read) known.set(thread.id, thread);
    wanted = new Set(read.flatMap(({ forked_from, forks = [] }) => [...(forked_from ? [forked_from.thread] : []), ...forks.filter(({ at }) => at === 0).map(({ thread }) => thread)]).filter((id) => !known.has(id)));
  }
  return known;
}

/** True of the event with which a fork begins. */
export function isFork(event: AnyEvent): boolean {
  return tagged(event, "set:thread") && "forked" in partOf(event, "change");
}
