// The log as far as the page has it: events by seq, in order, without duplicates, and which are missing between.
import type { AnyEvent } from "./events.ts";

/** Most events that a store keeps. */
export const MOST = 20_000;

/** Events in the order of `seq`. */
export class EventStore {
  /** In order. Not to be changed from outside. */
  readonly events: AnyEvent[] = [];
  readonly #bySeq = new Map<number, AnyEvent>();
  readonly #most: number;

  constructor(most = MOST) {
    this.#most = most;
  }

  get oldest(): number | undefined {
    return this.events[0]?.seq;
  }

  get newest(): number | undefined {
    return this.events.at(-1)?.seq;
  }

  get size(): number {
    return this.events.length;
  }

  at(seq: number): AnyEvent | undefined {
    return this.#bySeq.get(seq);
  }

  /** Takes events in, in any order. Those that are there already are dropped. Says how many were new. Beyond the limit the far end goes: `keep` says which end stays. */
  add(events: readonly AnyEvent[], keep: "newest" | "oldest" = "newest"): number {
    let added = 0;
    let sorted = true;
    for (const event of events) {
      if (this.#bySeq.has(event.seq)) continue;
      if (event.seq < (this.newest ?? 0)) sorted = false;
      this.#bySeq.set(event.seq, event);
      this.events.push(event);
      added += 1;
    }
    if (!sorted) this.events.sort((a, b) => a.seq - b.seq);
    this.#trim(keep);
    return added;
  }

  /** How many seqs between the oldest and the newest are not here. 0: no gap. */
  missing(): number {
    const { oldest, newest } = this;
    return oldest === undefined || newest === undefined ? 0 : newest - oldest + 1 - this.size;
  }

  /** The first hole: the last seq before it, and the first behind it. */
  hole(): { after: number; before: number } | undefined {
    if (this.missing() === 0) return undefined;
    for (let i = this.events.length - 1; i > 0; i -= 1) {
      const [left, right] = [this.events[i - 1]!.seq, this.events[i]!.seq];
      if (right - left > 1) return { after: left, before: right };
    }
    return undefined;
  }

  /** Keeps so many of the newest. */
  keep(newest: number): void {
    for (const { seq } of this.events.splice(0, this.events.length - newest)) this.#bySeq.delete(seq);
  }

  clear(): void {
    this.events.length = 0;
    this.#bySeq.clear();
  }

  #trim(keep: "newest" | "oldest"): void {
    const over = this.events.length - this.#most;
    if (over <= 0) return;
    const gone = keep === "newest" ? this.events.splice(0, over) : this.events.splice(this.#most, over);
    for (const { seq } of gone) this.#bySeq.delete(seq);
  }
}
