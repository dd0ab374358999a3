// What a reading of a prediction says, and who claims a statement, in words.
import { type Role, statementWord } from "./events.ts";
import { asSentence, at, seqName } from "./format.ts";

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

/** Who claims a statement: a person, by name where it is known, or the agent. */
export function claimantOf(by: unknown): string {
  const { kind, name } = (typeof by === "object" && by !== null ? by : {}) as { kind?: unknown; name?: unknown };
  if (typeof name === "string" && name) return name;
  return kind === "user" ? "a person" : kind === "mind" ? "the agent" : "not known";
}

/** What a verdict came to: its outcome, its reason, by which instruments. */
export function verdictOf(of: Readonly<Record<string, unknown>>): { outcome: string; reason: string; by: string; place: string; seq: number | undefined } {
  const text = (name: string) => (typeof of[name] === "string" ? of[name] : "");
  const by = Array.isArray(of.carried) ? of.carried.filter((one) => typeof one === "string").join(", ") : "";
  const seq = typeof of.seq === "number" ? of.seq : undefined;
  return { outcome: text("outcome"), reason: text("reason"), by, place: seq === undefined ? "" : seqName(seq), seq };
}

/** A statement that is not decided: how its check stands. */
export interface Check {
  /** The state in a word: a check that came to nothing is none that is made. */
  word: string;
  /** What is missing, in a sentence; empty: nothing was tried yet. */
  missing: string;
  /** The words of the model's server behind it; empty: none. */
  raw: string;
  /** When it is tried again; absent: that is not planned, or due now. */
  next: string | undefined;
  /** It is due now. */
  due: boolean;
}

/** What of a statement its check is read from. */
interface Checked {
  status: string;
  tested_at?: string | null | undefined;
  due_at?: string | null | undefined;
  reason?: string | null | undefined;
}

/** How the check of a statement stands that is not decided yet; absent: of one that is. */
export function checkOf({ status, tested_at: tried, due_at: due, reason }: Checked, now: number): Check | undefined {
  if (status !== "proposed") return undefined;
  const isDue = Boolean(due) && !(at(due) > now);
  const base = { raw: "", next: due && !isDue ? due : undefined, due: isDue };
  if (!tried) return { ...base, word: statementWord(status), missing: "" };
  const why = reason ?? "";
  const short = why.replace(/^nothing was derived from it: /, "");
  if (/did not call the tool/.test(short)) return { ...base, word: "not decided", missing: "The model of this server did not take the check up: it has to call tools. thinkd doctor on the server says which model does.", raw: short };
  if (/^model .* (answered|could not be reached|broke its answer)/.test(short)) return { ...base, word: "not decided", missing: "The model did not answer when it was to check this. thinkd doctor on the server checks the model.", raw: short };
  return { ...base, word: "not decided", missing: asSentence(`${why.slice(0, 1).toUpperCase()}${why.slice(1)}`) || "No instrument had an answer." };
}
