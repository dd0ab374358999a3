// A voice in figures, from the records of its calls: how often it spoke, how long it took, what it cost. And the versions of its prompt.
import { type AnyEvent, isCall, partOf, tagOf, tagged, textOf } from "./events.ts";
import { callOf } from "./turns.ts";

/** One voice over a span of the log. */
export interface Figures {
  asked: number;
  spoke: number;
  passed: number;
  late: number;
  failed: number;
  /** Milliseconds; absent: not known. */
  p50: number | undefined;
  p95: number | undefined;
  /** The time of each call, in milliseconds. */
  times: number[];
  input: number;
  output: number;
  cached: number;
}

/** A version of a prompt: what was set, when, by which event. */
export interface Version {
  n: number;
  event: AnyEvent;
  prompt: string;
}

/** The value below which so many of a hundred lie; of none, none. */
export function percentile(sorted: readonly number[], p: number): number | undefined {
  if (sorted.length === 0) return undefined;
  return sorted[Math.min(sorted.length - 1, Math.ceil((p / 100) * sorted.length) - 1)];
}

/** Counts what events say of each voice. */
export function figuresOf(events: readonly AnyEvent[]): Map<string, Figures> {
  const all = new Map<string, Figures>();
  const of = (name: string) => {
    const known = all.get(name) ?? { asked: 0, spoke: 0, passed: 0, late: 0, failed: 0, p50: undefined, p95: undefined, times: [], input: 0, output: 0, cached: 0 };
    all.set(name, known);
    return known;
  };
  const said = new Set<string>();
  for (const event of events) {
    const voice = tagOf(event, "submodule:");
    if (voice !== undefined && !isCall(event) && !tagged(event, "action") && !tagged(event, "result")) {
      if (tagged(event, "failure")) of(voice).failed += textOf(event, "kind") === "timeout" ? 0 : 1;
      else if (tagged(event, "late")) of(voice).late += 1;
      else of(voice).spoke += 1;
      said.add(`${event.thread} ${String(event.payload.turn)} ${voice} ${tagged(event, "follow-up")}`);
    }
  }
  for (const event of events) if (isCall(event)) called(event, of, said);
  for (const figures of all.values()) {
    figures.times.sort((a, b) => a - b);
    figures.p50 = percentile(figures.times, 50);
    figures.p95 = percentile(figures.times, 95);
  }
  return all;
}

function called(event: AnyEvent, of: (name: string) => Figures, said: ReadonlySet<string>): void {
  const call = callOf(event);
  const voice = /^submodule:(.*)$/.exec(call.module)?.[1];
  if (voice === undefined) return;
  const figures = of(voice);
  figures.times.push(call.end - call.start);
  figures.input += call.input ?? 0;
  figures.output += call.output ?? 0;
  figures.cached += call.cached ?? 0;
  if (!call.last) return;
  figures.asked += 1;
  const spoke = said.has(`${event.thread} ${String(event.payload.turn)} ${voice} ${call.purpose === "follow-up"}`);
  if (call.outcome === "answered" && !spoke) figures.passed += 1;
}

/** The versions of a voice's prompt, the first one first. */
export function versionsOf(events: readonly AnyEvent[], name: string): Version[] {
  const sets = events.filter((event) => tagged(event, "set:submodule") && textOf(event, "key") === name);
  sets.sort((a, b) => a.seq - b.seq);
  return sets.map((event, i) => ({ n: i + 1, event, prompt: String(partOf(event, "change").prompt ?? "") }));
}

/** So many bins from 0 to `to`; what is longer is in the last one. */
export function bins(times: readonly number[], to: number, n: number): number[] {
  const out = new Array<number>(n).fill(0);
  for (const time of times) out[Math.min(n - 1, Math.floor((time / to) * n))]! += 1;
  return out;
}
