// The turns of a thread as strips: those that the page has whole from their events, the others from what the server says they came to.
import type { Schemas } from "../../../client/src/index.ts";
import type { Role } from "./events.ts";
import { at } from "./format.ts";
import type { Strip, Stroke } from "./picture.ts";
import type { Turn } from "./turns.ts";

/** A turn of the film: folded from its events, or as the server sums it up. */
export interface Frame {
  n: number;
  turn: Turn | undefined;
  past: Schemas.Turn | undefined;
}

/** The newest turns, the oldest of these first. */
export function filmOf(turns: readonly Turn[], past: readonly Schemas.Turn[], most: number): Frame[] {
  const frames = new Map<number, Frame>(past.map((one) => [one.turn, { n: one.turn, turn: undefined, past: one }]));
  for (const turn of turns) {
    // One whose beginning is not here yet is better known by the server.
    if (turn.begun || !frames.has(turn.n)) frames.set(turn.n, { n: turn.n, turn, past: frames.get(turn.n)?.past });
  }
  return [...frames.values()].sort((a, b) => a.n - b.n).slice(-most);
}

const ROLES: Record<string, Role> = { spoke: "voice", passed: "pass", late: "late", failed: "fail" };

/** A past turn as a strip: one hairline a submodule, below it decision and reply. */
export function pastStrip(past: Schemas.Turn, width: number, height: number): Strip {
  const voices = past.voices.slice(0, 32);
  const late = voices.some((voice) => voice.outcome === "late");
  const waited = late ? (past.deadline_ms ?? 0) : Math.max(0, ...voices.map((voice) => voice.ms ?? 0));
  // The server's beginning is that of the first output: the first answer of a submodule. How long the turn took is not known from it.
  const behind = past.ended_at ? at(past.ended_at) - at(past.started_at) : 0;
  const first = Math.min(...voices.flatMap(({ ms }) => (typeof ms === "number" && ms > 0 ? ms : [])));
  const whole = Math.max(1, behind + (Number.isFinite(first) ? first : 0), waited, ...voices.map((voice) => voice.ms ?? 0));
  const x = (ms: number) => 1 + (Math.min(ms, whole) / whole) * (width - 2);
  const base = height * 0.76;
  const gap = voices.length > 0 ? Math.min(height * 0.14, (base - 2) / voices.length) : 0;
  const strokes: Stroke[] = voices.map((voice, i) => ({ x1: x(0), x2: Math.max(x(voice.ms ?? waited), x(0) + 1), y: 1.5 + gap * i, width: Math.max(0.8, gap * 0.66), role: ROLES[voice.outcome ?? ""] ?? "voice", dashed: voice.outcome === "passed" }));
  if (past.rounds > 0) strokes.push({ x1: x(waited), x2: Math.max(x(whole), x(waited) + 1), y: base, width: height * 0.12, role: past.outcome === "failed" ? "fail" : "decision", dashed: false });
  if (past.replies > 0) strokes.push({ x1: x(whole) - width * 0.1, x2: x(whole), y: base, width: height * 0.12, role: "reply", dashed: false });
  return { strokes, deadline: late ? x(waited) : undefined, now: undefined, foot: base };
}
