// A window on the log that a view looks through, joined to the session's live events.
import { onDestroy } from "svelte";
import type { AnyEvent } from "./events.ts";
import { type Where, session } from "./session.svelte.ts";
import { EventWindow } from "./window.ts";

/** A window and its version, which counts up whenever it has changed. */
export class LiveWindow {
  rev = $state(0);
  readonly window: EventWindow;
  readonly #stop: () => void;
  readonly #events = $derived.by(() => (void this.rev, this.window.store.events.slice()));

  constructor(where: Where, matches: (event: AnyEvent) => boolean, around?: number) {
    this.window = new EventWindow((ask, signal) => session.history(where, ask, signal), matches, () => (this.rev += 1));
    this.#stop = session.listen((events) => this.window.push(events));
    session.opening += 1;
    void this.window.open(around).finally(() => (session.opening -= 1));
  }

  /** The events of now: another list whenever it has changed. */
  get events(): readonly AnyEvent[] {
    return this.#events;
  }

  get problem(): unknown {
    void this.rev;
    return this.window.problem;
  }

  get loading(): boolean {
    void this.rev;
    return this.window.loading;
  }

  /** The first pages are under way. */
  get opening(): boolean {
    void this.rev;
    return this.window.opening;
  }

  /** There may be older events at the server. */
  get older(): boolean {
    void this.rev;
    return this.window.older;
  }

  /** There may be newer events at the server: the window is not at the live end. */
  get newer(): boolean {
    void this.rev;
    return this.window.newer;
  }

  close(): void {
    this.#stop();
    this.window.close();
  }
}

/** A window for as long as a component lives; another one whenever its key changes. */
export function liveWindow(key: () => string, make: () => LiveWindow): { readonly current: LiveWindow } {
  let open: { key: string; window: LiveWindow } | undefined;
  let current = $state.raw<LiveWindow>(undefined as unknown as LiveWindow);
  const use = (wanted: string) => {
    if (open?.key === wanted) return;
    open?.window.close();
    open = { key: wanted, window: make() };
    current = open.window;
  };
  use(key());
  $effect.pre(() => use(key()));
  onDestroy(() => open?.window.close());
  return {
    get current() {
      return current;
    },
  };
}
