// A turn, folded from its events: who was asked, when each call ran, what came of it. Everything that draws a turn starts here.
import { at } from "./format.ts";
import { type AnyEvent, isCall, isHidden, numberOf, partOf, tagOf, tagged, textOf } from "./events.ts";

/** One model call, from its record. */
export interface Call {
  event: AnyEvent;
  module: string;
  purpose: string;
  /** Milliseconds since 1970. */
  start: number;
  end: number;
  /** When the first piece of the answer came; absent: not known. */
  first: number | undefined;
  outcome: string;
  /** Tokens; absent: not known. */
  input: number | undefined;
  output: number | undefined;
  cached: number | undefined;
  /** The submodule is done with this one. */
  last: boolean;
}

/** What became of a submodule: `at work` as long as nothing says so. */
export type VoiceOutcome = "in time" | "late" | "failed" | "passed" | "at work" | "not known";

/** One submodule in one turn, or in its follow-up. */
export interface Voice {
  name: string;
  followUp: boolean;
  calls: Call[];
  said: AnyEvent[];
  failure: AnyEvent | undefined;
  outcome: VoiceOutcome;
}

/** A tool call, with its result as soon as there is one. */
export interface ToolCall {
  action: AnyEvent;
  result: AnyEvent | undefined;
  /** The submodule that made it; absent: the decision. */
  voice: string | undefined;
}

/** The state of a turn. `not known`: the page has no beginning and no end of it, or the server says that its thread does not think. */
export type TurnState = "working" | "ended" | "not known";

/** Says of a thread that it thinks, as the server lists it; undefined: the server was not asked. */
export type Thinks = (thread: string) => boolean | undefined;

/** One turn of one thread. */
export interface Turn {
  thread: string;
  n: number;
  /** Milliseconds since 1970. */
  start: number;
  /** When the decision was done; absent: it is not. */
  end: number | undefined;
  /** Written by `turnsOf`, by the rule of `stateOf`. */
  state: TurnState;
  outcome: string;
  /** Its beginning is known: from the log, or because the server says that it is at work. */
  begun: boolean;
  /** The server hints at this moment that it is at work. */
  hinted: boolean;
  inputs: AnyEvent[];
  /** What else woke it: a verdict, an answer, a timer. */
  woken: AnyEvent[];
  voices: Voice[];
  followUps: Voice[];
  rounds: Call[];
  /** The submodules' and the decision's, without `reply`. */
  tools: ToolCall[];
  replies: AnyEvent[];
  /** What the decision said, thought, asked, or that it did nothing. */
  words: AnyEvent[];
  failures: AnyEvent[];
  /** What it asked of people: approvals and questions. */
  gates: AnyEvent[];
  /** How long the decision waits for submodules, in milliseconds, as the turn's beginning says. */
  patience: number | undefined;
  /** When the decision stopped waiting for submodules; absent: not known. */
  deadline: number | undefined;
  /** All its events, by seq. */
  events: AnyEvent[];
  tokens: { input: number; output: number; cached: number; known: boolean };
  /** Calls at work this moment, as the server hints: module, purpose, since when (milliseconds since 1970). */
  working: { module: string; purpose: string; since: number }[];
}

/** A hint of the server: a call, or a turn where there is no module, is at work. */
export interface Work {
  thread: string;
  turn: number;
  module: string;
  purpose: string;
  since: number;
  /** Of a turn: how long it waits for submodules, in milliseconds. */
  limit: number | undefined;
}

/** The key of a turn. */
export const keyOf = (thread: string, n: number) => `${thread} ${n}`;

/** The one rule for the state of a turn: an end in the log ends it; it works where the server hints so, or where the log has its beginning and the server does not deny that its thread thinks. */
export function stateOf(turn: Pick<Turn, "thread" | "end" | "begun" | "hinted">, thinks: Thinks = () => undefined): TurnState {
  if (turn.end !== undefined) return "ended";
  return turn.hinted || (turn.begun && thinks(turn.thread) !== false) ? "working" : "not known";
}

/** The word for a turn's state: its outcome where it has ended. */
export function stateWord(turn: Pick<Turn, "state" | "outcome">): string {
  return turn.state === "working" ? "at work" : turn.state === "ended" ? turn.outcome || "ended" : "not known";
}

/** Missions, their tasks and runs number their calls as turns and have none: `GET /threads/{thread}/turns` is empty. */
export const hasTurns = (thread: string) => !/^(missions|runs)\./.test(thread);

/** Folds turns out of events that are in order. Turns of which the beginning is not there are made from what is. */
export function turnsOf(events: readonly AnyEvent[], work: readonly Work[] = [], thinks?: Thinks): Map<string, Turn> {
  const turns = new Map<string, Turn>();
  const bySeq = new Map<number, AnyEvent>();
  for (const event of events) {
    if (wakes(event)) bySeq.set(event.seq, event);
    const n = numberOf(event, "turn");
    if (n === undefined || n === 0 || tagged(event, "cancel") || !hasTurns(event.thread)) continue;
    const key = keyOf(event.thread, n);
    const turn = turns.get(key) ?? fresh(event, n);
    turns.set(key, turn);
    turn.events.push(event);
    take(turn, event, bySeq);
  }
  for (const one of work) if (hasTurns(one.thread)) hint(turns, one, events);
  for (const turn of turns.values()) settle(turn, thinks);
  return turns;
}

/** An event that may wake a thread. */
export function wakes({ meta: { tags } }: AnyEvent): boolean {
  return tags.includes("input") || tags.includes("message") || tags[0] === "answer" || tags[0] === "timer" || (tags[0] === "approval" && !tags.includes("pending"));
}

/** What is at work has not written anything yet: its turn may not even be in the log. */
function hint(turns: Map<string, Turn>, work: Work, events: readonly AnyEvent[]): void {
  const key = keyOf(work.thread, work.turn);
  const known = turns.get(key);
  if (known?.end !== undefined && work.purpose !== "follow-up") return;
  const turn = known ?? fresh({ thread: work.thread, ts: new Date(work.since).toISOString() }, work.turn);
  turns.set(key, turn);
  turn.begun = true;
  turn.hinted ||= known?.end === undefined;
  if (work.limit !== undefined && turn.patience === undefined) turn.patience = work.limit;
  if (!known) turn.inputs = waitedFor(turns, work, events);
  if (!work.module) return;
  turn.working.push({ module: work.module, purpose: work.purpose, since: work.since });
  const voice = /^submodule:(.*)$/.exec(work.module)?.[1];
  if (voice !== undefined) voiceOf(turn, voice, work.purpose === "follow-up");
}

/** What a turn at work is about, of which nothing is stored yet: all that waited when it began. Where no turn before it is here, what came just before. */
function waitedFor(turns: ReadonlyMap<string, Turn>, { thread, turn, since }: Work, events: readonly AnyEvent[]): AnyEvent[] {
  const before = [...turns.values()].filter((one) => one.thread === thread && one.n < turn).flatMap(({ inputs }) => inputs.map(({ seq }) => seq));
  const from = before.length > 0 ? Math.max(...before) : undefined;
  const back = new Set(events.flatMap((event) => (tagged(event, "withdrawn") ? Number(event.payload.input) : [])));
  const waited = (event: AnyEvent) => (from === undefined ? at(event.ts) > since - 2_000 : event.seq > from);
  return events.filter((event) => event.thread === thread && (tagged(event, "input") || tagged(event, "message")) && at(event.ts) <= since && !back.has(event.seq) && waited(event)).slice(-20);
}

function fresh(event: Pick<AnyEvent, "thread" | "ts">, n: number): Turn {
  const tokens = { input: 0, output: 0, cached: 0, known: true };
  const lists = { inputs: [], woken: [], voices: [], followUps: [], rounds: [], tools: [], replies: [], words: [], failures: [], gates: [], events: [] };
  return { thread: event.thread, n, start: at(event.ts), end: undefined, state: "not known", outcome: "", begun: false, hinted: false, working: [], deadline: undefined, patience: undefined, tokens, ...lists };
}

function take(turn: Turn, event: AnyEvent, bySeq: Map<number, AnyEvent>): void {
  const voice = tagOf(event, "submodule:");
  if (tagged(event, "turn")) takeTurn(turn, event, bySeq);
  else if (isCall(event)) takeCall(turn, event);
  else if (tagged(event, "approval") || (tagged(event, "question") && tagged(event, "user"))) turn.gates.push(event);
  else if (tagged(event, "response")) turn.replies.push(event);
  else if (tagged(event, "action")) takeAction(turn, event, voice);
  else if (tagged(event, "result")) takeResult(turn, event);
  else if (tagged(event, "failure")) takeFailure(turn, event, voice);
  else if (tagged(event, "decision")) turn.words.push(event);
  else if (voice !== undefined) voiceOf(turn, voice, tagged(event, "follow-up")).said.push(event);
}

/** The seqs of the events that joined a turn, by the event that says so. */
export function joined(event: AnyEvent): number[] {
  const inputs = Array.isArray(event.payload.inputs) ? (event.payload.inputs as [number, number][]) : [];
  return inputs.flatMap(([from, input]) => Array.from({ length: input - from + 1 }, (_, part) => from + part));
}

function takeTurn(turn: Turn, event: AnyEvent, bySeq: Map<number, AnyEvent>): void {
  if (tagged(event, "ended")) {
    turn.end = at(event.ts);
    turn.outcome = textOf(event, "outcome");
    return;
  }
  if (tagged(event, "steered")) {
    turn.inputs = [...turn.inputs, ...joined(event).flatMap((seq) => bySeq.get(seq) ?? [])];
    return;
  }
  turn.start = at(event.ts);
  turn.begun = true;
  turn.patience = numberOf(event, "deadline_ms");
  const batch = Array.isArray(event.payload.batch) ? event.payload.batch : [];
  const woke = batch.flatMap((seq) => bySeq.get(Number(seq)) ?? []);
  const isSaid = (event: AnyEvent) => tagged(event, "input") || tagged(event, "message");
  [turn.inputs, turn.woken] = [woke.filter(isSaid), woke.filter((event) => !isSaid(event))];
  const names = Array.isArray(event.payload.submodules) ? event.payload.submodules : [];
  for (const name of names) voiceOf(turn, String(name), false);
}

function takeCall(turn: Turn, event: AnyEvent): void {
  const call = callOf(event);
  const { tokens } = turn;
  if (call.input === undefined) tokens.known = false;
  tokens.input += call.input ?? 0;
  tokens.output += call.output ?? 0;
  tokens.cached += call.cached ?? 0;
  const voice = /^submodule:(.*)$/.exec(call.module)?.[1];
  if (voice !== undefined) voiceOf(turn, voice, call.purpose === "follow-up").calls.push(call);
  else if (call.module === "decision") turn.rounds.push(call);
}

/** Reads the record of a call. */
export function callOf(event: AnyEvent): Call {
  const usage = partOf(event, "usage");
  const number = (name: string) => (typeof usage[name] === "number" ? (usage[name] as number) : undefined);
  const end = at(event.ts);
  const start = end - (numberOf(event, "duration_ms") ?? 0);
  const first = numberOf(event, "first_piece_ms");
  return {
    event,
    module: textOf(event, "module"),
    purpose: textOf(event, "purpose"),
    start,
    end,
    first: first === undefined ? undefined : start + first,
    outcome: textOf(event, "outcome"),
    input: number("input_tokens"),
    output: number("output_tokens"),
    cached: number("cached_tokens"),
    last: event.payload.last === true,
  };
}

function voiceOf(turn: Turn, name: string, followUp: boolean): Voice {
  const list = followUp ? turn.followUps : turn.voices;
  const known = list.find((voice) => voice.name === name);
  if (known) return known;
  const voice: Voice = { name, followUp, calls: [], said: [], failure: undefined, outcome: "at work" };
  list.push(voice);
  return voice;
}

function takeAction(turn: Turn, action: AnyEvent, voice: string | undefined): void {
  if (!isHidden(action)) turn.tools.push({ action, result: undefined, voice });
}

function takeResult(turn: Turn, result: AnyEvent): void {
  const call = turn.tools.find((tool) => tool.action.payload.call_id === result.payload.call_id);
  if (call) call.result = result;
  else if (tagged(result, "failure")) turn.failures.push(result);
}

function takeFailure(turn: Turn, failure: AnyEvent, voice: string | undefined): void {
  if (voice === undefined) turn.failures.push(failure);
  else voiceOf(turn, voice, tagged(failure, "follow-up")).failure = failure;
}

function settle(turn: Turn, thinks?: Thinks): void {
  turn.state = stateOf(turn, thinks);
  for (const voice of [...turn.voices, ...turn.followUps]) voice.outcome = outcomeOf(voice, turn);
  turn.deadline ??= waitedUntil(turn);
}

function outcomeOf(voice: Voice, turn: Turn): VoiceOutcome {
  if (voice.said.some((event) => tagged(event, "late"))) return "late";
  if (voice.said.length > 0) return "in time";
  // That the decision went on without it is no failure yet: it may still say something, late.
  const gaveUp = voice.failure && textOf(voice.failure, "kind") === "timeout" && !tagged(voice.failure, "late");
  if (voice.failure && !gaveUp) return "failed";
  if (voice.calls.some((call) => call.last && call.outcome === "answered")) return gaveUp ? "late" : "passed";
  if (voice.calls.some((call) => call.last && call.outcome !== "answered")) return "failed";
  if (gaveUp) return "late";
  if (turn.working.some((one) => one.module === `submodule:${voice.name}`)) return "at work";
  return turn.state === "working" ? "at work" : "not known";
}

/** The moment at which a submodule was not waited for any longer, as the log says; else where its patience would have ended. */
function waitedUntil(turn: Turn): number | undefined {
  const gone = turn.voices.find((voice) => voice.failure && textOf(voice.failure, "kind") === "timeout" && !tagged(voice.failure, "late"));
  if (gone?.failure) return at(gone.failure.ts);
  if (turn.patience === undefined) return undefined;
  return asked(turn) + turn.patience;
}

/** How a reply was kept: whole, or as far as it came. */
export function keptWord(turn: Pick<Turn, "outcome">, reply: AnyEvent): string {
  if (!tagged(reply, "partial")) return "stored whole";
  return `${turn.outcome === "cancelled" || turn.outcome === "interrupted" ? "stopped" : "cut off"}, kept as far as it came`;
}

/** How a call of a tool stands: one without a result is at work only while its turn is. */
export function toolWord(turn: Pick<Turn, "state" | "gates">, { action, result }: ToolCall): string {
  if (result) return tagged(result, "failure") ? "failed" : "done";
  if (turn.gates.some((gate) => gate.payload.call_id === action.payload.call_id)) return "waits for a person";
  return turn.state === "working" ? "at work" : "no result here";
}

/** When the last thing of a turn happened. */
export function lastMoment(turn: Turn): number {
  return turn.events.reduce((latest, event) => Math.max(latest, at(event.ts)), turn.start);
}

/** How many submodules came out how. */
export function tally(turn: Turn): Record<VoiceOutcome, number> {
  const counts: Record<VoiceOutcome, number> = { "in time": 0, late: 0, failed: 0, passed: 0, "at work": 0, "not known": 0 };
  for (const { outcome } of turn.voices) counts[outcome] += 1;
  return counts;
}

/** How long a turn took until the decision was done, in milliseconds; of one at work, until `now`; of one of which the end is not known, until its last event. */
export function took(turn: Turn, now: number): number {
  return Math.max(0, (turn.end ?? Math.max(turn.state === "working" ? now : 0, lastMoment(turn))) - begin(turn));
}

/** When the first call of a turn began. The event of its beginning is stored with the first output, which may be much later. */
function asked({ start, voices, rounds, working }: Turn): number {
  return Math.min(start, ...voices.flatMap(({ calls }) => calls.map((call) => call.start)), ...rounds.map((call) => call.start), ...working.filter(({ purpose }) => purpose !== "follow-up").map(({ since }) => since));
}

/** Where the time of a turn begins, for each view: with the last thing that woke it, where that was just before its first call. */
export function begin(turn: Turn): number {
  const first = asked(turn);
  const woke = Math.max(...turn.inputs.filter(({ seq }) => !(seq > (turn.events[0]?.seq ?? Number.POSITIVE_INFINITY))).map(({ ts }) => at(ts)), ...turn.woken.map(({ ts }) => at(ts)));
  return first - woke <= 5_000 ? Math.min(woke, first) : first;
}
