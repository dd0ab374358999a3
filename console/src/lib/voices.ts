// A submodule in figures, as the server counts them over a span, and the versions of its prompt.
import type { Schemas } from "../../../client/src/index.ts";
import { type AnyEvent, type Role, isCall, tagOf, textOf } from "./events.ts";

export type Figures = Schemas.SubmoduleFigures;

/** Spans that can be looked at, in milliseconds. */
export const SPANS: Record<string, number> = { "1 h": 3_600_000, "24 h": 86_400_000, "30 d": 2_592_000_000 };

/** A part of the turns in which a submodule was asked. */
export interface Share {
  n: number;
  role: Role;
  word: string;
}

/** What came of a submodule; without what never came. */
export function sharesOf({ spoke, passed, late, failed }: Figures): Share[] {
  const all: Share[] = [{ n: spoke, role: "voice", word: "spoke" }, { n: passed, role: "pass", word: "passed" }, { n: late, role: "late", word: "late" }, { n: failed, role: "fail", word: "failed" }];
  return all.filter(({ n }) => n > 0);
}

/** The submodule that an event is of: it said it, or was asked. */
export function voiceOf(event: AnyEvent): string | undefined {
  return tagOf(event, "submodule:") ?? (isCall(event) ? /^submodule:(.*)$/.exec(textOf(event, "module"))?.[1] : undefined);
}

/** A bin of times: where it begins and ends, in milliseconds; no end: whatever is longer. */
export interface Bin {
  from: number;
  to: number | undefined;
  turns: number;
}

/** The bins up to the last in which anything is, and at least so many. */
export function binsOf(times: readonly Schemas.TimeBin[], least = 0): Bin[] {
  const bins = times.map(({ up_to_ms: to, turns }, i) => ({ from: times[i - 1]?.up_to_ms ?? 0, to: to ?? undefined, turns }));
  return bins.slice(0, Math.max(least, bins.findLastIndex(({ turns }) => turns > 0) + 1));
}

/** A version of a prompt; none: the submodule was removed. */
export interface Version {
  n: number;
  seq: number;
  at: string;
  prompt: string | undefined;
  /** The prompt before it. */
  before: string;
}

/** The versions as the server lists them, the newest first, counted from the first. */
export function versionsOf(items: readonly Schemas.SubmoduleVersion[]): Version[] {
  return items.map(({ seq, at, prompt }, i) => ({ n: items.length - i, seq, at, prompt: prompt ?? undefined, before: items[i + 1]?.prompt ?? "" }));
}
