// Events for tests, as short as a test wants them.
import type { AnyEvent } from "../src/lib/events.ts";

let last = 0;
const START = Date.UTC(2026, 10, 25, 12, 0, 0);

/** An event of `tags` at so many milliseconds. */
export function event(tags: string[], payload: Record<string, unknown> = {}, ms = 0, more: Partial<AnyEvent> = {}): AnyEvent {
  last += 1;
  return { event_id: `id-${last}`, ts: new Date(START + ms).toISOString(), source: "internal", modality: "text", payload: { text: "", ...payload }, meta: { tags }, thread: "main", seq: last, ...more };
}

/** A moment as milliseconds since 1970. */
export const moment = (ms: number) => START + ms;

/** The record of a call that ended at so many milliseconds. */
export function call(module: string, ms: number, duration: number, payload: Record<string, unknown> = {}): AnyEvent {
  return event(["debug", `call:${module}`], { module, purpose: "turn", outcome: "answered", last: true, turn: 1, round: 0, duration_ms: duration, usage: { input_tokens: 100, output_tokens: 10, cached_tokens: 60 }, ...payload }, ms);
}

/** A turn with a voice in time, one late, one failed, one that passed; two rounds, a tool, a reply, a follow-up. */
export function story(): AnyEvent[] {
  const input = event(["input", "type:message"], { text: "hello" }, 0, { source: "user" });
  return [
    input,
    event(["turn", "started", "turn:1"], { turn: 1, batch: [input.seq], submodules: ["critic", "botanist", "frugal", "warmth"], deadline_ms: 2500 }, 400),
    call("submodule:warmth", 400, 390),
    call("submodule:critic", 600, 590),
    event(["submodule:critic"], { turn: 1, text: "the coldest night" }, 600),
    call("submodule:frugal", 900, 890, { outcome: "failed", failure: "429", usage: {} }),
    event(["failure", "model", "submodule:frugal"], { turn: 1, kind: "model", text: "429" }, 900),
    event(["failure", "timeout", "submodule:botanist"], { turn: 1, kind: "timeout", text: "nothing within 2500 ms" }, 2510),
    call("decision", 3400, 890),
    event(["decision", "action", "tool:state_search"], { turn: 1, tool: "state_search", call_id: "c1.0.0", arguments: { query: "wall" } }, 3400),
    event(["result", "tool:state_search"], { turn: 1, tool: "state_search", call_id: "c1.0.0", duration_ms: 20, text: "[]" }, 3420),
    call("submodule:botanist", 3600, 3590),
    event(["submodule:botanist", "late"], { turn: 1, text: "citrus wants 7" }, 3600),
    call("decision", 5400, 1700, { round: 1 }),
    event(["decision", "action", "tool:reply"], { turn: 1, tool: "reply", call_id: "c1.1.0", arguments: { text: "yes" } }, 5400),
    event(["response", "result", "tool:reply"], { turn: 1, tool: "reply", call_id: "c1.1.0", text: "yes" }, 5400),
    event(["turn", "ended", "turn:1"], { turn: 1, outcome: "done", handled: input.seq }, 5400),
    call("submodule:critic", 5900, 480, { purpose: "follow-up" }),
  ];
}
