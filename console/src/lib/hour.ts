// The last hour of the whole space, from the beginnings and ends of turns and from messages between threads. What was before the page is read from the log, the newest first.
import { type AnyEvent, numberOf, tagOf, tagged } from "./events.ts";
import { at } from "./format.ts";
import type { Brief, Glance, Message } from "./recent.ts";
import { keyOf } from "./turns.ts";

export const HOUR = 3_600_000;
/** The tags of what it is made of. */
export const TAGS = ["turn", "message", "input"];
/** Most turns, messages and inputs that are kept, of each. */
const MOST = 10_000;

/** What happened in the last hour, kept from look to look. */
export class Hour {
  #turns = new Map<string, Brief>();
  #messages = new Map<number, Message>();
  #inputs = new Map<number, number>();

  /** Takes events, in any order; what is of no use here is left out. */
  add(events: readonly AnyEvent[]): void {
    for (const event of events) {
      const t = at(event.ts);
      if (tagged(event, "input")) this.#inputs.set(event.seq, t);
      else if (tagged(event, "message")) this.#messages.set(event.seq, { seq: event.seq, t, from: tagOf(event, "from:") ?? event.thread, to: event.thread });
      else if (event.meta.tags[0] === "turn") this.#bound(event, t);
    }
  }

  #bound(event: AnyEvent, t: number): void {
    const n = numberOf(event, "turn");
    if (n === undefined) return;
    const key = keyOf(event.thread, n);
    const turn = this.#turns.get(key) ?? { key, thread: event.thread, n, from: t, to: t, end: undefined, inputs: [], strokes: [] };
    this.#turns.set(key, turn);
    if (tagged(event, "ended")) turn.end = turn.to = t;
    else turn.from = t;
  }

  /** Looks at the hour before `now` (milliseconds since 1970). Turns that `recent` has are better known there, and all that are at work are in it. */
  look(recent: Glance, now: number): Glance {
    forget(this.#turns, ({ to }) => to, now);
    forget(this.#messages, ({ t }) => t, now);
    forget(this.#inputs, (t) => t, now);
    const known = new Set(recent.turns.map(({ key }) => key));
    return { turns: [...[...this.#turns.values()].filter(({ key }) => !known.has(key)), ...recent.turns], messages: [...this.#messages.values()], inputs: [...this.#inputs.values()] };
  }
}

/** Lets go of what is older than the hour, and of the oldest beyond the most. */
function forget<K, V>(kept: Map<K, V>, moment: (value: V) => number, now: number): void {
  for (const [key, value] of kept) if (moment(value) < now - HOUR) kept.delete(key);
  if (kept.size <= MOST) return;
  const oldest = [...kept].sort((a, b) => moment(a[1]) - moment(b[1])).slice(0, kept.size - MOST);
  for (const [key] of oldest) kept.delete(key);
}
