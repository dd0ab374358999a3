// What model calls cost over time, folded from their records: by who asked, by model, by thread.
import { type AnyEvent, isCall, textOf } from "./events.ts";
import { callOf } from "./turns.ts";

/** Who asked: the roles of a bar's parts. */
export const WHO = ["voices", "decision", "pipelines", "others"] as const;
export type Who = (typeof WHO)[number];

export interface Sum {
  calls: number;
  failed: number;
  input: number;
  output: number;
  cached: number;
  /** Calls of which the provider did not say what they cost. */
  unknown: number;
}

export interface Usage {
  all: Sum;
  byWho: Record<Who, Sum>;
  byModel: Map<string, Sum>;
  byThread: Map<string, Sum>;
  /** Tokens in and out of each bin, by who. */
  bins: Record<Who, number>[];
}

const zero = (): Sum => ({ calls: 0, failed: 0, input: 0, output: 0, cached: 0, unknown: 0 });

/** Who made a call. */
export function whoOf(module: string): Who {
  if (module.startsWith("submodule:")) return "voices";
  if (module === "decision") return "decision";
  return module.startsWith("pipeline:") ? "pipelines" : "others";
}

/** Sums calls from `start` to `end` (milliseconds since 1970) into so many bins. */
export function usageOf(events: readonly AnyEvent[], start: number, end: number, n: number): Usage {
  const bins = Array.from({ length: n }, () => ({ voices: 0, decision: 0, pipelines: 0, others: 0 }));
  const usage: Usage = { all: zero(), byWho: { voices: zero(), decision: zero(), pipelines: zero(), others: zero() }, byModel: new Map(), byThread: new Map(), bins };
  for (const event of events) {
    if (!isCall(event)) continue;
    const call = callOf(event);
    if (call.end < start || call.end > end) continue;
    const who = whoOf(call.module);
    for (const sum of [usage.all, usage.byWho[who], of(usage.byModel, textOf(event, "model") || "not known"), of(usage.byThread, event.thread)]) {
      sum.calls += 1;
      sum.failed += call.outcome === "failed" || call.outcome === "refused" ? 1 : 0;
      sum.unknown += call.input === undefined ? 1 : 0;
      sum.input += call.input ?? 0;
      sum.output += call.output ?? 0;
      sum.cached += call.cached ?? 0;
    }
    const bin = bins[Math.min(n - 1, Math.floor(((call.end - start) / (end - start)) * n))]!;
    bin[who] += (call.input ?? 0) + (call.output ?? 0);
  }
  return usage;
}

function of(map: Map<string, Sum>, key: string): Sum {
  const sum = map.get(key) ?? zero();
  map.set(key, sum);
  return sum;
}

/** A round number at or above a value: 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value)!;
}
