// What calls cost, as the server sums it up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { logFigures } from "../src/lib/metrics.ts";
import { binsOf, rowsOf, total } from "../src/lib/usage.ts";

test("usage: unknown stays unknown, steps without calls are bars of nothing, and a bar has every token once", () => {
  const sums = (calls: number, tokens: object) => ({ calls, failed: 1, ms: 5, tokens });
  const usage = { items: [{ key: "decision", ...sums(2, { input: 100, cached: 60, output: 10 }) }, { key: "summary", ...sums(1, {}) }], rest: sums(3, { input: 1, output: 1 }), steps: [{ at: "2026-11-25T12:00:00Z", ...sums(2, { input: 100, cached: 60, output: 10 }) }], cut: null };
  assert.deepEqual(total(usage), { calls: 6, failed: 3, ms: 15, tokens: { input: 101, output: 11, cached: 60 } });
  assert.deepEqual(rowsOf(usage).map((row) => [row.name, row.tokens]), [["decision", 110], ["summary", undefined], ["all others", 2]]);
  const noon = Date.UTC(2026, 10, 25, 12);
  assert.deepEqual(binsOf(usage, noon - 3_600_000, noon + 1, 3_600_000).map(({ cached, read, written }) => [cached, read, written]), [[0, 0, 0], [60, 40, 10]]);
});

test("half of the appends and 99 of 100 are bounds of the server's bins, and what was never counted is not known", () => {
  const text = ['thinkd_append_seconds_bucket{le="0.001"} 40', 'thinkd_append_seconds_bucket{le="0.005"} 90', 'thinkd_append_seconds_bucket{le="+Inf"} 100', "thinkd_append_seconds_count 100", "thinkd_feed_behind_events 3"].join("\n");
  assert.deepEqual(logFigures(text), { half: 5, most: Number.POSITIVE_INFINITY, behind: 3 });
  assert.deepEqual(logFigures("thinkd_sockets 1\n"), { half: undefined, most: undefined, behind: undefined });
});
