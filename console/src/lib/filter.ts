// What a list of events is narrowed to: the same in the address, in a request and for events that come live.
import { type AnyEvent, isHidden } from "./events.ts";
import { hasTurns } from "./turns.ts";

/** A filter of the log. */
export interface LogFilter {
  thread: string;
  subtree: boolean;
  /** Names of chips: input, submodules, decision, tools, failures. */
  kinds: string[];
  /** Tags as they stand in the log. */
  tags: string[];
  /** Words, all of which are to be there. */
  q: string;
  debug: boolean;
}

/** Reads a filter from an address. */
export function readFilter(query: Record<string, string>): LogFilter {
  const list = (name: string) => (query[name] ?? "").split(",").filter(Boolean);
  const subtree = query.subtree !== undefined && query.subtree !== "false";
  return { thread: query.thread ?? "", subtree, kinds: list("kinds"), tags: list("tags"), q: query.q ?? "", debug: query.debug === "1" };
}

/** Writes it back; what is not set is not there. */
export function writeFilter(filter: LogFilter): Record<string, string> {
  const { thread, subtree, kinds, tags, q, debug } = filter;
  return { thread, subtree: thread && subtree ? "1" : "", kinds: kinds.join(","), tags: tags.join(","), q, debug: debug ? "1" : "" };
}

/** The tags that a filter asks the server for. `voices` are named, because the log has no tag for all of them. */
export function tagsOf(filter: LogFilter, voices: readonly string[]): string[] {
  const tags = [...filter.tags];
  for (const kind of filter.kinds) {
    if (kind === "input") tags.push("input");
    else if (kind === "decision") tags.push("decision", "response");
    else if (kind === "tools") tags.push("action", "result");
    else if (kind === "failures") tags.push("failure");
    else if (kind === "voices") tags.push(...voices.slice(0, 24).map((name) => `submodule:${name}`));
  }
  return [...new Set(tags)].slice(0, 32);
}

/** Whether an event that comes live belongs into the list. Words are only looked for as parts of its text: the server knows better, and is asked on the next page. */
export function matches(event: AnyEvent, filter: LogFilter, tags: readonly string[]): boolean {
  const { thread, subtree, q, debug } = filter;
  if (thread && event.thread !== thread && !(subtree && event.thread.startsWith(`${thread}.`))) return false;
  const own = event.meta.tags.map((tag) => tag.toLowerCase());
  if (!debug && own.includes("debug") && !tags.some((tag) => tag.toLowerCase() === "debug")) return false;
  if (tags.length > 0 && !tags.some((tag) => own.includes(tag.toLowerCase()))) return false;
  const text = (event.payload.text ?? "").toLowerCase();
  return q.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** A row of the log: an event, and of a result the action that stands in the same row. */
export interface Row {
  event: AnyEvent;
  action: AnyEvent | undefined;
}

/** The rows of a list, newest first: actions go into the row of their result, and the reply's action is not shown. */
export function rowsOf(events: readonly AnyEvent[]): Row[] {
  const actions = new Map<string, AnyEvent>();
  const settled = new Set<string>();
  const key = (event: AnyEvent) => `${event.thread} ${String(event.payload.call_id)}`;
  for (const event of events) {
    if (event.meta.tags.includes("action")) actions.set(key(event), event);
    else if (event.meta.tags.includes("result")) settled.add(key(event));
  }
  const rows: Row[] = [];
  for (let i = events.length - 1; i >= 0; i -= 1) {
    const event = events[i]!;
    if (isHidden(event)) continue;
    if (event.meta.tags.includes("action")) {
      if (!settled.has(key(event))) rows.push({ event, action: undefined });
    } else rows.push({ event, action: event.meta.tags.includes("result") ? actions.get(key(event)) : undefined });
  }
  return rows;
}

/** A list with a band above the rows of each turn. */
export type Entry = { kind: "row"; row: Row; key: string } | { kind: "band"; thread: string; turn: number; key: string };

/** Puts the bands of turns into rows. What belongs to no turn stands under the band before it, where that is of its thread. */
export function bandsOf(rows: readonly Row[]): Entry[] {
  const out: Entry[] = [];
  let open = "";
  for (const row of rows) {
    const turn = row.event.payload.turn;
    const name = typeof turn === "number" ? `${row.event.thread} ${turn}` : open.startsWith(`${row.event.thread} `) ? open : "";
    if (typeof turn === "number" && turn > 0 && hasTurns(row.event.thread) && name !== open) out.push({ kind: "band", thread: row.event.thread, turn, key: `band ${row.event.seq}` });
    open = name;
    out.push({ kind: "row", row, key: String(row.event.seq) });
  }
  return out;
}

/** One row for every event, as they are, newest first. */
export function rawRowsOf(events: readonly AnyEvent[]): Row[] {
  return events.map((event) => ({ event, action: undefined })).reverse();
}
