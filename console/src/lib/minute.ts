// The last minute of the whole space as strokes: a turn that is over is folded and laid out once, however often the minute is drawn.
import { type AnyEvent, numberOf } from "./events.ts";
import { type Bar, layout } from "./lanes.ts";
import { type Turn, type Work, begin, keyOf, turnsOf } from "./turns.ts";

/** A bar of a turn, in milliseconds since 1970. */
export interface Stroke {
  key: string;
  from: number;
  to: number;
  role: Bar["role"];
  /** The place among the voices, from 0, and how many there are; absent: the decision's, a tool's or a reply's. */
  voice: { n: number; of: number } | undefined;
}

/** A turn in the minute. */
export interface Brief {
  key: string;
  thread: string;
  n: number;
  end: number | undefined;
  /** When its inputs came. */
  inputs: number[];
  strokes: Stroke[];
}

const SPAN = 60_000;
/** What callers look at before the minute: turns that began there are known for as long. */
export const KEPT = 30_000;

/** Turns of the last minute. */
export class Minute {
  #over = new Map<string, Brief>();

  /** Takes the end of the log, and says what is in the minute before `now`, the newest last. */
  turns(events: readonly AnyEvent[], work: readonly Work[], now: number): Brief[] {
    for (const [key, { end }] of this.#over) if (end !== undefined && end < now - SPAN - KEPT) this.#over.delete(key);
    const open = events.filter((event) => !this.#over.has(keyOf(event.thread, numberOf(event, "turn") ?? 0)));
    const rest: Brief[] = [];
    for (const turn of turnsOf(open, work.filter((one) => !this.#over.has(keyOf(one.thread, one.turn)))).values()) {
      const brief = briefOf(turn, now);
      // What follows up is still told of for a while.
      if (turn.end === undefined || turn.working.length > 0 || turn.end > now - 5_000) rest.push(brief);
      else this.#over.set(brief.key, brief);
    }
    return [...this.#over.values(), ...rest];
  }
}

function briefOf(turn: Turn, now: number): Brief {
  const { bars, voices } = layout(turn, now);
  const key = keyOf(turn.thread, turn.n);
  const strokes = bars.map((bar, i) => {
    const voice = bar.lane >= 1 && bar.lane <= voices.count ? { n: bar.lane - 1, of: voices.count } : undefined;
    return { key: `${key} ${i}`, from: begin(turn) + bar.from, to: begin(turn) + bar.to, role: bar.role, voice };
  });
  return { key, thread: turn.thread, n: turn.n, end: turn.end, inputs: turn.inputs.map((input) => Date.parse(input.ts)), strokes };
}
