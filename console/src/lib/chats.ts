// Conversations as a list: each with its branches, its last line, and what waits or is unread in it.
import { type AnyEvent, tagged, textOf } from "./events.ts";
import { plain } from "./format.ts";
import type { Thread } from "./threads.ts";

/** A line of a conversation, as `GET /threads?lines=true` has it. */
export interface ChatLine {
  seq: number;
  ts: string;
  by: "person" | "mind";
  text: string;
}

/** The first and the last line of a thread; absent: nothing was said, or the server does not tell. */
export interface Lines {
  first?: ChatLine | null | undefined;
  last?: ChatLine | null | undefined;
}

/** A conversation: the thread that it began as, with all its branches. */
export interface Chat {
  root: Thread;
  branches: Thread[];
  /** The branch in which something was said last. */
  newest: Thread;
  last: ChatLine | undefined;
  waits: number;
  unread: boolean;
}

/** Facts about threads that are not in the list of threads. */
export interface About {
  lines: ReadonlyMap<string, Lines>;
  /** The last seq of a thread that was seen here. */
  seen: (thread: string) => number;
  /** So many requests of a thread wait for people. */
  waits: ReadonlyMap<string, number>;
}

const short = (text: string) => plain(text.slice(0, 400), 60);

/** The title of a thread: the one that it was given, else its first words, else its id. */
export function titleOf(thread: Pick<Thread, "id" | "title">, lines: Lines | undefined): string {
  return (thread.title && short(thread.title)) || (lines?.first && short(lines.first.text)) || thread.id;
}

/** The title that a thread was given, else its first words, not shortened to the width of a list; empty: it has neither. */
export const wholeTitleOf = (thread: Pick<Thread, "title">, lines: Lines | undefined) => plain(thread.title || lines?.first?.text || "", 300);

/** The thread that a branch began as, as far as the list has it. */
export function rootOf(threads: ReadonlyMap<string, Thread>, thread: Thread): Thread {
  const seen = new Set<string>();
  let root = thread;
  for (let from = root.forked_from?.thread; from !== undefined && !seen.has(from); from = root.forked_from?.thread) {
    seen.add(from);
    const before = threads.get(from);
    if (!before) break;
    root = before;
  }
  return root;
}

/** The conversations among threads, the one that was spoken in last first. Of very many it is asked again and again: titles are made of those that are shown. */
export function chatsOf(threads: readonly Thread[], { lines, seen, waits }: About): Chat[] {
  const known = new Map(threads.map((thread) => [thread.id, thread]));
  const chats = new Map<string, Chat & { order: number }>();
  for (const thread of threads) {
    // Threads of runs and missions are no conversations, whatever their kind says.
    if (thread.kind !== "conversation" || thread.id.startsWith("runs.") || thread.id.startsWith("missions.")) continue;
    const root = thread.forked_from ? rootOf(known, thread) : thread;
    let chat = chats.get(root.id);
    if (!chat) chats.set(root.id, (chat = { root, branches: [], newest: thread, last: undefined, waits: 0, unread: false, order: 0 }));
    const last = lines.get(thread.id)?.last ?? undefined;
    if (last && last.seq > (chat.last?.seq ?? 0)) [chat.last, chat.newest] = [last, thread];
    else if (!chat.last && thread === root) chat.newest = thread;
    chat.branches.push(thread);
    chat.waits += waits.get(thread.id) ?? 0;
    chat.unread ||= last?.by === "mind" && last.seq > seen(thread.id);
    chat.order = chat.last?.seq ?? Math.max(chat.order, thread.head);
  }
  return [...chats.values()].sort((a, b) => b.order - a.order);
}

/** The words that a title is looked for by, as they were written. */
export function hasWords({ root }: Chat, lines: ReadonlyMap<string, Lines>, words: string): boolean {
  const title = root.title || lines.get(root.id)?.first?.text.slice(0, 200) || "";
  return `${title} ${root.id}`.toLowerCase().includes(words.toLowerCase());
}

/** A branch in its place below the one that it was made from. */
export interface Branch {
  thread: Thread;
  depth: number;
}

/** The branches of the conversation that a thread belongs to, each below the one it was made from. */
export function branchTree(threads: readonly Thread[], id: string): Branch[] {
  const known = new Map(threads.map((thread) => [thread.id, thread]));
  const thread = known.get(id);
  if (!thread) return [];
  const below = new Map<string, Thread[]>();
  for (const one of threads) if (one.forked_from) below.set(one.forked_from.thread, [...(below.get(one.forked_from.thread) ?? []), one]);
  const rows: Branch[] = [];
  const placed = new Set<string>();
  const place = (one: Thread, depth: number) => {
    if (placed.has(one.id)) return;
    placed.add(one.id);
    rows.push({ thread: one, depth });
    for (const fork of (below.get(one.id) ?? []).sort((a, b) => a.forked_from!.at - b.forked_from!.at || (a.id < b.id ? -1 : 1))) place(fork, depth + 1);
  };
  place(rootOf(known, thread), 0);
  return rows;
}

/** The line of a list that an event is; absent: it is none. */
export function lineOf(event: AnyEvent): ChatLine | undefined {
  if (!tagged(event, "type:message") && !tagged(event, "response")) return undefined;
  return { seq: event.seq, ts: event.ts, by: tagged(event, "response") ? "mind" : "person", text: textOf(event).slice(0, 200) || `[${event.modality}]` };
}

/** A thread in which no turn comes any more. */
export const hasEnded = ({ status }: Pick<Thread, "status">) => ["done", "failed", "stopped"].includes(status);

/** Why no message of a thread can be changed and no other answer asked for, as the server would refuse it; empty: both can. */
export function shutBy(thread: Pick<Thread, "status" | "kind" | "archived"> | undefined, may: boolean): string {
  if (!may) return "This key may look. To change a message, or to ask again, needs the role member.";
  if (!thread || thread.kind === "mission" || thread.kind === "pipeline") return thread ? "Messages of a mission or a run stay as they are." : "";
  if (hasEnded(thread)) return "This chat has ended: its messages stay as they are, and no other answer can be asked for.";
  return thread.archived ? "This chat is in the archive: its messages stay as they are until it is taken out. A new message takes it out, too." : "";
}
