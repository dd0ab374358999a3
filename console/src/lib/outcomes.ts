// Outcomes in a talk: of a question, of a call that waited for people, and of a turn without a reply. All of it is read from events, none from a list of what is open.
import { ProblemError } from "../../../client/src/index.ts";
import { type AnyEvent, partOf, tagOf, tagged, textOf } from "./events.ts";
import type { Turn } from "./turns.ts";
import { asSentence, json, line } from "./format.ts";

/** The end of a request: the verdict or the answer, and the result of a call that was approved. */
export interface Settled {
  by: AnyEvent | undefined;
  result: AnyEvent | undefined;
}

/** The kind of request that an event makes of people; absent: it makes none. */
export function requestOf(event: AnyEvent): "question" | "approval" | undefined {
  if (tagged(event, "approval")) return tagged(event, "pending") ? "approval" : undefined;
  return tagged(event, "question") && tagged(event, "user") ? "question" : undefined;
}

/** The id of the request that an event makes, settles or carries out; empty: of none. */
export const requestId = (event: AnyEvent) => textOf(event, "approval_id") || textOf(event, "question_id");

/** The ends of requests by their ids. The first verdict counts. */
export function settledOf(events: readonly AnyEvent[]): Map<string, Settled> {
  const found = new Map<string, Settled>();
  for (const event of events) {
    const id = requestId(event);
    if (!id || requestOf(event)) continue;
    const settled = found.get(id) ?? { by: undefined, result: undefined };
    if (tagged(event, "answer") || (tagged(event, "approval") && !tagged(event, "started"))) settled.by ??= event;
    else if (tagged(event, "result")) settled.result ??= event;
    found.set(id, settled);
  }
  return found;
}

/** Words for an outcome: a sentence, words of a person or a tool, and the sign with its colour role. */
export interface Words {
  sentence: string;
  said: string;
  sign: string;
  role: "ok" | "fail" | "system";
}

/** The outcome of a request in words. `mine`: this browser gave the verdict. */
export function wordsOf({ by, result }: Settled, mine: boolean): Words | undefined {
  if (!by) return undefined;
  const name = textOf(by, "by") || textOf(by, "user");
  const did = (verb: string) => (mine ? `You ${verb}` : name ? `${line(name, 60)} ${verb}` : `${verb[0]!.toUpperCase()}${verb.slice(1)}`);
  const words = (sentence: string, said: string, role: Words["role"], sign = role === "ok" ? "ok" : role === "fail" ? "x" : "timer"): Words => ({ sentence, said, role, sign });
  if (tagged(by, "withdrawn")) return words("Withdrawn: the work that asked has ended.", textOf(by, "reason"), "system", "x");
  if (!tagged(by, "approval")) {
    if (tagged(by, "expired")) return words("Nobody answered in time.", "", "system");
    if (tagged(by, "away")) return words("Not asked: the setting says that you are away.", "", "system");
    return words(`${did("answered")}:`, by.payload.value === undefined || typeof by.payload.value === "string" ? textOf(by) : json(by.payload.value), "ok");
  }
  if (tagged(by, "expired")) return words("Nobody decided in time. It counts as rejected.", "", "system");
  if (tagged(by, "denied")) return words(`${did("rejected it")}.`, textOf(by, "reason"), "fail");
  if (tagged(by, "answered")) return words(`${did("answered in its place")}:`, textOf(by, "reason"), "ok");
  const after = result === undefined ? "" : tagged(result, "failure") ? ` It failed: ${line(textOf(result), 200)}` : " It ran.";
  return words(`${did("approved it")}${by.payload.edited === true ? ", with changes" : ""}.${after}`, textOf(by, "reason"), result && tagged(result, "failure") ? "fail" : "ok");
}

/** Why a turn began that no message did: `of` names what people were asked. Absent: the event is none of these. `mine`: this browser gave the verdict. */
export function causeOf(woken: AnyEvent, mine: boolean): { words: string; of: string } | undefined {
  const by = line(textOf(woken, "by") || textOf(woken, "user"), 60);
  const who = mine ? "you" : by || "a person";
  const [kind] = woken.meta.tags;
  if (kind === "timer") return { words: "because of the timer", of: line(textOf(woken), 80) };
  if (kind === "answer") return { words: tagged(woken, "expired") ? "because there was no answer in time to" : tagged(woken, "away") ? "because nobody could be asked" : tagged(woken, "withdrawn") ? "because it was withdrawn:" : `because ${who} answered`, of: "the question" };
  if (kind !== "approval") return undefined;
  const did = tagged(woken, "granted") ? `${who} approved` : tagged(woken, "denied") ? `${who} rejected` : tagged(woken, "answered") ? `${who} answered in the place of` : tagged(woken, "expired") ? "there was no verdict in time on" : "nothing is to be decided any more on";
  return { words: `because ${did}`, of: line(textOf(woken, "tool") || (tagOf(woken, "tool:") ?? "a call"), 80) };
}

/** The beginning of the turn is here, and with it all that it did: only then is a reply that is not here no reply. */
export function isWhole(turn: Turn): boolean {
  return turn.events.some((event) => event.meta.tags[0] === "turn" && tagged(event, "started"));
}

/** Why a turn ended without a reply: a sentence, and the reason in the agent's own words where it gave one. */
export function silenceOf(turn: Turn, ended: AnyEvent): { sentence: string; reason: string } {
  const says = (sentence: string, reason = "") => ({ sentence, reason });
  if (turn.outcome === "cancelled") return says("Stopped before there was a reply.");
  if (turn.outcome === "interrupted") return says("A newer message stopped this turn before there was a reply.");
  const silent = turn.words.findLast((event) => tagged(event, "no-action"));
  if (silent) return says(textOf(silent) ? "It decided to stay silent:" : "It decided to stay silent, and gave no reason.", textOf(silent));
  const asked = turn.gates.filter(requestOf);
  const tools = [...new Set(asked.flatMap((event) => (requestOf(event) === "approval" ? (tagOf(event, "tool:") ?? "a call") : [])))];
  const asks = [...(asked.some((event) => requestOf(event) === "question") ? ["an answer"] : []), ...(tools.length > 0 ? [`approval of ${tools.join(", ")}`] : [])];
  if (asks.length > 0) return says(`No reply in this turn: it only asked for ${asks.join(" and ")}.`);
  const wait = partOf(ended, "wait");
  const whom = String(wait.name ?? wait.from ?? "");
  if (Object.keys(wait).length > 0) return says(whom ? asSentence(`No reply in this turn: it waits for ${line(whom, 80)}`) : "No reply in this turn: it waits.", typeof wait.reason === "string" ? wait.reason : "");
  const did = [...new Set(turn.tools.filter(({ voice }) => voice === undefined).map(({ action }) => tagOf(action, "tool:") ?? "a tool"))];
  if (did.length > 0) return says(`No reply in this turn: it used ${did.slice(0, 3).join(", ")}${did.length > 3 ? ` and ${did.length - 3} more` : ""}.`);
  return says("No reply in this turn, and it gave no reason.");
}

const DOCTOR = "thinkd doctor on the server checks the model and says what to set.";
const AGAIN = "Say it again; if it stays so, thinkd doctor on the server checks the model.";

/** A refusal of a model's server: a sentence, and the next step. */
function refusalOf(failure: AnyEvent): [sentence: string, step: string] {
  const { status, reason } = partOf(failure, "detail");
  if (reason === "too_long") return ["What was to be read is too long for the model.", "Shorter messages or a new chat help; on the server history.bytes says how much the model is given."];
  if (reason === "filtered") return ["A filter of the model's server let it not pass.", "Say it in other words."];
  if (reason === "media") return ["The model does not take this image or sound.", "Say it without, or set a model that takes it."];
  if (status === 401 || status === 403) return ["The model's server did not take the key that this server has.", "Set the right one on the server (OPENAI_API_KEY, or api_key of the model)."];
  if (status === 402 || status === 429) return ["The model's server takes no more requests at the moment.", "Wait a moment and say it again; if it stays so, look at the quota there."];
  if (status === 404) return ["The model's server does not know this model, or not this address.", DOCTOR];
  if (typeof status === "number" && status >= 500) return ["The model's server has a fault of its own.", AGAIN];
  if (typeof status === "number") return ["The model's server refused the request.", failure.payload.retryable === true ? AGAIN : DOCTOR];
  return ["The model did not answer.", failure.payload.retryable === true ? AGAIN : DOCTOR];
}

/** A failure in a talk: one plain sentence, the next step, and apart from them the words of the model's server, where it has some. */
export function failureOf(failure: AnyEvent | undefined): { sentence: string; step: string; raw: string } {
  const text = failure ? textOf(failure) : "";
  const step = adviceOf(failure);
  if (failure && textOf(failure, "kind") === "model") return { sentence: refusalOf(failure)[0], step, raw: text };
  return { sentence: asSentence(`${text.slice(0, 1).toUpperCase()}${text.slice(1)}`), step, raw: "" };
}

/** The next thing to do after a failure, as its event tells it. */
export function adviceOf(failure: AnyEvent | undefined): string {
  if (!failure) return "";
  const key = partOf(failure, "detail").key;
  if (typeof key === "string") return `The setting ${line(key, 80)} limits it: ask for less at a time, or raise it.`;
  if (textOf(failure, "kind") === "model") return refusalOf(failure)[1];
  return failure.payload.retryable === true ? "It may work when you say it again." : "It will not work the same way again: say it otherwise.";
}

/** The facts that a turn recalled, by itself or by a tool, in the order of the log. */
export function recalledIn({ events }: Pick<Turn, "events">): string[] {
  return [...new Set(events.flatMap(({ meta }) => meta.tags.flatMap((tag) => (tag.startsWith("recalled:") ? [tag.slice("recalled:".length)] : []))))];
}

/** Why a verdict was not taken, with the acts that the page has: the server names one that it has not. */
export function refusedWords(error: unknown, tool: string): unknown {
  if (!(error instanceof ProblemError) || error.slug !== "tool-changed") return error;
  return new Error(`The tool ${tool} is gone, or has changed since this call was proposed. It cannot be approved any more: reject it, and ask again for what is still wanted.`);
}

/** The mission that a call began; absent: it began none. */
export function missionBegun(event: AnyEvent): string | undefined {
  if (!tagged(event, "tool:start_mission") || !tagged(event, "result") || tagged(event, "failure")) return undefined;
  try {
    const { mission } = JSON.parse(textOf(event)) as { mission?: unknown };
    return typeof mission === "string" && /^missions\.[\w-]{1,64}$/.test(mission) ? mission : undefined;
  } catch {
    return undefined;
  }
}
