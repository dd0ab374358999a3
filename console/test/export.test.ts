// An export: all events that match, page by page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PAGE, exportLines } from "../src/lib/export.ts";
import type { Ask } from "../src/lib/window.ts";
import { event } from "./events.ts";

const log = Array.from({ length: 1_503 }, (_, i) => ({ ...event(["x"], { text: `${i}` }), seq: i * 3 + 5 }));
const page = (ask: Ask) => Promise.resolve(log.filter(({ seq }) => seq > (ask.after ?? 0)).slice(0, ask.limit));

test("an export has all events up to where the log ended when it began, once and in order", async () => {
  const told: number[] = [];
  const out = await exportLines(page, log[1_499]!.seq, (events) => told.push(events));
  assert.deepEqual([out.events, out.first, out.last], [1_500, 5, log[1_499]!.seq]);
  assert.deepEqual(told, [PAGE, 2 * PAGE, 3 * PAGE]);
  const lines = (await new Blob(out.parts).text()).trimEnd().split("\n");
  assert.deepEqual(lines.map((line) => (JSON.parse(line) as { seq: number }).seq), log.slice(0, 1_500).map(({ seq }) => seq));
});

test("an export of which a page fails is none", async () => {
  let asked = 0;
  await assert.rejects(exportLines((ask) => ((asked += 1), asked === 3 ? Promise.reject(new Error("gone")) : page(ask)), 1e9, () => undefined), /gone/);
});
