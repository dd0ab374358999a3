// Replies that are being written: their deltas, joined by event_id until the event comes. Hints only; the log has the last word.

import type { AnyEvent } from "./events.js";
import type { Delta, DeltaEnd } from "./frames.js";

/** A reply as far as it has come. */
export interface Draft {
  event_id: string;
  thread: string;
  /** What has come, from the beginning up to the first hole. */
  text: string;
  /** A piece is missing: `text` is not going on, and the event will have it all. */
  hole: boolean;
  /** `open` while it is written; `partial`: cut off, the event follows; `gone`: forget it. An event replaces it without another call. */
  state: "open" | "partial" | "gone";
}

/** More replies at a time than any space writes; beyond it the oldest draft goes. */
const MOST = 256;

/** The drafts of one subscription. */
export class Drafts {
  readonly #drafts = new Map<string, Draft & { length: number }>();

  /** Takes a piece in. */
  delta({ event_id, thread, at, text }: Delta): Draft {
    const draft = this.#drafts.get(event_id) ?? { event_id, thread, text: "", hole: false, state: "open" as const, length: 0 };
    this.#drafts.set(event_id, draft);
    if (this.#drafts.size > MOST) this.#drafts.delete(this.#drafts.keys().next().value!);
    if (at < draft.length) {
      draft.text = Array.from(draft.text).slice(0, at).join("");
      draft.length = at;
    }
    draft.hole = at !== draft.length;
    if (!draft.hole) {
      draft.text += text;
      for (const _ of text) draft.length += 1;
    }
    return shown(draft);
  }

  /** Takes the end of the pieces in. */
  end({ event_id, outcome }: DeltaEnd): Draft | undefined {
    const draft = this.#drafts.get(event_id);
    if (!draft || outcome === "stored") return undefined;
    if (outcome === "discarded") this.#drafts.delete(event_id);
    draft.state = outcome === "discarded" ? "gone" : "partial";
    return shown(draft);
  }

  /** Takes an event in: the reply itself replaces its draft; with the end of a turn the drafts of its thread are gone. */
  event(event: AnyEvent): Draft[] {
    this.#drafts.delete(event.event_id);
    const [first, second] = event.meta.tags;
    return first === "turn" && second === "ended" ? this.#drop((draft) => draft.thread === event.thread) : [];
  }

  /** The connection is lost: pieces may be missing from now on. */
  broken(): Draft[] {
    for (const draft of this.#drafts.values()) draft.hole = true;
    return Array.from(this.#drafts.values(), shown);
  }

  /** The log is another one: all drafts are gone. */
  clear(): Draft[] {
    return this.#drop(() => true);
  }

  #drop(which: (draft: Draft) => boolean): Draft[] {
    const gone = [...this.#drafts.values()].filter(which);
    for (const draft of gone) {
      this.#drafts.delete(draft.event_id);
      draft.state = "gone";
    }
    return gone.map(shown);
  }
}

const shown = ({ event_id, thread, text, hole, state }: Draft): Draft => ({ event_id, thread, text, hole, state });
