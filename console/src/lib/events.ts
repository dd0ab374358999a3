// How an event is looked at: its kind, its sign, whose it is, its words. One place, so that every view shows it alike.
import type { AnyEvent } from "../../../client/src/index.ts";
import { asWritten } from "../../../client/src/json.ts";
import { json, line } from "./format.ts";

export type { AnyEvent };

/** The colour roles of tokens.css. */
export type Role = "person" | "voice" | "late" | "fail" | "pass" | "decision" | "tool" | "reply" | "gate" | "system" | "ok";

/** What a row, a bubble or a drawer shows of an event. */
export interface Look {
  /** The sign's name in the sprite. */
  sign: string;
  role: Role;
  /** Who acts, with the outcome as a word where there is one. */
  who: string;
  /** What it says. */
  text: string;
  /** Machine text before the words: arguments, a key. */
  code: string;
  /** Of little weight: drawn in the quiet ink. */
  quiet: boolean;
}

/** A tag. */
export function tagged(event: AnyEvent, tag: string): boolean {
  return event.meta.tags.includes(tag);
}

/** What follows a prefix in the first tag that has it. */
export function tagOf(event: AnyEvent, prefix: string): string | undefined {
  return event.meta.tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length);
}

/** A member of the payload that is a text. */
export function textOf(event: AnyEvent, name = "text"): string {
  const value = event.payload[name];
  return typeof value === "string" ? value : "";
}

/** A member of the payload that is a number. */
export function numberOf(event: AnyEvent, name: string): number | undefined {
  const value = event.payload[name];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** A member of the payload that is an object. */
export function partOf(event: AnyEvent, name: string): Record<string, unknown> {
  const value = event.payload[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** The record of a model call. */
export function isCall(event: AnyEvent): boolean {
  return tagged(event, "debug") && tagOf(event, "call:") !== undefined;
}

/** The reply's action repeats the reply, and is never shown. */
export function isHidden(event: AnyEvent): boolean {
  return tagged(event, "action") && (tagged(event, "tool:reply") || tagged(event, "tool:think") || tagged(event, "tool:do_nothing"));
}

const look = (sign: string, role: Role, who: string, text: string, code = "", quiet = false): Look => ({ sign, role, who, text, code, quiet });

/** How an event looks. The action of a result, where the caller has it, lends its arguments. */
export function lookOf(event: AnyEvent, action?: AnyEvent): Look {
  const text = textOf(event);
  const tags = event.meta.tags;
  const has = (tag: string) => tags.includes(tag);
  const voice = tagOf(event, "submodule:");
  if (isCall(event)) return callLook(event);
  if (has("input")) return inputLook(event, text);
  if (tags[0] === "recall") return look("world", "system", "facts recalled", factsIn(text), "", true);
  if (has("response")) return look("reply", "reply", has("partial") ? "reply, cut off" : "reply", text);
  if (has("failure") && !has("result")) return failureLook(event, voice, text);
  if (has("approval")) return approvalLook(event, text);
  if (has("question") && has("user")) return look("question", "gate", "question", text);
  if (has("answer")) return look("question", "gate", has("expired") ? "no answer" : "answered", text, "", true);
  if (has("result")) return resultLook(event, action);
  if (has("action")) return look("tool", "tool", textOf(event, "tool") || (tagOf(event, "tool:") ?? "tool"), "", brief(event.payload.arguments));
  if (has("thought")) return look("decision", "decision", "thinks", text);
  if (has("no-action")) return look("decision", "decision", "nothing to do", text, "", true);
  if (has("question") && has("decision")) return look("question", "decision", `asks ${voice ?? "a submodule"}`, text);
  if (has("decision")) return look("decision", "decision", "decision", text);
  if (voice !== undefined) return has("late") ? look("late", "late", `${voice}, late`, text) : look("voice", "voice", has("follow-up") ? `${voice}, follow-up` : voice, text);
  if (tags[0] === "task") return taskLook(event, text);
  if (has("message")) return look("mail", "system", `message from ${tagOf(event, "from:") ?? "a thread"}`, text);
  return systemLook(event, text, tags);
}

/** The facts of a recall, without the words around them that are for the model. */
const factsIn = (text: string) => text.split("\n").flatMap((row) => (row.startsWith("- ") ? [row.slice(2)] : [])).join("\n") || text;

function inputLook(event: AnyEvent, text: string): Look {
  const user = textOf(event, "user") || "you";
  if (tagged(event, "type:trigger")) return look("timer", "person", tagOf(event, "trigger:") ?? "trigger", text);
  if (event.modality === "image" || event.modality === "audio") return look("img", "person", user, text, `${event.modality}, ${textOf(event, "mime")}`);
  return look("person", "person", user, text);
}

/** The server's texts of failures say `voice`; each page says submodule. */
export const named = (text: string) => text.replace(/\b(the|a|no) voice(s?)\b/gi, "$1 submodule$2");

function failureLook(event: AnyEvent, voice: string | undefined, text: string): Look {
  const kind = textOf(event, "kind");
  if (voice !== undefined) return look("fail", "fail", kind === "timeout" ? `${voice}, no answer` : `${voice} failed`, named(text));
  return look("alert", "fail", kind ? `${kind} failed` : "failed", text);
}

function approvalLook(event: AnyEvent, text: string): Look {
  const state = event.meta.tags[1] ?? "";
  const tool = tagOf(event, "tool:") ?? "tool";
  if (state === "pending") return look("approval", "gate", "approval wanted", "", `${tool} ${brief(event.payload.arguments)}`);
  return look("approval", "gate", `approval ${state}`, textOf(event, "reason") || text, tool, true);
}

function resultLook(event: AnyEvent, action: AnyEvent | undefined): Look {
  const tool = textOf(event, "tool") || (tagOf(event, "tool:") ?? "tool");
  const failed = tagged(event, "failure");
  const code = action ? brief(action.payload.arguments) : "";
  return look(failed ? "alert" : "tool", failed ? "fail" : "tool", failed ? `${tool} failed` : tool, failed ? named(textOf(event)) : textOf(event), code);
}

function callLook(event: AnyEvent): Look {
  const module = textOf(event, "module").replace(/^submodule:/, "");
  const outcome = textOf(event, "outcome");
  const usage = partOf(event, "usage");
  const cost = typeof usage.input_tokens === "number" ? `${usage.input_tokens} in, ${String(usage.output_tokens ?? "?")} out` : "";
  const sign = outcome === "failed" || outcome === "refused" ? "fail" : "system";
  return look(sign, outcome === "failed" || outcome === "refused" ? "fail" : "system", `call of ${module}`, textOf(event, "failure") || outcome, cost, true);
}

/** What is said of a mission's task. */
function taskLook(event: AnyEvent, text: string): Look {
  const id = tagOf(event, "task:") ?? "task";
  const why = textOf(event, "why");
  switch (event.meta.tags[1]) {
    case "began":
      return look("run", "decision", `${id} begins`, "", "", true);
    case "tried":
      return look("decision", "decision", `${id} tried ${textOf(event, "route")} (${textOf(event, "tier")})`, [textOf(event, "answer"), why].filter(Boolean).join("\n"));
    case "judged":
      return event.payload.passes === true ? look("ok", "ok", `${id} passes, by ${textOf(event, "by")}`, why) : look("fail", "fail", `${id} does not pass, by ${textOf(event, "by")}`, why);
    case "over":
      return event.payload.status === "closed" ? look("ok", "ok", `${id} is done`, textOf(event, "answer")) : look("fail", "fail", `${id} has failed`, textOf(event, "reason"));
    case "refused":
      return look("alert", "late", `${id} was refused ${textOf(event, "of")}`, why);
    default:
      return look("thought", "decision", `${id} ${event.meta.tags[1] ?? ""}`, text);
  }
}

const SYSTEM: [string, string, Role][] = [
  ["turn", "system", "system"],
  ["timer", "timer", "system"],
  ["timer-set", "timer", "system"],
  ["thread-stuck", "alert", "fail"],
  ["system-thread-error", "alert", "fail"],
  ["thread", "system", "system"],
  ["run", "pipe", "system"],
  ["node", "pipe", "system"],
  ["schedule", "timer", "system"],
  ["statement", "world", "system"],
  ["mission", "mission", "system"],
  ["recall", "world", "system"],
  ["correction", "alert", "late"],
  ["state", "system", "system"],
];

function systemLook(event: AnyEvent, text: string, tags: string[]): Look {
  const known = SYSTEM.find(([tag]) => tags.includes(tag));
  const who = tags.slice(0, 2).join(" ") || event.source;
  if (tags[0] === "statement" && tags[1] === "judged") return judgedLook(text, tags[3] ?? "");
  return look(known?.[1] ?? "system", known?.[2] ?? "system", who, text, "", (known?.[2] ?? "system") === "system");
}

function judgedLook(text: string, outcome: string): Look {
  return look(statementSign(outcome), statementRole(outcome), `statement ${statementWord(outcome)}`, text);
}

/** The state of a statement in plain words. */
export function statementWord(status: string): string {
  return { surviving: "known", proposed: "being checked", contested: "contested", untested: "not testable", falsified: "refuted", ended: "outdated", retracted: "withdrawn" }[status] ?? status;
}

/** The sign of a statement's state. */
export function statementSign(status: string): string {
  if (status === "surviving") return "ok";
  if (status === "falsified") return "x";
  return status === "retracted" || status === "ended" ? "pass" : "timer";
}

/** The colour role of a statement's state. */
export function statementRole(status: string): Role {
  if (status === "surviving") return "ok";
  if (status === "falsified") return "fail";
  return status === "retracted" || status === "ended" ? "pass" : "late";
}

/** Arguments in one line. One that has a single text is that text in quotes. */
export function brief(value: unknown): string {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const kept = Object.keys(value).map((name) => [name, asWritten(value, name)] as const).filter(([, member]) => member !== null && member !== undefined);
    const [only] = kept;
    if (kept.length === 0) return "";
    if (kept.length === 1 && only && typeof only[1] === "string") return `“${line(only[1], 90)}”`;
    return line(kept.map(([name, member]) => `${name}: ${json(member, 0, 90)}`).join(", "), 160);
  }
  return value === undefined ? "" : line(json(value), 120);
}
