// Where the server of a page is, below whatever path a proxy puts before it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serverOf } from "../src/lib/route.ts";

test("the server is what stands before the console", () => {
  for (const [page, place] of [
    ["http://127.0.0.1:2953/console/", "http://127.0.0.1:2953"],
    ["https://example.org/thinkd/console/", "https://example.org/thinkd"],
    ["https://example.org/some/deep/path/console/index.html", "https://example.org/some/deep/path"],
  ] as const) {
    assert.equal(serverOf(page), place);
  }
});
