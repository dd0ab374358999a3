// Five minutes of the whole space: threads as lanes, turns as boxes, messages as strokes between them. Beyond so many lanes those of one parent share one, and beyond so
// many boxes a lane is a band: how many turns were at work at once.
import type { Brief, Glance, Message } from "./recent.ts";

/** A lane of the span: a thread, or several of one parent. */
export interface SpanLane {
  name: string;
  threads: string[];
  turns: Brief[];
  /** Where there are too many turns for boxes. */
  band: Band | undefined;
}

/** How many turns were at work at once, over the span. */
export interface Band {
  /** At most at once. */
  most: number;
  /** The outline: the span is 1000 wide, and the most is 100 high. */
  d: string;
}

/** A message from one lane to another. */
export interface Pulse extends Pick<Message, "t"> {
  from: number;
  to: number;
}

export interface SpanPicture {
  lanes: SpanLane[];
  pulses: Pulse[];
  inputs: number[];
  start: number;
  end: number;
}

/** From so many lanes on, siblings share one. */
const SHARED = 14;
const MOST = 60;
/** Most boxes in a lane, and in all. */
const BOXES = 60;
const ALL = 400;
/** A band has so many steps. */
const STEPS = 150;

/** Lays out what happened between `end - ms` and `end`. */
export function spanOf({ turns, messages, inputs }: Glance, end: number, ms: number): SpanPicture {
  const start = end - ms;
  const seen = turns.filter((turn) => turn.to >= start && turn.from <= end);
  const sent = messages.filter(({ t }) => t >= start);
  const threads = new Set([...seen.map((turn) => turn.thread), ...sent.flatMap(({ from, to }) => [from, to])]);
  const lanes = lanesOf([...threads].sort((a, b) => (a === "main" ? -1 : b === "main" ? 1 : a < b ? -1 : 1)));
  const place = new Map(lanes.flatMap((lane, i) => lane.threads.map((thread) => [thread, i] as const)));
  for (const turn of seen) lanes[place.get(turn.thread) ?? -1]?.turns.push(turn);
  const most = Math.min(BOXES, Math.floor(ALL / Math.max(1, lanes.length)));
  for (const lane of lanes) if (lane.turns.length > most) lane.band = bandOf(lane.turns, start, ms);
  const pulses = sent.flatMap(({ from, to, t }) => {
    const [a, b] = [place.get(from), place.get(to)];
    return a === undefined || b === undefined ? [] : [{ from: a, to: b, t }];
  });
  return { lanes, pulses, inputs: inputs.filter((t) => t >= start), start, end };
}

function lanesOf(threads: string[]): SpanLane[] {
  const lane = (name: string, of: string[]): SpanLane => ({ name, threads: of, turns: [], band: undefined });
  if (threads.length <= SHARED) return threads.map((thread) => lane(thread, [thread]));
  const parents = new Set(threads.map(parentOf));
  const lanes = new Map<string, SpanLane>();
  for (const thread of threads) {
    const parent = parentOf(thread);
    const key = parent === "" || parents.has(thread) ? thread : `${parent}.*`;
    const known = lanes.get(key) ?? lane(key, []);
    lanes.set(key, known);
    known.threads.push(thread);
  }
  for (const one of lanes.values()) if (one.threads.length > 1) one.name = `${one.name.replace(/\.\*$/, "")}, ${one.threads.length} below`;
  return [...lanes.values()].slice(0, MOST);
}

const parentOf = (thread: string) => thread.slice(0, Math.max(0, thread.lastIndexOf(".")));

/** Steps stand at round moments, so that they do not change as the span moves on. */
function bandOf(turns: readonly Brief[], start: number, ms: number): Band {
  const step = ms / STEPS;
  const first = Math.floor(start / step);
  const counts = new Uint32Array(STEPS + 1);
  for (const { from, to } of turns) {
    const last = Math.min(STEPS, Math.floor(to / step) - first);
    for (let i = Math.max(0, Math.floor(from / step) - first); i <= last; i += 1) counts[i]! += 1;
  }
  const most = Math.max(...counts);
  const x = (i: number) => Math.max(0, Math.round((((first + i) * step - start) / ms) * 1000));
  let d = "M0 100";
  counts.forEach((count, i) => (d += `H${x(i)}V${Math.round(100 - (count / most) * 100)}`));
  return { most, d: `${d}H1000V100Z` };
}
