// What a reading of a prediction says, and who claims a statement, in words.
import type { Role } from "./events.ts";
import { seqName } from "./format.ts";

/** A reading as it is shown. */
export interface Reading {
  answer: string;
  sign: string;
  role: Role;
  /** What it rests on: a quote that stood in a source, or the words of the instrument. */
  words: string;
  /** By which instrument, and why by this one. */
  by: string;
  why: string;
  /** The event. */
  seq: number | undefined;
}

const LOOKS: Record<string, [string, Role, string]> = { yes: ["ok", "ok", "yes"], no: ["x", "fail", "no"], asked: ["question", "gate", "asked"], none: ["pass", "pass", "no answer"] };

/** A reading of the contract; one that says nothing is no answer. */
export function readingOf(of: Readonly<Record<string, unknown>>): Reading {
  const text = (name: string) => (typeof of[name] === "string" ? of[name] : "");
  const [sign, role, answer] = LOOKS[text("answer")] ?? LOOKS.none!;
  return { answer, sign, role, words: text("quote") || text("note"), by: text("instrument"), why: text("choice"), seq: typeof of.seq === "number" ? of.seq : undefined };
}

/** Who claims a statement: a person, by name where it is known, or a mind. */
export function claimantOf(by: unknown): string {
  const { kind, name } = (typeof by === "object" && by !== null ? by : {}) as { kind?: unknown; name?: unknown };
  if (typeof name === "string" && name) return name;
  return kind === "user" ? "a person" : kind === "mind" ? "a mind" : "somebody";
}

/** What a verdict came to: its outcome, its reason, by which instruments. */
export function verdictOf(of: Readonly<Record<string, unknown>>): { outcome: string; reason: string; by: string; place: string; seq: number | undefined } {
  const text = (name: string) => (typeof of[name] === "string" ? of[name] : "");
  const by = Array.isArray(of.carried) ? of.carried.filter((one) => typeof one === "string").join(", ") : "";
  const seq = typeof of.seq === "number" ? of.seq : undefined;
  return { outcome: text("outcome"), reason: text("reason"), by, place: seq === undefined ? "" : seqName(seq), seq };
}
