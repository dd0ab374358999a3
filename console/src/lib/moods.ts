// The mood of a thread, folded from the ends of its turns.
import { type AnyEvent, numberOf, partOf, tagged } from "./events.ts";

/** The mood that a turn left. */
export interface Mood {
  turn: number;
  seq: number;
  ts: string;
  /** From -1 to 1. */
  sum: number;
  /** What of it comes from what happened, and what is random. */
  facts: number;
  walk: number;
}

/** The moods that turns left, the oldest first; one without a mood, of an older server, is left out. */
export function moodsOf(events: readonly AnyEvent[]): Mood[] {
  return events.flatMap((event) => {
    if (!tagged(event, "turn") || !tagged(event, "ended")) return [];
    const mood = partOf(event, "mood");
    const part = (name: string) => (typeof mood[name] === "number" ? mood[name] / 1000 : undefined);
    const sum = part("sum");
    if (sum === undefined) return [];
    return [{ turn: numberOf(event, "turn") ?? 0, seq: event.seq, ts: event.ts, sum, facts: part("facts") ?? 0, walk: part("walk") ?? 0 }];
  }).sort((a, b) => a.seq - b.seq);
}
