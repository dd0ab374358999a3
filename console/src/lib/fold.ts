// Turns that are folded again and again while events come in: one of which nothing came is the same object as before, and what is drawn of it stays as it is.
import { type AnyEvent, numberOf, tagged } from "./events.ts";
import { type Thinks, type Turn, type Work, hasTurns, keyOf, turnsOf, wakes } from "./turns.ts";

/** The turns of a list of events, kept from fold to fold. */
export class TurnFold {
  #known = new Map<string, { mark: string; turn: Turn }>();
  #oldest = 0;

  /** Does what `turnsOf` does, and folds only the turns of which there is something new. */
  turns(events: readonly AnyEvent[], work: readonly Work[] = [], thinks?: Thinks): Map<string, Turn> {
    const oldest = events[0]?.seq ?? 0;
    // Older events may hold the inputs of turns that are here.
    if (oldest < this.#oldest) this.#known.clear();
    this.#oldest = oldest;
    const keys = events.map(keyIn);
    const marks = marksOf(events, keys);
    const hinted = new Set(work.map((one) => keyOf(one.thread, one.turn)));
    const stays = (key: string) => !hinted.has(key) && this.#known.get(key)?.mark === marks.get(key);
    const wanted = (event: AnyEvent, key: string | undefined) => (key !== undefined && !stays(key)) || wakes(event);
    const fresh = turnsOf(events.filter((event, i) => wanted(event, keys[i])), work, thinks);
    const turns = new Map<string, Turn>();
    for (const key of marks.keys()) turns.set(key, (stays(key) ? this.#known.get(key)?.turn : undefined) ?? fresh.get(key)!);
    for (const [key, turn] of fresh) if (!turns.has(key)) turns.set(key, turn);
    // Of a turn that has not ended the next fold makes another one: the hint may be gone then, and the server may say that its thread thinks no more.
    this.#known = new Map([...turns].map(([key, turn]) => [key, { mark: hinted.has(key) || turn.state !== "ended" ? "" : (marks.get(key) ?? ""), turn }]));
    return turns;
  }
}

const KEYS = new WeakMap<AnyEvent, { key: string | undefined }>();

/** The turn of an event: looked for once, because it is asked for with each fold. */
function keyIn(event: AnyEvent): string | undefined {
  const known = KEYS.get(event) ?? { key: turnKey(event) };
  KEYS.set(event, known);
  return known.key;
}

function turnKey(event: AnyEvent): string | undefined {
  const n = numberOf(event, "turn");
  return n === undefined || n === 0 || tagged(event, "cancel") || !hasTurns(event.thread) ? undefined : keyOf(event.thread, n);
}

/** Which events each turn has: the first, the last, and how many. */
function marksOf(events: readonly AnyEvent[], keys: readonly (string | undefined)[]): Map<string, string> {
  const groups = new Map<string, { first: number; last: number; count: number }>();
  events.forEach(({ seq }, i) => {
    const key = keys[i];
    if (key === undefined) return;
    const group = groups.get(key);
    if (!group) groups.set(key, { first: seq, last: seq, count: 1 });
    else {
      group.last = seq;
      group.count += 1;
    }
  });
  return new Map([...groups].map(([key, { first, last, count }]) => [key, `${first} ${last} ${count}`]));
}
