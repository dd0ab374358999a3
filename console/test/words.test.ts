// One word a thing, in all that the page writes: submodule, agent, approve and reject, key.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const SOURCE = new URL("../src", import.meta.url).pathname;
/** Words that stood for the same thing beside the one that is meant. */
const ODD: [RegExp, string][] = [
  [/\b(a|one|add a|no|each|of|the|\d+|another) voices?\b|\bvoices\b|^voice$/i, "submodule"],
  [/\b(the|a|live|of) mind\b/i, "agent"],
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

test("no template has another word for a thing that has one", () => {
  const wrong = ["views", "parts"].flatMap((folder) => readdirSync(join(SOURCE, folder)).filter((name) => name.endsWith(".svelte")).flatMap((name) => texts(readFileSync(join(SOURCE, folder, name), "utf8")).flatMap((text) => ODD.filter(([odd]) => odd.test(text)).map(([, word]) => `${folder}/${name}: “${text.slice(0, 100)}”: ${word}`))));
  assert.deepEqual(wrong, []);
});
