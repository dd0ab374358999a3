// When a schedule is due, in words.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schemas } from "../../client/src/index.ts";
import { recurrenceOf } from "../src/lib/schedules.ts";

test("each kind of recurrence is said in words, and one of a newer server as it is", () => {
  const zone = "Europe/Berlin";
  const said: [Schemas.When, string][] = [
    [{ kind: "once", at: "2026-12-01T09:00:00+01:00" }, "once, 2026-12-01 08:00 UTC"],
    [{ kind: "every", seconds: 3600, start: "2026-01-01T00:15:00.4Z" }, "every hour from 2026-01-01 00:15 UTC"],
    [{ kind: "every", seconds: 90 }, "every 90 s"],
    [{ kind: "every", seconds: 5400 }, "every 90 minutes"],
    [{ kind: "every", seconds: 0.5 }, "every 0.5 s"],
    [{ kind: "every", seconds: 172_800 }, "every 2 days"],
    [{ kind: "every", seconds: 30, start: "soon" }, "every 30 s from soon"],
    [{ kind: "daily", time: "09:00", zone }, "daily at 09:00, Europe/Berlin"],
    [{ kind: "weekly", days: ["monday", "tuesday", "friday"], time: "09:00", zone }, "weekly on monday, tuesday and friday at 09:00, Europe/Berlin"],
    [{ kind: "weekly", days: ["sunday"], time: "09:00", zone }, "weekly on sunday at 09:00, Europe/Berlin"],
    [{ kind: "monthly", day: "last", time: "23:59", zone }, "monthly on the last day at 23:59, Europe/Berlin"],
    [{ kind: "monthly", day: 28, time: "23:59", zone }, "monthly on day 28 at 23:59, Europe/Berlin"],
    [{ kind: "tides" } as unknown as Schemas.When, '{"kind":"tides"}'],
  ];
  for (const [when, words] of said) assert.equal(recurrenceOf(when), words);
});
