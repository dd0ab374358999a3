// A conversation as lines: words of people and of the agent, what it asks of people, missions that it began, turns without a reply, each with its turn.
import { type AnyEvent, tagged, textOf } from "./events.ts";
import { type Settled, isWhole, missionBegun, requestId, requestOf, settledOf } from "./outcomes.ts";
import { type Turn, joined, keyOf } from "./turns.ts";

/** What people said at once: words, images, sounds. */
export interface Line {
  kind: "you" | "mind" | "message" | "question" | "approval" | "mission" | "quiet" | "failed";
  key: string;
  events: AnyEvent[];
  turn: Turn | undefined;
  /** The last line of its turn: the turn's strip stands below it. */
  closes: boolean;
  /** An input that was taken back before a turn had it. */
  back: boolean;
  /** An input that a turn is about, or was. */
  begun: boolean;
  /** An input that waits behind the turn at work: it is read after all that this turn says. */
  waits: boolean;
  /** An input that came while its turn ran, and was seen by it. */
  joined: boolean;
  /** Of the last input of a turn, the end of the turn before: forks with another input leave there. 0: no turn was before. */
  at: number | undefined;
  /** The end of a question or an approval; absent: it is open. */
  settled: Settled | undefined;
}

/** The lines of a thread, oldest first. */
export function linesOf(events: readonly AnyEvent[], turns: ReadonlyMap<string, Turn>): Line[] {
  const lines: Line[] = [];
  const last = new Map<string, Line>();
  const [back, ends] = [takenBack(events), settledOf(events)];
  const { begun, places, joins, taken } = placesOf(events, back);
  const behind = new Set([...turns.values()].some(({ state }) => state === "working") ? waiting(events, turns).map(({ seq }) => seq) : []);
  const at = new Map<Line, number>();
  for (const [i, event] of events.entries()) {
    const kind = kindOf(event, turns);
    if (!kind) continue;
    const before = lines.at(-1);
    // The parts of one message stand together; its last part has no tag `part`.
    if (kind === "you" && before?.kind === "you" && tagged(before.events.at(-1)!, "part")) {
      before.events.push(event);
      continue;
    }
    const key = keyOf(event.thread, Number(event.payload.turn));
    const settled = kind === "question" || kind === "approval" ? ends.get(requestId(event)) : undefined;
    const line: Line = { kind, key: event.event_id, events: [event], turn: turns.get(key), closes: false, back: false, begun: false, waits: false, joined: false, at: undefined, settled };
    lines.push(line);
    at.set(line, i);
    if (line.turn) last.set(key, line);
  }
  for (const line of last.values()) line.closes = true;
  for (const line of lines) {
    const { seq } = line.events.at(-1)!;
    line.back = back.has(seq);
    line.begun = begun.has(seq);
    line.waits = line.kind === "you" && behind.has(seq);
    line.joined = joins.has(seq);
    line.at = places.get(seq);
  }
  // In the log a message stands where it came, and a turn that it waited for may have said more behind it.
  for (const line of lines) at.set(line, line.waits ? events.length : Math.max(at.get(line)!, taken.get(line.events.at(-1)!.seq) ?? 0));
  return lines.sort((a, b) => at.get(a)! - at.get(b)!);
}

/** The inputs that turns are about, and the places of forks: of the last input of each turn the end of the turn before it. Of one for which no turn has begun, the last end. */
function placesOf(events: readonly AnyEvent[], back: ReadonlySet<number>): { begun: Set<number>; places: Map<number, number>; joins: Set<number>; taken: Map<number, number> } {
  const [begun, places] = [new Set<number>(), new Map<number, number>()];
  // Inputs that joined a turn, and where in the list a turn took each one up.
  const [joins, taken] = [new Set<number>(), new Map<number, number>()];
  const inputs = new Set<number>();
  let end: number | undefined;
  let first: number | undefined;
  for (const [i, event] of events.entries()) {
    if (tagged(event, "input") && !tagged(event, "part") && !back.has(event.seq)) {
      inputs.add(event.seq);
      first ??= event.seq;
    }
    if (event.meta.tags[0] !== "turn") continue;
    if (tagged(event, "ended")) [end, first] = [event.seq, undefined];
    for (const seq of tagged(event, "steered") ? joined(event) : []) {
      begun.add(seq);
      joins.add(seq);
      taken.set(seq, i);
    }
    if (!Array.isArray(event.payload.batch)) continue;
    const batch = event.payload.batch.map(Number);
    const last = batch.findLast((seq) => inputs.has(seq));
    const place = end ?? (event.payload.turn === 1 ? 0 : undefined);
    if (last !== undefined && place !== undefined) places.set(last, place);
    for (const seq of batch) {
      begun.add(seq);
      taken.set(seq, i);
    }
  }
  if (first !== undefined && end !== undefined && !begun.has(first)) places.set(first, end);
  return { begun, places, joins, taken };
}

/** A talk whose lines are made again and again while events come in: a line that has not changed is the same object as before. */
export class Talk {
  #known = new Map<string, Line>();

  /** Does what `linesOf` does. */
  lines(...of: Parameters<typeof linesOf>): Line[] {
    const lines = linesOf(...of).map((line) => {
      const before = this.#known.get(line.key);
      return before && sameLine(before, line) ? before : line;
    });
    this.#known = new Map(lines.map((line) => [line.key, line]));
    return lines;
  }
}

function sameLine(a: Line, b: Line): boolean {
  return a.kind === b.kind && a.turn === b.turn && a.closes === b.closes && a.back === b.back && a.begun === b.begun && a.waits === b.waits && a.joined === b.joined && a.at === b.at && a.settled?.by === b.settled?.by && a.settled?.result === b.settled?.result && a.events.length === b.events.length;
}

function kindOf(event: AnyEvent, turns: ReadonlyMap<string, Turn>): Line["kind"] | undefined {
  if (tagged(event, "input")) return "you";
  if (tagged(event, "response")) return "mind";
  if (tagged(event, "message")) return "message";
  if (missionBegun(event)) return "mission";
  if (event.meta.tags[0] !== "turn" || !tagged(event, "ended")) return requestOf(event);
  if (textOf(event, "outcome") === "failed") return "failed";
  const turn = turns.get(keyOf(event.thread, Number(event.payload.turn)));
  return turn && turn.replies.length === 0 && isWhole(turn) ? "quiet" : undefined;
}

/** The seqs of inputs that were taken back. */
function takenBack(events: readonly AnyEvent[]): Set<number> {
  return new Set(events.flatMap((event) => (tagged(event, "withdrawn") ? Number(event.payload.input) : [])));
}

/** Inputs that no turn has taken up yet, and nobody took back. */
export function waiting(events: readonly AnyEvent[], turns: ReadonlyMap<string, Turn>): AnyEvent[] {
  let handled = 0;
  // What joins a turn may have come behind what waits.
  const had = new Set(events.flatMap((event) => (event.meta.tags[0] === "turn" && tagged(event, "steered") ? joined(event) : [])));
  for (const turn of turns.values()) for (const input of turn.inputs) if (!had.has(input.seq)) handled = Math.max(handled, input.seq);
  // Also of a turn whose inputs are not here any more.
  for (const { meta, payload } of events) if (meta.tags[0] === "turn" && Array.isArray(payload.batch)) handled = Math.max(handled, ...payload.batch.map(Number));
  const back = takenBack(events);
  return events.filter((event) => !back.has(event.seq) && !had.has(event.seq) && event.seq > handled && tagged(event, "input") && !tagged(event, "part"));
}

/** One entry of the list of thoughts: an event with its action, a submodule that passed, or the deadline. */
export type Thought = { kind: "event"; event: AnyEvent; action: AnyEvent | undefined } | { kind: "passed"; name: string; event: AnyEvent } | { kind: "deadline"; t: number };

/** What went on in a turn, by seq. */
export function thoughtsOf(turn: Turn, show: { tools: boolean; silence: boolean }): Thought[] {
  const out: Thought[] = [];
  const passed = new Map([...turn.voices, ...turn.followUps].filter((voice) => voice.outcome === "passed").map((voice) => [voice.calls.at(-1)?.event.seq, voice.name]));
  const actions = new Map(turn.tools.map((tool) => [tool.result?.seq ?? tool.action.seq, tool.action]));
  let cut = turn.deadline === undefined;
  for (const event of turn.events) {
    if (!cut && turn.deadline !== undefined && Date.parse(event.ts) > turn.deadline) {
      out.push({ kind: "deadline", t: turn.deadline });
      cut = true;
    }
    const name = passed.get(event.seq);
    const action = actions.get(event.seq);
    if (name !== undefined && show.silence) out.push({ kind: "passed", name, event });
    else if (action) {
      if (show.tools) out.push({ kind: "event", event, action: event === action ? undefined : action });
    } else if (!tagged(event, "debug") && !tagged(event, "action") && !tagged(event, "turn")) out.push({ kind: "event", event, action: undefined });
  }
  return out;
}
