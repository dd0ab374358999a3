// Five minutes of the whole space: threads as lanes, turns as boxes, messages as strokes between them. Beyond so many lanes those of one parent share one.
import { type AnyEvent, tagOf, tagged } from "./events.ts";
import { at } from "./format.ts";
import { type Turn, begin, lastMoment, turnsOf } from "./turns.ts";

/** A lane of the span: a thread, or several of one parent. */
export interface SpanLane {
  name: string;
  threads: string[];
  turns: Turn[];
}

/** A message from one lane to another. */
export interface Pulse {
  from: number;
  to: number;
  /** Milliseconds since 1970. */
  t: number;
  event: AnyEvent;
}

export interface SpanPicture {
  lanes: SpanLane[];
  pulses: Pulse[];
  start: number;
  end: number;
}

/** From so many lanes on, siblings share one. */
const MOST = 14;

/** Lays out what happened between `end - ms` and `end`. */
export function spanOf(events: readonly AnyEvent[], end: number, ms: number): SpanPicture {
  const start = end - ms;
  const turns = [...turnsOf(events).values()].filter((turn) => Math.max(lastMoment(turn), turn.end ?? end) >= start && begin(turn) <= end);
  const messages = events.filter((event) => tagged(event, "message") && at(event.ts) >= start);
  const threads = new Set([...turns.map((turn) => turn.thread), ...messages.flatMap((event) => [event.thread, tagOf(event, "from:") ?? event.thread])]);
  const lanes = lanesOf([...threads].sort((a, b) => (a === "main" ? -1 : b === "main" ? 1 : a < b ? -1 : 1)));
  const place = new Map(lanes.flatMap((lane, i) => lane.threads.map((thread) => [thread, i] as const)));
  for (const turn of turns) lanes[place.get(turn.thread)!]!.turns.push(turn);
  const pulses = messages.map((event) => ({ from: place.get(tagOf(event, "from:") ?? event.thread)!, to: place.get(event.thread)!, t: at(event.ts), event }));
  return { lanes, pulses, start, end };
}

function lanesOf(threads: string[]): SpanLane[] {
  if (threads.length <= MOST) return threads.map((thread) => ({ name: thread, threads: [thread], turns: [] }));
  const lanes = new Map<string, SpanLane>();
  for (const thread of threads) {
    const parent = thread.includes(".") ? thread.slice(0, thread.lastIndexOf(".")) : "";
    const alone = parent === "" || threads.some((other) => other.startsWith(`${thread}.`));
    const key = alone ? thread : `${parent}.*`;
    const lane = lanes.get(key) ?? { name: key, threads: [], turns: [] };
    lane.threads.push(thread);
    lanes.set(key, lane);
  }
  for (const lane of lanes.values()) if (lane.threads.length > 1) lane.name = `${lane.name.replace(/\.\*$/, "")}, ${lane.threads.length} below`;
  return [...lanes.values()].slice(0, 60);
}
