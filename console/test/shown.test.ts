// Every text from anywhere goes through `format.ts` on its way to the page: control characters and signs that turn the direction of what is written are boxes there, also where a
// person says yes to a call. What is named here is of the server, which lets no such characters into it.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const OF_THE_SERVER = /^(\w+\.)*(thread|thread\.id|run\.pipeline|pipeline\.name|voice\.name|task\.id|module|view\.module|tool\.name|server|space|kind|id)$/;
const WRAPPED = /^(line|shown|json|plain|short|tagOf)\b|^depth === 0/;
/** Whole expressions that are names of the server's. */
const OTHERS = new Set(["session.hello?.space ?? \"\"", "other?.view.module ?? \"the other\"", "String(question.server)", "String(one.tool)", "name", "#if raw"]);

function bare(source: string): string[] {
  return [...source.matchAll(/<bdi[^>]*>\{([^}]*)\}/g)].map((found) => found[1]!.trim()).filter((said) => !WRAPPED.test(said) && !OF_THE_SERVER.test(said) && !OTHERS.has(said));
}

test("no text from anywhere is put into the page as it is", () => {
  const src = new URL("../src/", import.meta.url).pathname;
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".svelte"));
  assert.ok(files.length > 40);
  const all = files.flatMap((file) => bare(readFileSync(src + file, "utf8")).map((said) => `${file}: ${said}`));
  assert.deepEqual(all, []);
});

test("control: a text that is put there as it is is seen", () => {
  assert.deepEqual(bare("<bdi dir=\"auto\">{value(field) || \"–\"}</bdi><bdi>{choice}</bdi><bdi>{shown(choice)}</bdi><bdi>{thread.id}</bdi>"), ["value(field) || \"–\"", "choice"]);
});
