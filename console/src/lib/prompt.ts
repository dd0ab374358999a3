// What a model call saw, in sections: the request that the server rebuilt, taken apart for reading. Nothing is left out or added.
import { writeJson } from "../../../client/src/json.ts";
import type { Role } from "./events.ts";

/** One entry of the log as the prompt has it. */
export interface Entry {
  seq: number;
  who: string;
  text: string;
}

/** A section of a prompt. */
export interface Section {
  role: Role;
  title: string;
  note: string;
  text: string;
  entries: Entry[];
  /** Tokens, as the server estimates them by size: providers count only the whole. */
  tokens: number;
}

/** A piece of a request, as the server names it. */
export interface Piece {
  kind: string;
  seq?: number | null;
  tokens_estimated: number;
}

/** A prompt view, as `GET /prompt-views/{id}` answers. */
export interface PromptView {
  call: string;
  exact: boolean;
  model: string;
  module: string;
  purpose: string;
  thread: string;
  request: { messages?: unknown[]; tools?: unknown[]; [member: string]: unknown };
  sections?: Piece[];
  usage?: { input_tokens?: number; output_tokens?: number; cached_tokens?: number };
  [member: string]: unknown;
}

const ENTRY = /^#(\d+) \[[^\]]*\] ([^:\n]*):? ?(.*)$/;

/** Takes a request apart. `batch`: the seqs of what woke the turn. */
export function sectionsOf(view: PromptView, batch: ReadonlySet<number> = new Set()): Section[] {
  const sections: Section[] = [];
  const tools = view.request.tools ?? [];
  for (const message of view.request.messages ?? []) {
    const { role, text } = said(message);
    if (role === "system") sections.push(section("system", "Common text", "the same in every call of its kind", text));
    else if (role === "user") sections.push(...user(text, view.module, batch));
    else sections.push(section(role === "tool" ? "tool" : "decision", role === "tool" ? "Result of a tool" : "Earlier answer", "", text));
  }
  // Tools stand first, as providers read and cache them.
  if (tools.length > 0) sections.unshift(section("tool", `Tools, ${tools.length}`, "names, descriptions, schemas", writeJson(tools, 1)));
  if (view.sections?.length) share(sections, view.sections);
  else weigh(sections, view.usage?.input_tokens);
  return sections;
}

function said(message: unknown): { role: string; text: string } {
  const { role, content, tool_calls } = message as { role?: string; content?: unknown; tool_calls?: unknown };
  const parts = Array.isArray(content) ? content.map((part: { text?: string; type?: string }) => part.text ?? `(${part.type ?? "part"})`).join("\n") : String(content ?? "");
  return { role: role ?? "", text: tool_calls === undefined ? parts : `${parts}${writeJson(tool_calls)}` };
}

const section = (role: Role, title: string, note: string, text: string, entries: Entry[] = []): Section => ({ role, title, note, text, entries, tokens: 0 });

/** The user's message of a request: entries of the log, of them those that woke the turn, and the text behind them. */
function user(text: string, module: string, batch: ReadonlySet<number>): Section[] {
  const entries: Entry[] = [];
  const before: string[] = [];
  const behind: string[] = [];
  let open = false;
  for (const line of text.split("\n")) {
    const found = ENTRY.exec(line);
    if (found && behind.length === 0) entries.push({ seq: Number(found[1]), who: found[2]!, text: found[3]! });
    else if (open && line.startsWith("    ") && behind.length === 0) entries.at(-1)!.text += `\n${line.slice(4)}`;
    else if (entries.length > 0) behind.push(line);
    else before.push(line);
    open = entries.length > 0;
  }
  const input = entries.filter((entry) => batch.has(entry.seq));
  const rest = entries.filter((entry) => !batch.has(entry.seq));
  const out: Section[] = [];
  if (before.join("").trim()) out.push(section("system", "Before the log", "", before.join("\n").trim()));
  if (rest.length > 0) out.push(section("person", "Transcript", `${rest.length} events, #${rest[0]!.seq} to #${rest.at(-1)!.seq}`, "", rest));
  if (input.length > 0) out.push(section("decision", "The input", input.map((entry) => `#${entry.seq}`).join(", "), "", input));
  const name = module.replace(/^submodule:/, "");
  if (behind.join("").trim()) out.push(section("voice", `Prompt of ${name}`, "the end of the request", behind.join("\n").trim()));
  return out;
}

/** Gives the tokens of the server's pieces to the sections in which they are read: those of events by seq, those of texts by kind. */
function share(sections: Section[], pieces: readonly Piece[]): void {
  const bySeq = new Map<number, Section>();
  for (const one of sections) for (const { seq } of one.entries) bySeq.set(seq, one);
  const ofTitle = (beginning: string) => sections.find((one) => one.title.startsWith(beginning));
  const [tools, common, before, last] = [ofTitle("Tools"), ofTitle("Common text"), ofTitle("Before the log"), sections.at(-1)];
  const places: Record<string, Section | undefined> = { tools, system: common, summary: before, corrections: ofTitle("Prompt of"), task: ofTitle("Prompt of"), prompt: ofTitle("Prompt of"), self: ofTitle("Prompt of") };
  for (const { kind, seq, tokens_estimated: tokens } of pieces) {
    const section = (seq == null ? undefined : bySeq.get(seq)) ?? places[kind] ?? last;
    if (section) section.tokens += tokens;
  }
}

/** Without the server's pieces: by length. */
function weigh(sections: Section[], total: number | undefined): void {
  const length = (one: Section) => one.text.length + one.entries.reduce((sum, entry) => sum + entry.text.length + entry.who.length + 24, 0);
  const all = sections.reduce((sum, one) => sum + length(one), 0) || 1;
  for (const one of sections) one.tokens = Math.round(((total ?? all / 4) * length(one)) / all);
}
