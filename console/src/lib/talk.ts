// A conversation as lines: what people said, what the mind said, and which turn stands behind it.
import { type AnyEvent, tagged, textOf } from "./events.ts";
import { type Turn, keyOf } from "./turns.ts";

/** What people said at once: words, images, sounds. */
export interface Line {
  kind: "you" | "mind" | "silence" | "failed" | "message";
  key: string;
  events: AnyEvent[];
  turn: Turn | undefined;
  /** The last line of its turn: the turn's strip stands below it. */
  closes: boolean;
}

/** The lines of a thread, oldest first. */
export function linesOf(events: readonly AnyEvent[], turns: ReadonlyMap<string, Turn>, silence: boolean): Line[] {
  const lines: Line[] = [];
  const last = new Map<string, Line>();
  for (const event of events) {
    const kind = kindOf(event, silence);
    if (!kind) continue;
    const before = lines.at(-1);
    // The parts of one message stand together; its last part has no tag `part`.
    if (kind === "you" && before?.kind === "you" && tagged(before.events.at(-1)!, "part")) {
      before.events.push(event);
      continue;
    }
    const key = keyOf(event.thread, Number(event.payload.turn));
    const line: Line = { kind, key: event.event_id, events: [event], turn: turns.get(key), closes: false };
    lines.push(line);
    if (line.turn) last.set(key, line);
  }
  for (const line of last.values()) line.closes = true;
  return lines;
}

function kindOf(event: AnyEvent, silence: boolean): Line["kind"] | undefined {
  if (tagged(event, "input")) return "you";
  if (tagged(event, "response")) return "mind";
  if (tagged(event, "message")) return "message";
  if (tagged(event, "turn") && tagged(event, "ended") && textOf(event, "outcome") === "failed") return "failed";
  return silence && tagged(event, "no-action") ? "silence" : undefined;
}

/** Inputs that no turn has taken up yet. */
export function waiting(events: readonly AnyEvent[], turns: ReadonlyMap<string, Turn>): AnyEvent[] {
  let handled = 0;
  for (const turn of turns.values()) for (const input of turn.inputs) handled = Math.max(handled, input.seq);
  let begun = 0;
  for (const event of events) if (tagged(event, "turn") && tagged(event, "started")) begun = event.seq;
  return events.filter((event) => event.seq > handled && event.seq > begun && tagged(event, "input") && !tagged(event, "part"));
}

/** One entry of the list of thoughts: an event with its action, a voice that passed, or the deadline. */
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
