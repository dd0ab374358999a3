// What model calls cost, as the server sums it up: all of them, who asked, and over time in bars.
import type { Schemas } from "../../../client/src/index.ts";
import { at } from "./format.ts";

/** The parts of a bar, from below: tokens from the provider's cache, tokens read anew, tokens written. */
export const PARTS = ["cached", "read", "written"] as const;
export type Part = (typeof PARTS)[number];

/** One bar. */
export interface Bin extends Record<Part, number> {
  /** When it begins, in milliseconds since 1970. */
  at: number;
}

/** A row of a table. */
export interface Row {
  name: string;
  calls: number;
  failed: number;
  /** In and out; absent: no provider said. */
  tokens: number | undefined;
}

const none = (): Schemas.CallSums => ({ calls: 0, failed: 0, ms: 0, tokens: {} });

function join(a: Schemas.CallSums, b: Schemas.CallSums): Schemas.CallSums {
  const sum = (one: number | null | undefined, other: number | null | undefined) => (one == null && other == null ? null : (one ?? 0) + (other ?? 0));
  const tokens = { input: sum(a.tokens.input, b.tokens.input), output: sum(a.tokens.output, b.tokens.output), cached: sum(a.tokens.cached, b.tokens.cached) };
  return { calls: a.calls + b.calls, failed: a.failed + b.failed, ms: a.ms + b.ms, tokens };
}

/** All calls of a span together. */
export function total(usage: Schemas.Usage): Schemas.CallSums {
  return [...usage.items, usage.rest].reduce(join, none());
}

const row = (name: string, { calls, failed, tokens }: Schemas.CallSums): Row => ({ name, calls, failed, tokens: tokens.input == null && tokens.output == null ? undefined : (tokens.input ?? 0) + (tokens.output ?? 0) });

/** The items of a span as rows, the dearest first. */
export function rowsOf(usage: Schemas.Usage): Row[] {
  const rows = usage.items.map((item) => row(item.key, item));
  return usage.rest.calls > 0 ? [...rows, row("all others", usage.rest)] : rows;
}

/** The bars from `start` to `end`, each `step` long; steps without calls are bars of nothing. */
export function binsOf(usage: Schemas.Usage, start: number, end: number, step: number): Bin[] {
  const sums = new Map(usage.steps.map((one) => [at(one.at), one.tokens]));
  const bins: Bin[] = [];
  for (let from = Math.floor(start / step) * step; from < end; from += step) {
    const { input, output, cached } = sums.get(from) ?? {};
    bins.push({ at: from, cached: cached ?? 0, read: Math.max(0, (input ?? 0) - (cached ?? 0)), written: output ?? 0 });
  }
  return bins;
}

/** A round number at or above a value: 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value)!;
}
