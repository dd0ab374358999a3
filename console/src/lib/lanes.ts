// One turn as swim lanes over time: where each bar, sign and line stands. Times are milliseconds from the turn's beginning; drawing is elsewhere.
import { at, line, plain, span } from "./format.ts";
import { type AnyEvent, type Role, isCall, tagOf, tagged, textOf } from "./events.ts";
import { type Call, type Turn, type Voice, begin, lastMoment, toolWord } from "./turns.ts";

/** How a bar looks: its texture says the outcome. */
export type Texture = "plain" | "until" | "hatched" | "dashed" | "solid" | "open";

/** A call, a tool, a reply, drawn over the time it took. */
export interface Bar {
  lane: number;
  from: number;
  to: number;
  texture: Texture;
  role: Role;
  label: string;
  /** For those who do not see it. */
  word: string;
  /** The event that a click opens. */
  event: AnyEvent | undefined;
  /** A call's record: its prompt can be read. */
  call: AnyEvent | undefined;
}

/** A sign at one moment. */
export interface Mark {
  lane: number;
  t: number;
  sign: string;
  role: Role;
  word: string;
  event: AnyEvent | undefined;
}

/** A line that says what reached whom. */
export interface Link {
  from: { lane: number; t: number };
  to: { lane: number; t: number };
  role: Role;
  kind: "reached" | "late" | "under" | "told";
}

/** One lane's head. */
export interface Lane {
  name: string;
  sign: string;
  role: Role;
  status: string;
  /** A stronger line below it. */
  group: boolean;
}

/** Words that ride on a submodule's line. */
export interface Ride {
  lane: number;
  from: number;
  to: number;
  text: string;
}

/** The whole picture. */
export interface Picture {
  /** Milliseconds from left to right. */
  width: number;
  ticks: { t: number; label: string }[];
  lanes: Lane[];
  bars: Bar[];
  marks: Mark[];
  links: Link[];
  rides: Ride[];
  deadline: number | undefined;
  /** The lanes of submodules: the shade behind the deadline covers these. */
  voices: { first: number; count: number };
  now: number | undefined;
  /** Where follow-ups begin. */
  followUps: number | undefined;
}

/** When the last thing of a turn happened that is drawn. A verdict that comes hours after the end, and the call that it lets run, are no part of its time. */
function lastOf(turn: Turn): number {
  const { end } = turn;
  if (end === undefined) return lastMoment(turn);
  return turn.events.reduce((latest, event) => (at(event.ts) <= end || isCall(event) || tagOf(event, "submodule:") !== undefined ? Math.max(latest, at(event.ts)) : latest), end);
}

/** Lays a turn out. `now` (milliseconds since 1970) counts as long as something is at work. */
export function layout(turn: Turn, now: number): Picture {
  const t0 = begin(turn);
  const atWork = turn.state === "working" || turn.followUps.some((voice) => voice.outcome === "at work");
  const end = Math.max(lastOf(turn), atWork ? now : 0, turn.deadline !== undefined && atWork ? turn.deadline : 0);
  const width = Math.max((end - t0) * 1.04, 20);
  const picture: Picture = {
    width,
    ticks: ticks(width),
    lanes: [],
    bars: [],
    marks: [],
    links: [],
    rides: [],
    // A turn that was over before it has no use for it.
    deadline: turn.deadline === undefined || turn.deadline > end ? undefined : turn.deadline - t0,
    voices: { first: 1, count: 0 },
    now: atWork ? now - t0 : undefined,
    followUps: turn.followUps.length > 0 && turn.end !== undefined ? turn.end - t0 : undefined,
  };
  // Nothing of a turn that is over grows with the clock.
  const draw = { picture, turn, t0, now: atWork ? now : end };
  person(draw);
  for (const voice of ordered(turn.voices)) voiceLane(draw, voice);
  picture.voices.count = picture.lanes.length - 1;
  const last = picture.lanes.at(-1);
  if (last) last.group = true;
  decisionLanes(draw);
  return picture;
}

interface Draw {
  picture: Picture;
  turn: Turn;
  t0: number;
  now: number;
}

/** In time first, then passed, failed and late: what the decision had comes first. */
function ordered(voices: Voice[]): Voice[] {
  const rank: Record<string, number> = { "in time": 0, "at work": 1, passed: 2, "not known": 3, failed: 4, late: 5 };
  return voices.map((voice, i) => ({ voice, i })).sort((a, b) => (rank[a.voice.outcome] ?? 9) - (rank[b.voice.outcome] ?? 9) || a.i - b.i).map(({ voice }) => voice);
}

function person({ picture, turn, t0 }: Draw): void {
  const first = turn.inputs[0];
  const message = first && tagged(first, "message");
  picture.lanes.push({ name: message ? "message" : "you", sign: message ? "mail" : "person", role: message ? "system" : "person", status: "", group: true });
  for (const input of turn.inputs.slice(-20)) {
    const t = Math.max(0, at(input.ts) - t0);
    picture.marks.push({ lane: 0, t, sign: message ? "mail" : "person", role: message ? "system" : "person", word: `input: ${line(textOf(input), 80)}`, event: input });
  }
  const spoken = turn.inputs.at(-1);
  if (spoken) picture.rides.push({ lane: 0, from: Math.max(0, at(spoken.ts) - t0), to: picture.width, text: line(textOf(spoken), 60) });
}

const LOOK: Record<string, { sign: string; role: Role }> = {
  "in time": { sign: "voice", role: "voice" },
  late: { sign: "late", role: "late" },
  failed: { sign: "fail", role: "fail" },
  passed: { sign: "pass", role: "pass" },
  "at work": { sign: "run", role: "voice" },
  "not known": { sign: "pass", role: "pass" },
};

function voiceLane(draw: Draw, voice: Voice): void {
  const { picture, turn, t0, now } = draw;
  const lane = picture.lanes.length;
  const { sign, role } = LOOK[voice.outcome]!;
  const spoken = voice.said[0];
  const last = spoken ?? voice.failure ?? voice.calls.at(-1)?.event;
  const to = endOf(voice, now) - t0;
  // Until the record of its call is there, the server's hint says when a submodule was asked.
  const since = turn.working.filter((one) => one.module === `submodule:${voice.name}` && one.purpose !== "follow-up").map((one) => one.since);
  const asked = [...voice.calls.map((call) => call.start), ...since];
  const from = Math.max(0, (asked.length ? Math.min(...asked) : turn.start) - t0);
  const status = voice.outcome === "in time" || voice.outcome === "late" || voice.outcome === "at work" ? span(to) : voice.outcome;
  picture.lanes.push({ name: voice.name, sign, role, status, group: false });
  voiceBars(draw, voice, lane, from, to);
  if (voice.outcome !== "at work") picture.marks.push({ lane, t: to, sign, role, word: `${voice.name}, ${voice.outcome}`, event: last });
  const follow = turn.followUps.find((other) => other.name === voice.name);
  if (follow) followUp(draw, follow, lane);
}

function endOf(voice: Voice, now: number): number {
  const spoken = voice.said.at(-1);
  if (spoken) return at(spoken.ts);
  if (voice.outcome === "failed" && voice.failure) return at(voice.failure.ts);
  const call = voice.calls.at(-1);
  if (call && call.last) return call.end;
  return voice.outcome === "at work" || voice.outcome === "late" ? now : (call?.end ?? now);
}

function voiceBars({ picture, turn }: Draw, voice: Voice, lane: number, from: number, to: number): void {
  const call = voice.calls[0]?.event;
  const event = voice.said[0] ?? voice.failure ?? call;
  const words = voice.said[0] ? line(textOf(voice.said[0]), 60) : "";
  const base = { lane, event, call };
  const word = `${voice.name}, ${voice.outcome}, ${span(to)}${words ? `, said: ${words}` : ""}`;
  const { deadline } = picture;
  if (voice.outcome === "late") {
    const cut = Math.min(Math.max(deadline ?? from, from), to);
    picture.bars.push({ ...base, from, to: cut, texture: "until", role: "late", label: words, word });
    picture.bars.push({ ...base, from: cut, to, texture: "hatched", role: "late", label: "", word: `${voice.name}, after the deadline` });
    const round = turn.rounds.map((one) => one.start - begin(turn)).find((start) => start >= to);
    if (round !== undefined) picture.links.push({ from: { lane, t: to }, to: { lane: -1, t: round }, role: "late", kind: "late" });
    return;
  }
  const texture: Texture = voice.outcome === "passed" || voice.outcome === "not known" ? "dashed" : voice.outcome === "at work" ? "open" : "plain";
  const label = voice.outcome === "failed" ? line(voice.failure ? textOf(voice.failure) : "failed", 60) : "";
  picture.bars.push({ ...base, from, to, texture, role: LOOK[voice.outcome]!.role, label, word });
  const first = turn.rounds[0];
  if (voice.outcome === "in time" && first) {
    const start = first.start - begin(turn);
    picture.links.push({ from: { lane, t: to }, to: { lane: -1, t: Math.max(start, to) }, role: "voice", kind: "reached" });
    picture.rides.push({ lane, from: to, to: Math.max(start, to), text: words });
  }
}

function followUp({ picture, turn, t0, now }: Draw, voice: Voice, lane: number): void {
  const begins = Math.min(...voice.calls.map((call) => call.start), turn.end ?? now) - t0;
  const to = endOf(voice, now) - t0;
  const { sign, role } = LOOK[voice.outcome]!;
  const texture: Texture = voice.outcome === "passed" ? "dashed" : voice.outcome === "at work" ? "open" : "plain";
  const event = voice.said[0] ?? voice.failure ?? voice.calls[0]?.event;
  const word = `${voice.name}, follow-up, ${voice.outcome}`;
  picture.bars.push({ lane, from: begins, to, texture, role, label: "", word, event, call: voice.calls[0]?.event });
  if (voice.said[0]) picture.marks.push({ lane, t: to, sign, role, word, event });
}

function decisionLanes(draw: Draw): void {
  const { picture, turn, t0, now } = draw;
  const lane = picture.lanes.length;
  for (const link of picture.links) link.to.lane = lane;
  const rounds = turn.rounds.filter((call) => call.purpose !== "summary");
  const status = rounds.length === 1 ? "1 round" : `${rounds.length} rounds`;
  picture.lanes.push({ name: "decision", sign: "decision", role: "decision", status, group: false });
  rounds.forEach((call, i) => roundBar(draw, call, i, lane));
  const deciding = turn.working.find((one) => one.module === "decision");
  if (turn.state === "working" && (deciding || turn.voices.every((voice) => voice.outcome !== "at work"))) openRound(draw, lane, deciding?.since);
  for (const event of turn.words) picture.marks.push({ lane, t: at(event.ts) - t0, sign: "decision", role: "decision", word: `decision: ${line(textOf(event), 60)}`, event });
  toolLane(draw, lane);
  replyLane(draw, lane);
  const waits = turn.failures.filter((event) => !tagged(event, "submodule"));
  for (const event of waits) picture.marks.push({ lane, t: Math.min(at(event.ts), Math.max(now, lastOf(turn))) - t0, sign: "alert", role: "fail", word: `failed: ${line(textOf(event), 80)}`, event });
}

function roundBar({ picture, t0 }: Draw, call: Call, i: number, lane: number): void {
  const bad = call.outcome === "failed" || call.outcome === "refused";
  const word = `round ${i + 1}, ${span(call.end - call.start)}, ${call.outcome}`;
  picture.bars.push({ lane, from: call.start - t0, to: call.end - t0, texture: "solid", role: bad ? "fail" : "decision", label: `round ${i + 1}`, word, event: call.event, call: call.event });
}

function openRound({ picture, turn, t0, now }: Draw, lane: number, known: number | undefined): void {
  const since = known ?? Math.max(turn.rounds.at(-1)?.end ?? 0, ...turn.tools.map((tool) => at((tool.result ?? tool.action).ts)), ...turn.voices.map((voice) => (voice.outcome === "late" ? 0 : endOf(voice, now))), turn.start);
  if (now >= since) picture.bars.push({ lane, from: since - t0, to: now - t0, texture: "open", role: "decision", label: "deciding", word: "the decision is at work", event: undefined, call: undefined });
}

function toolLane({ picture, turn, t0, now }: Draw, decision: number): void {
  const tools = turn.tools.filter((tool) => tool.voice === undefined);
  if (tools.length === 0) return;
  const lane = picture.lanes.length;
  picture.lanes.push({ name: "tools", sign: "tool", role: "tool", status: tools.length === 1 ? "1 call" : `${tools.length} calls`, group: false });
  for (const { action, result } of tools) {
    const from = at(action.ts) - t0;
    const took = result && typeof result.payload.duration_ms === "number" ? result.payload.duration_ms : undefined;
    const gate = turn.gates.find((one) => one.payload.call_id === action.payload.call_id);
    const open = Math.max(from, (turn.end ?? now) - t0);
    const to = result ? Math.max(from, took === undefined || gate ? Math.min(at(result.ts) - t0, open) : Math.min(from + took, at(result.ts) - t0)) : open;
    if (gate) picture.marks.push({ lane, t: from, sign: tagged(gate, "approval") ? "approval" : "question", role: "gate", word: `waits for a person: ${textOf(action, "tool")}`, event: gate });
    const failed = result !== undefined && tagged(result, "failure");
    const name = textOf(action, "tool");
    const word = `${name}, ${toolWord(turn, { action, result, voice: undefined })}, ${span(to - from)}`;
    picture.bars.push({ lane, from, to, texture: result ? "plain" : gate || turn.state !== "working" ? "dashed" : "open", role: failed ? "fail" : gate && !result ? "gate" : "tool", label: name, word, event: result ?? action, call: undefined });
    picture.links.push({ from: { lane: decision, t: from }, to: { lane, t: from }, role: "tool", kind: "under" });
  }
}

function replyLane({ picture, turn, t0 }: Draw, decision: number): void {
  const lane = picture.lanes.length;
  const stored = turn.replies.length;
  const status = stored > 0 ? (turn.replies.every((reply) => tagged(reply, "partial")) ? "in part" : "stored") : turn.state === "ended" ? "none" : "";
  picture.lanes.push({ name: "reply", sign: "reply", role: stored > 0 ? "reply" : "pass", status, group: true });
  for (const reply of turn.replies) {
    const to = at(reply.ts) - t0;
    const round = turn.rounds.find((call) => call.end - t0 >= to - 1) ?? turn.rounds.at(-1);
    // From the first piece of the round that wrote it; an older server did not note when that came.
    const from = round ? Math.min(to, (round.first ?? round.start) - t0) : to;
    picture.bars.push({ lane, from, to, texture: "solid", role: "reply", label: plain(textOf(reply), 60), word: `reply: ${plain(textOf(reply), 80)}`, event: reply, call: undefined });
    picture.marks.push({ lane, t: to, sign: "reply", role: "reply", word: tagged(reply, "partial") ? "kept as far as it came" : "stored", event: reply });
    picture.links.push({ from: { lane: decision, t: from }, to: { lane, t: from }, role: "reply", kind: "under" });
  }
}

/** Five to eight round times for an axis that begins at 0. */
export function ticks(width: number): { t: number; label: string }[] {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000, 120_000, 300_000, 600_000, 3_600_000, 7_200_000, 86_400_000].find((one) => width / one <= 8) ?? width / 6;
  const unit = width >= 180_000 ? { size: 60_000, name: "min" } : width >= 2_000 ? { size: 1000, name: "s" } : { size: 1, name: "ms" };
  const marks = [];
  for (let t = 0; t <= width; t += step) marks.push({ t, label: t === 0 ? `0 ${unit.name}` : String(Math.round((t / unit.size) * 10) / 10) });
  return marks;
}
