// Numbers, times and foreign text as the console writes them. Nothing here knows events.
import { writeJson } from "../../../client/src/json.ts";

/** 1234567 → "1,234,567". */
export function count(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A number of tokens, short: 812, 3.0k, 24.6k, 1.2M. */
export function tokens(value: number): string {
  if (value < 1000) return String(Math.round(value));
  if (value < 1_000_000) return `${(value / 1000).toFixed(1)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** Milliseconds as people read them: 12 ms, 3.2 s, 4 min, 2 h 5 min, 3 days. Less than none is none: two clocks are never the same. */
export function span(ms: number): string {
  if (ms < 100) return `${Math.round(Math.max(0, ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.round(ms / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.round(hours / 24)} days`;
}

/** `#8,412`. */
export function seqName(seq: number): string {
  return `#${count(seq)}`;
}

/** Milliseconds since 1970 of a timestamp; NaN when it is none. */
export function at(ts: string | null | undefined): number {
  return ts ? Date.parse(ts) : Number.NaN;
}

const two = (value: number) => String(value).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

let utc = false;
/** Times are written in UTC, or in the zone of the browser. */
export function useUtc(on: boolean): void {
  utc = on;
}

/** A moment whose local fields are those of the zone that times are written in. */
export function inZone(ms: number): Date {
  return new Date(utc ? ms + new Date(ms).getTimezoneOffset() * 60_000 : ms);
}

/** The zone in which times are written, in words. */
export function zone(then = Date.now()): string {
  const minutes = utc ? 0 : -new Date(then).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${size % 60 ? `:${two(size % 60)}` : ""}`;
}

/** A moment as the chosen zone has it: day, hours and minutes, seconds. */
function parts(then: number): { day: string; year: number; clock: string; seconds: string } {
  const date = inZone(then);
  return { day: `${date.getDate()} ${MONTHS[date.getMonth()]}`, year: date.getFullYear(), clock: `${two(date.getHours())}:${two(date.getMinutes())}`, seconds: two(date.getSeconds()) };
}

/** The day before a clock, as far as it is needed: nothing today, the day this year, else the year, too. */
function dayOf(then: number, from: number): string {
  const [one, now] = [parts(then), parts(from)];
  if (one.year !== now.year) return `${one.day} ${one.year} `;
  return one.day === now.day ? "" : `${one.day} `;
}

/** A moment seen from another one: relative up to a minute, then `18:22:48` today, `26 Nov 15:17` this year, `26 Nov 2025 15:17` before. */
export function when(ts: string, from: number): string {
  const then = at(ts);
  if (Number.isNaN(then)) return "not known";
  const behind = from - then;
  if (Math.abs(behind) < 1_000) return "now";
  if (behind > 0 && behind < 60_000) return `${Math.floor(behind / 1000)} s ago`;
  const day = dayOf(then, from);
  const { clock, seconds } = parts(then);
  return day ? `${day}${clock}` : `${clock}:${seconds}`;
}

/** The moment until which something waits: `22:08` today, `3 Dec 22:08` on another day. */
export function due(ts: string | null | undefined, from: number): string {
  const then = at(ts);
  return Number.isNaN(then) ? "not known" : `${dayOf(then, from)}${parts(then).clock}`;
}

/** A moment whole, with its zone: for titles. */
export function full(ts: string | null | undefined): string {
  const then = at(ts);
  if (Number.isNaN(then)) return "not known";
  const { day, year, clock, seconds } = parts(then);
  return `${day} ${year}, ${clock}:${seconds} ${zone(then)}`;
}

/** The day of a timestamp: `26 Nov`. */
export function date(ts: string): string {
  const then = at(ts);
  return Number.isNaN(then) ? "not known" : parts(then).day;
}

/** Hours and minutes of a timestamp. */
export function clock(ts: string): string {
  const then = at(ts);
  return Number.isNaN(then) ? "not known" : parts(then).clock;
}

/** The longest text that is laid out in one go. */
export const LONG = 4_000;

// Characters that a model reads and a person does not see: the rule of `server/words/unseen.rs`.
const JOINED = ["Adlam", "Arabic", "Balinese", "Bengali", "Chakma", "Devanagari", "Grantha", "Gujarati", "Gurmukhi", "Javanese", "Kaithi", "Kannada", "Khmer", "Lao", "Limbu", "Malayalam", "Mandaic", "Mongolian", "Myanmar", "Nandinagari", "Newa", "Nko", "Oriya", "Saurashtra", "Sinhala", "Sundanese", "Syriac", "Tamil", "Telugu", "Thaana", "Tibetan", "Tirhuta"]
  .map((script) => `\\p{Script=${script}}`).join("");
const EMOJI = "\\p{Extended_Pictographic}[\\u{1f3fb}-\\u{1f3ff}]?\\ufe0f?";
const FLAGS = ["gbeng", "gbsct", "gbwls"].map((name) => [...name].map((c) => `\\u{${(0xe0000 + c.codePointAt(0)!).toString(16)}}`).join("")).join("|");
/** Signs without a width that change one which is seen. */
const WRITTEN = [
  `(?<=[${JOINED}](?:(?!\\p{Default_Ignorable_Code_Point})\\p{Mn})*)[\\u200c\\u200d]`,
  `(?<![\\u200c\\u200d])[\\u200c\\u200d](?=[${JOINED}])`,
  `(?<=${EMOJI})\\u200d(?=\\p{Extended_Pictographic})`,
  "(?<=\\p{Script=Han})[\\ufe00-\\ufe02\\u{e0100}-\\u{e0103}]",
  "(?<=(?!\\p{Default_Ignorable_Code_Point})\\p{Script=Mongolian})[\\u180b-\\u180f]",
  "(?<=\\p{Extended_Pictographic}|(?![\\0-\\x7f])[\\p{So}\\p{Sm}\\p{No}])[\\ufe0e\\ufe0f]",
  "(?<=[0-9#*])[\\ufe0e\\ufe0f](?=\\u20e3)",
  `(?<=\\u{1f3f4})(?:${FLAGS})\\u{e007f}`,
  "[\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}\\n\\r\\t]",
].join("|");
const UNSEEN = new RegExp(`(${WRITTEN})|[\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800\\u2028\\u2029]`, "gu");

/** Text from anywhere, fit to be shown: what nobody would see of it is there by its name (`⟨U+200B⟩`), half surrogates go. Line breaks and tabs stay. */
export function shown(text: string): string {
  return text
    .toWellFormed()
    .replace(UNSEEN, (c, written?: string) => written ?? `⟨U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** The beginning of a text in one line, for rows: never more than `most` characters reach the page's layout. */
export function line(text: string, most = 240): string {
  const head = text.slice(0, most * 2).replace(/\s+/g, " ").trim();
  return shown(head.length > most || text.length > most * 2 ? `${head.slice(0, most)} …` : head);
}

/** The beginning of a text with Markdown, without its signs. */
export function plain(text: string, most = 240): string {
  return line(text.slice(0, most * 3).replace(/[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}|^#{1,6} /gm, ""), most);
}

/** JSON as text, its numbers digit by digit, short of `most` characters. */
export function json(value: unknown, indent = 0, most = LONG): string {
  const text = typeof value === "string" ? value : value === undefined ? "" : writeJson(value, indent);
  return shown(text.length > most ? `${text.slice(0, most)} …` : text);
}

/** A sentence with its full stop, where it has none or another end. */
export function asSentence(text: string): string {
  return !text || /[.!?…:]["”’)]*$/.test(text) ? text : `${text}.`;
}

/** "1 tool", "2 tools". */
export function many(n: number, one: string, more = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : more}`;
}
