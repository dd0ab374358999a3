// Text: Markdown as data, hostile text, numbers, addresses, forms, differences, contrast of the tokens.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { diff } from "../src/lib/diff.ts";
import { answerFields, answerOf, argumentsOf, fieldsOf, written } from "../src/lib/form.ts";
import { asSentence, count, due, full, line, shown, span, tokens, useUtc, when, zone } from "../src/lib/format.ts";
import { inline, markdown, safe } from "../src/lib/markdown.ts";
import { found, seqTyped } from "../src/lib/places.ts";
import { sectionsOf } from "../src/lib/prompt.ts";
import { address, numberIn, parse, placeOf } from "../src/lib/route.ts";

test("Markdown becomes data, and markup in it stays text", () => {
  const tree = markdown("# Title\n\nSome **bold** and `code`.\n\n1. one\n2. two\n\n```\n<b>\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n> quoted\n\n<script>alert(1)</script>");
  assert.deepEqual(tree.map((block) => block.kind), ["heading", "paragraph", "list", "code", "table", "quote", "paragraph"]);
  assert.deepEqual(tree.at(-1), { kind: "paragraph", inner: [{ kind: "text", text: "<script>alert(1)</script>" }] });
});

test("only http and https can be opened", () => {
  for (const bad of ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "//evil", "java\nscript:alert(1)", ""]) assert.equal(safe(bad), undefined, bad);
  assert.equal(safe("https://example.org/a"), "https://example.org/a");
  assert.deepEqual(inline("[x](javascript:alert(1))"), [{ kind: "text", text: "[x](javascript:alert(1))" }]);
});

test("hostile Markdown takes no time and no depth", () => {
  const began = performance.now();
  for (const text of ["*".repeat(50_000), "[".repeat(50_000), "> ".repeat(2_000) + "x", "`".repeat(20_000), "_a".repeat(20_000), "|".repeat(40_000), "- a\n".repeat(20_000)]) assert.ok(markdown(text).length > 0);
  assert.ok(performance.now() - began < 3_000);
});

test("what nobody would see is shown by its name, and what scripts and emoji need is left", () => {
  const texts = JSON.parse(readFileSync(new URL("../../tests/unseen.json", import.meta.url), "utf8")) as [string, string][];
  assert.ok(texts.length > 40);
  for (const [text, named] of texts) assert.equal(shown(text), named);
  assert.equal(shown("a\ud800b"), "a\ufffdb");
  assert.equal(shown("line\n\ttab"), "line\n\ttab");
  assert.ok(line("x".repeat(1_000_000)).length < 300);
  assert.equal(line("a \n  b"), "a b");
});

test("numbers read as people read them", () => {
  assert.equal(count(1234567), "1,234,567");
  assert.equal(tokens(24_600), "24.6k");
  assert.equal(span(3_240), "3.2 s");
  assert.equal(span(65 * 60_000), "1 h 5 min");
  assert.equal(when("2026-11-25T12:00:00Z", Date.UTC(2026, 10, 25, 12, 0, 9)), "9 s ago");
  for (const [text, whole] of [["so be it", "so be it."], ["So be it.", "So be it."], ["Is it so?", "Is it so?"], ["and on …", "and on …"], ["“So.”", "“So.”"], ["", ""]] as const) assert.equal(asSentence(text), whole);
  // The clocks of page and server are never the same: nothing takes less than no time, and what has just come is not in the future.
  assert.equal(span(-5_000), "0 ms");
  assert.equal(when("2026-11-25T12:00:00.900Z", Date.UTC(2026, 10, 25, 12, 0, 0)), "now");
  assert.equal(when("never", 0), "not known");
});

test("a time says its day as soon as it is another one, and its year as soon as that is", () => {
  const now = Date.UTC(2026, 10, 27, 18, 30);
  useUtc(true);
  assert.equal(when("2026-11-27T18:22:48Z", now), "18:22:48");
  assert.equal(when("2026-11-26T15:17:15Z", now), "26 Nov 15:17");
  assert.equal(when("2025-11-26T15:17:15Z", now), "26 Nov 2025 15:17");
  assert.equal(due("2026-11-27T22:08:00Z", now), "22:08");
  assert.equal(due("2026-12-03T22:08:00Z", now), "3 Dec 22:08");
  assert.equal(due("2027-01-03T22:08:00Z", now), "3 Jan 2027 22:08");
  assert.equal(due(null, now), "not known");
  assert.equal(full("2026-11-26T15:17:15Z"), "26 Nov 2026, 15:17:15 UTC");
  assert.equal(zone(), "UTC");
  useUtc(false);
  const minutes = -new Date(now).getTimezoneOffset();
  assert.match(zone(now), minutes === 0 ? /^UTC$/ : minutes < 0 ? /^UTC−\d/ : /^UTC\+\d/);
  assert.ok(full(new Date(now).toISOString()).endsWith(zone(now)));
});

test("every address leads back to where it was written", () => {
  assert.deepEqual(parse("#/t/main/turn/14?at=8"), { view: "live", parts: ["main", "14"], query: { at: "8" } });
  assert.deepEqual(parse("#/t/main.suppliers/about").view, "threads");
  assert.deepEqual(parse("#/log/8412").parts, ["8412"]);
  assert.deepEqual(parse("#/nowhere").view, "chat");
  assert.deepEqual(parse("#/t/%E0%A4%A").view, "chat");
  assert.equal(parse(address("#/log", { q: "a b&c", thread: "" })).query.q, "a b&c");
});

test("a part of an address that is no number is none", () => {
  for (const [part, n] of [["7", 7], ["0", 0], ["999999999", 999_999_999]] as const) assert.equal(numberIn(part), n);
  for (const none of [undefined, "", "x", "NaN", "-1", "1.5", "1e99", "0x10", " 7", "9007199254740993"]) assert.equal(numberIn(none), undefined, String(none));
});

test("Ctrl K finds by the beginnings of words, and takes a seq", () => {
  const places = [{ title: "main.heating", kind: "chat", sign: "", path: "1" }, { title: "Usage and health", kind: "view", sign: "", path: "2" }, { title: "heap", kind: "voice", sign: "", path: "3" }];
  assert.deepEqual(found(places, "hea").map((place) => place.path), ["3", "1", "2"]);
  assert.equal(seqTyped("#8,412"), 8412);
  assert.equal(seqTyped("main"), undefined);
});

test("arguments go through a form unchanged, and come out as their types", () => {
  const schema = { properties: { to: { type: "string" }, n: { type: ["integer", "null"] }, urgent: { type: "boolean" }, tags: { type: "array" }, tone: { enum: ["calm", "short"] } }, required: ["to"] };
  const args = { to: "office", n: null, urgent: true, tags: ["a"], tone: "calm" };
  const fields = fieldsOf(args, schema);
  const texts = Object.fromEntries(fields.map((field) => [field.name, written(field, args)]));
  assert.deepEqual(argumentsOf(fields, texts), args);
  assert.deepEqual(argumentsOf(fields, { ...texts, n: "4", urgent: "false" }), { ...args, n: 4, urgent: false });
  assert.throws(() => argumentsOf(fields, { ...texts, n: "four" }), /n has to be a number/);
  assert.throws(() => argumentsOf(fields, { ...texts, tags: "[" }), /tags has to be JSON/);
});

test("a difference names what was taken and given", () => {
  assert.deepEqual(diff("a\nb\nc", "a\nx\nc").map(({ kind, text }) => `${kind} ${text}`), ["same a", "del b", "add x", "same c"]);
  assert.equal(diff("x\n".repeat(900), "y").length, 902);
});

test("a prompt is taken apart without losing a word", () => {
  const request = { messages: [{ role: "system", content: "You are one voice." }, { role: "user", content: "#5 [2026-11-25 21:46] user: hello\n#16 [2026-11-25 21:46] reply: hi\n    again\n\nYour role:\nYou are the critic." }], tools: [{ a: 1 }] };
  const view = { call: "x", exact: true, model: "m", module: "submodule:critic", purpose: "turn", thread: "main", request, usage: { input_tokens: 1000 } };
  const sections = sectionsOf(view, new Set([5]));
  assert.deepEqual(sections.map((one) => one.title), ["Tools, 1", "Common text", "Transcript", "The input", "Prompt of critic"]);
  assert.equal(sections[2]!.entries[0]!.text, "hi\nagain");
  assert.ok(Math.abs(sections.reduce((sum, one) => sum + one.tokens, 0) - 1000) <= 3);
});

test("the tokens of a section are those that the server says of its pieces, and none is lost", () => {
  const request = { messages: [{ role: "system", content: "You are one voice." }, { role: "user", content: "#5 [2026-11-25 21:46] user: hello\n#16 [2026-11-25 21:46] reply: hi\n\nYour role:\nYou are the critic." }], tools: [{ a: 1 }] };
  const piece = (kind: string, tokens_estimated: number, seq: number | null = null) => ({ kind, seq, bytes: 1, tokens_estimated });
  const pieces = [piece("tools", 1), piece("system", 2), piece("event", 4, 5), piece("event", 8, 16), piece("task", 16), piece("prompt", 32), piece("own", 64, 99), piece("of another year", 128)];
  const sections = sectionsOf({ call: "x", exact: true, model: "m", module: "submodule:critic", purpose: "turn", thread: "main", request, sections: pieces }, new Set([5]));
  assert.deepEqual(sections.map((one) => [one.title, one.tokens]), [["Tools, 1", 1], ["Common text", 2], ["Transcript", 8], ["The input", 4], ["Prompt of critic", 240]]);
});

test("every role can be read on every surface, in both themes", () => {
  const css = readFileSync(new URL("../src/tokens.css", import.meta.url), "utf8");
  const light = css.slice(css.indexOf(':root[data-theme="light"]'));
  const dark = css.slice(0, css.indexOf("@media"));
  const value = (text: string, name: string) => new RegExp(`--${name}: (#[0-9a-f]{6})`).exec(text)?.[1] ?? "";
  const names = [...dark.matchAll(/--((?:k|o)-[a-z]+): #/g)].map((one) => one[1]!).concat(["ink-1", "ink-2", "ink-3", "link"]);
  assert.ok(names.length >= 14);
  for (const theme of [dark, light]) for (const surface of ["bg-0", "bg-1", "bg-2"]) for (const name of names) {
    const ratio = contrast(value(theme, name), value(theme, surface));
    assert.ok(ratio >= 4.5, `${name} on ${surface}: ${ratio.toFixed(2)}`);
  }
});

function contrast(a: string, b: string): number {
  const light = (hex: string) => {
    const [r, g, b] = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as [number, number, number];
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [x, y] = [light(a), light(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

test("the top bar names what of a view is looked at", () => {
  const place = (hash: string, waiting = 0) => placeOf(parse(hash), { waiting, voices: 6 }, (id) => `the mission ${id}`);
  assert.equal(place("#/t/main"), "main");
  assert.equal(place("#/t/main/turn/14"), "main, turn 14");
  assert.equal(place("#/live?span=5m"), "all threads");
  assert.equal(place("#/log?thread=main&subtree=1"), "main and below");
  assert.equal(place("#/inbox", 1), "1 waits for you");
  assert.equal(place("#/inbox"), "");
  assert.equal(place("#/voices/critic"), "6 submodules");
  assert.equal(place("#/missions/m1/task/t6"), "the mission m1");
});

test("an answer that a schema asks for is a form where it is flat, and JSON beyond", () => {
  const flat = { type: "object", properties: { name: { type: "string", title: "Name" }, n: { type: "integer" }, yes: { type: ["boolean", "null"] }, room: { enum: ["a", "b"] } }, required: ["name", "yes"] };
  const fields = answerFields(flat)!;
  assert.deepEqual(fields.map(({ name, kind, required }) => [name, kind, required]), [["name", "text", true], ["n", "number", false], ["yes", "boolean", true], ["room", "choice", false]]);
  assert.deepEqual(answerOf(fields, { name: " Ada ", n: "3", yes: "false", room: "" }), { name: "Ada", n: 3, yes: false });
  assert.throws(() => answerOf(fields, { name: "Ada", n: "x" }), /yes is missing/);
  assert.throws(() => answerOf(fields, { name: "Ada", yes: "true", n: "x" }), /n has to be a number/);
  assert.equal(answerOf(answerFields({ type: "number" })!, { "": "0.5" }), 0.5);
  for (const deep of [{ type: "object", properties: { a: { type: "object" } } }, { type: "object", properties: { a: { type: "array" } } }, { type: "object" }, { type: "array" }, { oneOf: [] }, { type: "object", properties: { a: { enum: [1, 2] } } }, { type: ["string", "number"] }]) assert.equal(answerFields(deep), undefined, JSON.stringify(deep));
});
