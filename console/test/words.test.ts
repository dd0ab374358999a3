// One word a thing, in all that the page writes: submodule, agent, approve and reject, key.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const SOURCE = new URL("../src", import.meta.url).pathname;
/** Words that stood for the same thing beside the one that is meant. */
const ODD: [RegExp, string][] = [
  [/\b(a|one|add a|no|each|of|the|\d+|another) voices?\b|\bvoices\b|^voice$/i, "submodule"],
  [/\b(the|a|live|of) minds?\b/i, "agent"],
  [/\b(deny|denied|grant|granted)\b/i, "reject, approve"],
  [/\b(a|the|this|another) token\b|^token$/i, "key"],
];

/** Texts of a template: between tags, in attributes that are read, and in quoted words of its expressions. */
function texts(template: string): string[] {
  const markup = template.replace(/<script[\s\S]*?<\/script>/g, "").replace(/<!--[\s\S]*?-->/g, "").replace(/<code[\s\S]*?<\/code>|<pre[\s\S]*?<\/pre>/g, "");
  const between = [...markup.matchAll(/>([^<>{}]+)(?=[<{])|\}([^<>{}]+)(?=[<{])/g)].map(([, a, b]) => a ?? b ?? "");
  const attributes = [...markup.matchAll(/\b(?:placeholder|aria-label|title|word)="([^"{]+)/g)].map(([, text]) => text!);
  const quoted = [...markup.matchAll(/["'`]([A-Z][^"'`]{3,}|[a-z]+ [^"'`=]{3,})["'`]/g)].map(([, text]) => text!).filter((text) => !/k-|--|^\w+ (sm|q|s)\b/.test(text));
  return [...between, ...attributes, ...quoted].map((text) => text.trim()).filter(Boolean);
}

/** Texts in quotes of a script, as far as they are words. */
function quotedIn(script: string): string[] {
  const code = script.replace(/^\s*(\/\/|\/?\*).*$/gm, "");
  return [...code.matchAll(/"([^"\n]*)"|`([^`]*)`/g)].map(([, a, b]) => (a ?? b ?? "").replace(/\$\{[^}]*\}/g, "…")).filter((text) => /^[A-Za-z].* .*[a-z]/.test(text) && !/[{}<>;=]/.test(text));
}

test("no script has one either", () => {
  const wrong = readdirSync(join(SOURCE, "lib")).flatMap((name) => quotedIn(readFileSync(join(SOURCE, "lib", name), "utf8")).flatMap((text) => ODD.filter(([odd]) => odd.test(text)).map(([, word]) => `lib/${name}: “${text.slice(0, 100)}”: ${word}`)));
  assert.deepEqual(wrong, []);
});

test("no template has another word for a thing that has one", () => {
  const wrong = ["views", "parts"].flatMap((folder) => readdirSync(join(SOURCE, folder)).filter((name) => name.endsWith(".svelte")).flatMap((name) => texts(readFileSync(join(SOURCE, folder, name), "utf8")).flatMap((text) => ODD.filter(([odd]) => odd.test(text)).map(([, word]) => `${folder}/${name}: “${text.slice(0, 100)}”: ${word}`))));
  assert.deepEqual(wrong, []);
});

/** Pages for people; two more are written from the code, whose words they keep. */
const ROOT = new URL("../..", import.meta.url).pathname;
const pages = () => [
  "README.md",
  "client/README.md",
  "client/python/README.md",
  ...(readdirSync(join(ROOT, "docs"), { recursive: true }) as string[]).filter((name) => name.endsWith(".md") && name !== "events.md" && name !== "configuration.md").map((name) => join("docs", name)),
];
/** Words of pages that are another thing, or stand for it in other pages. */
const ELSE = /need voice and client-side|(in|In) mind|tried minds|theory of mind|grants? of the server|a token may be an alias|a token for every|to the token\?|counts no token/g;
const ODD_IN_PAGES: [RegExp, string][] = [
  [/\bvoices?\b/i, "submodule"],
  [/\bcomments? of (its|the|all)? ?submodules?\b/i, "remark"],
  [/\b(a|an|the|its|of|for) minds?\b/i, "agent"],
  [/\b(granted|a grant|denied)\b/i, "approved, rejected"],
  [/\b(a|an|the|its|another|no|each|access|bearer|signed) token\b|\bwith(out)? (a )?token\b/i, "key, or JWT"],
];

test("the pages say one word a thing, too", () => {
  const found: string[] = [];
  for (const page of pages()) {
    // Code, links and quotations stay as they are; numbers of lines, too.
    const text = readFileSync(join(ROOT, page), "utf8").replace(/```[\s\S]*?```|`[^`\n]*`|\]\([^)]*\)|“[^”]*”|"[^"\n]*"/g, (kept) => kept.replace(/[^\n]/g, " ")).replace(ELSE, "");
    for (const [i, row] of text.split("\n").entries()) for (const [odd, word] of ODD_IN_PAGES) if (odd.test(row)) found.push(`${page}:${i + 1}: ${odd.exec(row)?.[0]} is ${word}`);
  }
  assert.deepEqual(found, []);
});
