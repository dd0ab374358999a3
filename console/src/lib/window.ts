// A list of events that is paged from the server at its old end and grows live at its new end. Log, chat and lanes each look through one.
import type { AnyEvent } from "./events.ts";
import { EventStore, MOST } from "./store.ts";

/** One request for events; `order` says from which end. */
export interface Ask {
  before?: number;
  after?: number;
  order: "asc" | "desc";
  limit: number;
}

/** How events are fetched: the filter is the caller's. */
export type Fetch = (ask: Ask, signal: AbortSignal) => Promise<AnyEvent[]>;

/** Events in a page, and in the first one of a window at its live end: the sooner it is here, the sooner there is something to read. */
export const PAGE = 250;
export const FIRST = 120;

/** A window that nobody scrolls keeps so many of the newest events, and lets go of older ones once it has half as many more. */
export const NEAR = 1_000;

/** A window on the log. */
export class EventWindow {
  readonly store: EventStore;
  /** There may be older events at the server. */
  older = true;
  /** There may be newer events at the server: the window is not at the live end. */
  newer = false;
  loading = false;
  /** It is looked at from its live end: what is folded ten times a second is no more than the newest events. */
  near = true;
  /** The first pages are under way: what is around a seq is not all here. */
  opening = false;
  /** Why the last page did not come. */
  problem: unknown;
  readonly #fetch: Fetch;
  readonly #matches: (event: AnyEvent) => boolean;
  readonly #abort = new AbortController();
  readonly #changed: () => void;

  constructor(fetch: Fetch, matches: (event: AnyEvent) => boolean, changed: () => void, most = MOST) {
    this.#fetch = fetch;
    this.#matches = matches;
    this.#changed = changed;
    this.store = new EventStore(most);
  }

  /** Loads the newest events, or those around a seq. */
  async open(around?: number): Promise<void> {
    this.opening = true;
    if (around === undefined) await this.#load({ order: "desc", limit: FIRST }, "older");
    else {
      this.newer = true;
      await this.#load({ order: "desc", limit: PAGE, before: around + 1 }, "older");
      // What matches and is newer comes after what was found: `around` may be beyond the log's end, which cannot be asked for.
      if (this.problem === undefined) await this.#load({ order: "asc", limit: PAGE, after: this.store.newest ?? 0 }, "newer");
    }
    this.opening = false;
    if (!this.#abort.signal.aborted) this.#changed();
  }

  /** Loads what is before the oldest. */
  async loadOlder(): Promise<void> {
    const { oldest } = this.store;
    if (this.older && !this.loading && oldest !== undefined) await this.#load({ order: "desc", limit: PAGE, before: oldest }, "older");
  }

  /** Loads what is after the newest, while the window is not at the live end. */
  async loadNewer(): Promise<void> {
    const { newest } = this.store;
    if (this.newer && !this.loading && newest !== undefined) await this.#load({ order: "asc", limit: PAGE, after: newest }, "newer");
  }

  /** Takes live events in. Those that a window in the past does not reach are left to its next page. */
  push(events: readonly AnyEvent[]): void {
    if (this.newer) return;
    const mine = events.filter(this.#matches);
    if (mine.length === 0 || this.store.add(mine) === 0) return;
    if (this.near && this.store.size > NEAR * 1.5) {
      this.store.keep(NEAR);
      this.older = true;
    }
    this.#changed();
  }

  /** No more pages: answers that are under way are dropped. */
  close(): void {
    this.#abort.abort();
  }

  async #load(ask: Ask, end: "older" | "newer"): Promise<void> {
    this.loading = true;
    this.#changed();
    try {
      const events = await this.#fetch(ask, this.#abort.signal);
      if (this.#abort.signal.aborted) return;
      const before = this.store.newest;
      this.store.add(events, end === "older" ? "oldest" : "newest");
      if (end === "older") this.older = events.length >= ask.limit;
      else this.newer = events.length >= ask.limit;
      // A full window that went on into the past has let go of its live end.
      if (before !== undefined && (this.store.newest ?? 0) < before) this.newer = true;
      this.problem = undefined;
    } catch (error) {
      if (!this.#abort.signal.aborted) this.problem = error;
    } finally {
      this.loading = false;
      if (!this.#abort.signal.aborted) this.#changed();
    }
  }
}
