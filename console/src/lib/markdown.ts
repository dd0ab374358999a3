// Markdown as a tree of plain data, of which components make elements: no markup of a text ever reaches the page as markup.
// What is known: paragraphs, headings, lists, quotes, code, tables, emphasis, links. Everything else is text.

/** A piece within a line. */
export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "em"; inner: Inline[] }
  /** A link shows its address; only http and https can be opened. */
  | { kind: "link"; inner: Inline[]; address: string };

/** On which side the cells of a column stand; empty: as their text runs. */
export type Align = "" | "left" | "right" | "center";

/** A block. */
export type Block =
  | { kind: "paragraph" | "heading"; inner: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "list"; ordered: boolean; items: Inline[][] }
  | { kind: "quote"; inner: Block[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][]; align: Align[] }
  | { kind: "rule" };

/** How deep quotes and emphasis may nest, and how many blocks are read: hostile text is the normal case. */
const DEEP = 4;
const MOST_BLOCKS = 400;
const LONGEST_LINE = 8_000;

/** Reads Markdown. Never fails: what it does not understand is a paragraph. */
export function markdown(source: string, depth = 0): Block[] {
  const lines = source.replace(/\r\n?/g, "\n").split("\n");
  const blocks: Block[] = [];
  let i = 0;
  while (i < lines.length) {
    if (blocks.length >= MOST_BLOCKS) {
      blocks.push({ kind: "paragraph", inner: [{ kind: "text", text: lines.slice(i).join("\n") }] });
      break;
    }
    if (lines[i]!.trim() === "") i += 1;
    else i = block(lines, i, blocks, depth);
  }
  return blocks;
}

const FENCE = /^\s{0,3}(```+|~~~+)/;
const ITEM = /^\s{0,6}(?:([-*+])|(\d{1,6})[.)])\s+(.*)$/;
const HEADING = /^\s{0,3}#{1,6}\s+(.*?)\s*#*$/;
const QUOTE = /^\s{0,3}>\s?/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const DASHES = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function block(lines: string[], from: number, out: Block[], depth: number): number {
  const first = lines[from]!;
  if (FENCE.test(first)) return code(lines, from, out);
  const heading = HEADING.exec(first);
  if (heading) return out.push({ kind: "heading", inner: inline(heading[1]!) }), from + 1;
  if (RULE.test(first)) return out.push({ kind: "rule" }), from + 1;
  if (QUOTE.test(first) && depth < DEEP) return quote(lines, from, out, depth);
  if (ITEM.test(first)) return list(lines, from, out);
  if (first.includes("|") && DASHES.test(lines[from + 1] ?? "") && lines[from + 1]!.includes("-")) return table(lines, from, out);
  let to = from + 1;
  while (to < lines.length && !starts(lines[to]!)) to += 1;
  out.push({ kind: "paragraph", inner: inline(lines.slice(from, to).join("\n")) });
  return to;
}

const starts = (line: string) => line.trim() === "" || FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || ITEM.test(line) || RULE.test(line);

function code(lines: string[], from: number, out: Block[]): number {
  const fence = FENCE.exec(lines[from]!)![1]!;
  let to = from + 1;
  while (to < lines.length && !lines[to]!.trim().startsWith(fence)) to += 1;
  out.push({ kind: "code", text: lines.slice(from + 1, to).join("\n") });
  return to + 1;
}

function quote(lines: string[], from: number, out: Block[], depth: number): number {
  let to = from;
  while (to < lines.length && QUOTE.test(lines[to]!)) to += 1;
  const inner = lines.slice(from, to).map((line) => line.replace(QUOTE, ""));
  out.push({ kind: "quote", inner: markdown(inner.join("\n"), depth + 1) });
  return to;
}

function list(lines: string[], from: number, out: Block[]): number {
  const ordered = ITEM.exec(lines[from]!)![2] !== undefined;
  const items: string[] = [];
  let to = from;
  for (; to < lines.length; to += 1) {
    const item = ITEM.exec(lines[to]!);
    if (item) items.push(item[3]!);
    else if (/^\s{2,}\S/.test(lines[to]!) && items.length > 0) items[items.length - 1] += `\n${lines[to]!.trim()}`;
    else break;
  }
  out.push({ kind: "list", ordered, items: items.map((item) => inline(item)) });
  return to;
}

function table(lines: string[], from: number, out: Block[]): number {
  const split = (line: string) => line.trim().replace(/^\||\|$/g, "").split("|").slice(0, 20).map((cell) => cell.trim());
  const cells = (line: string) => split(line).map((cell) => inline(cell));
  let to = from + 2;
  while (to < lines.length && lines[to]!.includes("|")) to += 1;
  out.push({ kind: "table", head: cells(lines[from]!), rows: lines.slice(from + 2, to).map(cells), align: split(lines[from + 1]!).map(alignOf) });
  return to;
}

function alignOf(dashes: string): Align {
  const [left, right] = [dashes.startsWith(":"), dashes.endsWith(":")];
  return left && right ? "center" : right ? "right" : left ? "left" : "";
}

const SPAN = /(`+)([\s\S]+?)\1(?!`)|\*\*(\S(?:[\s\S]*?\S)?)\*\*|(?<![\w*])\*(\S(?:[^*]*?\S)?)\*(?!\w)|(?<!\w)_(\S(?:[^_]*?\S)?)_(?!\w)|\[([^\[\]\n]{0,400})\]\(([^()\s]{1,2000})\)/;

/** Reads a line's emphasis, code and links. */
export function inline(source: string, depth = 0): Inline[] {
  if (depth > DEEP || source.length > LONGEST_LINE) return [{ kind: "text", text: source }];
  const out: Inline[] = [];
  let rest = source;
  for (let found = SPAN.exec(rest); found; found = SPAN.exec(rest)) {
    if (found.index > 0) out.push({ kind: "text", text: rest.slice(0, found.index) });
    out.push(piece(found, depth));
    rest = rest.slice(found.index + found[0].length);
    if (out.length > 500) break;
  }
  if (rest) out.push({ kind: "text", text: rest });
  return out;
}

function piece(found: RegExpExecArray, depth: number): Inline {
  const [whole, , code, strong, star, bar, label, target] = found;
  if (code !== undefined) return { kind: "code", text: code.trim() };
  if (strong !== undefined) return { kind: "strong", inner: inline(strong, depth + 1) };
  if (star !== undefined || bar !== undefined) return { kind: "em", inner: inline(star ?? bar ?? "", depth + 1) };
  const address = safe(target ?? "");
  return address ? { kind: "link", inner: inline(label || address, depth + 1), address } : { kind: "text", text: whole };
}

/** An address that may be opened: http and https, nothing else. */
export function safe(address: string): string | undefined {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
  } catch {
    return undefined;
  }
}
