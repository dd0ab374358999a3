// The last five minutes of the whole space: turns as strokes, and messages between threads. Each event is taken once, as it comes, and a turn that is over is folded
// and laid out once, so that a look costs what came since the one before.
import { type AnyEvent, numberOf, tagOf, tagged } from "./events.ts";
import { at } from "./format.ts";
import { type Bar, layout } from "./lanes.ts";
import { type Thinks, type Turn, type Work, begin, hasTurns, keyOf, lastMoment, turnsOf } from "./turns.ts";

/** How long a turn is kept after its last event, in milliseconds. */
export const KEPT = 300_000;
/** How long the strokes of a short turn are kept, and what is short: the span of five minutes draws a box without anything in it. */
const CLOSE = 60_000;
const SHORT = 4_000;
/** After its end a turn is folded for so long: submodules follow up. */
const FOLLOWS = 5_000;
/** Most turns that are open at once, and most inputs and messages that are kept. */
const OPEN = 2_000;
const MAIL = 1_000;

/** A bar of a turn, in milliseconds since 1970. */
export interface Stroke {
  from: number;
  to: number;
  role: Bar["role"];
  /** The place among the submodules, from 0, and how many there are; absent: the decision's, a tool's or a reply's. */
  voice: { n: number; of: number } | undefined;
}

/** A turn as it is drawn small; moments in milliseconds since 1970. */
export interface Brief {
  key: string;
  thread: string;
  n: number;
  from: number;
  /** The last moment; of a turn at work, the moment of the look. */
  to: number;
  /** When the decision was done; absent: it is not. */
  end: number | undefined;
  /** When its inputs came. */
  inputs: number[];
  strokes: Stroke[];
}

/** A message from one thread to another. */
export interface Message {
  seq: number;
  t: number;
  from: string;
  to: string;
}

/** What a look sees: turns in the order of their first events, those at work last. */
export interface Glance {
  turns: Brief[];
  messages: Message[];
  /** When people said something. */
  inputs: number[];
}

/** What happened lately, kept from look to look. */
export class Recent {
  #oldest = Number.POSITIVE_INFINITY;
  #newest = 0;
  #open = new Map<string, AnyEvent[]>();
  #over = new Map<string, Brief>();
  #mail: AnyEvent[] = [];

  /** Takes what is new of the log as the page has it, in order, and looks. `now` in milliseconds since 1970. */
  look(log: readonly AnyEvent[], work: readonly Work[], now: number, thinks?: Thinks): Glance {
    this.#take(log, now);
    this.#forget(work, now);
    const open = [...this.#mail, ...[...this.#open.values()].flat()];
    const rest: Brief[] = [];
    for (const turn of turnsOf(open, work.filter((one) => !this.#over.has(keyOf(one.thread, one.turn))), thinks).values()) {
      const brief = briefOf(turn, now);
      // What follows up is still told of for a while.
      if (turn.state !== "ended" || turn.working.length > 0 || turn.end! > now - FOLLOWS) rest.push(brief);
      else {
        this.#over.set(brief.key, brief);
        this.#open.delete(brief.key);
      }
    }
    const mail = this.#mail.filter((event) => at(event.ts) > now - KEPT);
    return {
      turns: [...this.#over.values(), ...rest],
      messages: mail.filter((event) => tagged(event, "message")).map((event) => ({ seq: event.seq, t: at(event.ts), from: tagOf(event, "from:") ?? event.thread, to: event.thread })),
      inputs: mail.filter((event) => tagged(event, "input")).map((event) => at(event.ts)),
    };
  }

  #take(log: readonly AnyEvent[], now: number): void {
    const oldest = log[0]?.seq ?? Number.POSITIVE_INFINITY;
    const newest = log.at(-1)?.seq ?? 0;
    // Another log, or events before the first one: everything is taken anew.
    if (newest < this.#newest || oldest < this.#oldest) {
      this.#newest = 0;
      this.#open.clear();
      this.#over.clear();
      this.#mail = [];
    }
    this.#oldest = oldest;
    let first = log.length;
    while (first > 0 && log[first - 1]!.seq > this.#newest && at(log[first - 1]!.ts) > now - KEPT) first -= 1;
    for (const event of log.slice(first)) this.#add(event);
    this.#newest = newest;
  }

  #add(event: AnyEvent): void {
    if (tagged(event, "input") || tagged(event, "message")) this.#mail.push(event);
    const n = numberOf(event, "turn");
    if (n === undefined || n === 0 || tagged(event, "cancel") || !hasTurns(event.thread)) return;
    const key = keyOf(event.thread, n);
    if (this.#over.has(key)) return;
    const events = this.#open.get(key);
    if (events) events.push(event);
    else this.#open.set(key, [event]);
  }

  #forget(work: readonly Work[], now: number): void {
    for (const [key, brief] of this.#over) {
      if (brief.to < now - KEPT) this.#over.delete(key);
      else if (brief.to < now - CLOSE && brief.to - brief.from < SHORT) brief.strokes = [];
    }
    // A turn that nobody works on any more was broken off.
    const working = new Set(work.map((one) => keyOf(one.thread, one.turn)));
    for (const [key, events] of this.#open) if (this.#open.size > OPEN || (at(events.at(-1)!.ts) < now - KEPT && !working.has(key))) this.#open.delete(key);
    this.#mail.splice(0, this.#mail.length - MAIL);
  }
}

function briefOf(turn: Turn, now: number): Brief {
  const { bars, voices } = layout(turn, now);
  const from = begin(turn);
  const strokes = bars.map((bar) => {
    const voice = bar.lane >= 1 && bar.lane <= voices.count ? { n: bar.lane - 1, of: voices.count } : undefined;
    return { from: from + bar.from, to: from + bar.to, role: bar.role, voice };
  });
  const to = Math.max(lastMoment(turn), turn.state === "working" ? now : 0);
  return { key: keyOf(turn.thread, turn.n), thread: turn.thread, n: turn.n, from, to, end: turn.end, inputs: turn.inputs.map((input) => at(input.ts)), strokes };
}
