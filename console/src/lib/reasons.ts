// Why a call asks people, from the log: the decision's own reason, and what it had read before.
import { type AnyEvent, partOf, tagOf, tagged, textOf } from "./events.ts";

/** The reasons of a call. */
export interface Reasons {
  /** Words of the decision before the call, the oldest first. */
  own: AnyEvent[];
  /** The reason that the call itself carries; empty: none. */
  argument: string;
  /** Remarks that it had read, and those that did not come, the oldest first. */
  read: AnyEvent[];
}

/** A call that waits, as the server lists it. */
interface Waiting {
  seq: number;
  turn?: number | null | undefined;
  arguments?: unknown;
}

const MOST = 5;
const NAMES = ["reason", "why", "because", "purpose", "rationale"];

/** The reasons of a call among the events of its thread. */
export function reasonsOf(events: readonly AnyEvent[], asked: AnyEvent | Waiting): Reasons {
  const { turn, arguments: given } = "payload" in asked ? { turn: asked.payload.turn, arguments: partOf(asked, "arguments") } : asked;
  const before = events.filter((event) => event.seq < asked.seq && event.payload.turn === turn && textOf(event) !== "");
  const own = before.filter((event) => event.meta.tags[0] === "decision" && !tagged(event, "action") && !tagged(event, "no-action") && tagOf(event, "submodule:") === undefined);
  const read = before.filter((event) => tagOf(event, "submodule:") !== undefined && !tagged(event, "action") && !tagged(event, "result") && !tagged(event, "debug"));
  const values = typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
  const argument = NAMES.map((name) => values[name]).find((value) => typeof value === "string" && value.trim() !== "");
  return { own: own.slice(-MOST), argument: typeof argument === "string" ? argument : "", read: read.slice(-MOST) };
}
