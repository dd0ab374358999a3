// When a schedule is due, in words.
import type { Schemas } from "../../../client/src/index.ts";
import { count, json } from "./format.ts";

/** `every hour`, `every 90 s from 2026-01-01 00:15 UTC`, `weekly on monday and friday at 09:00, Europe/Berlin`. */
export function recurrenceOf(when: Schemas.When): string {
  switch (when.kind) {
    case "once": return `once, ${moment(when.at)}`;
    case "every": return `every ${pace(when.seconds)}${when.start ? ` from ${moment(when.start)}` : ""}`;
    case "daily": return `daily at ${local(when)}`;
    case "weekly": return `weekly on ${when.days.join(", ").replace(/, ([^,]*)$/, " and $1")} at ${local(when)}`;
    case "monthly": return `monthly on ${when.day === "last" ? "the last day" : `day ${when.day}`} at ${local(when)}`;
    default: return json(when); // of a newer server
  }
}

/** To the second: a schedule is not about so long. */
function pace(seconds: number): string {
  for (const [of, name] of [[86_400, "day"], [3_600, "hour"], [60, "minute"]] as const) {
    if (seconds === of) return name;
    if (seconds > of && seconds % of === 0) return `${count(seconds / of)} ${name}s`;
  }
  return `${Number.isInteger(seconds) ? count(seconds) : seconds} s`;
}

const local = ({ time, zone }: { time: string; zone: string }) => `${time}, ${zone}`;

/** To the minute, as all who look see it alike. */
function moment(ts: string): string {
  const at = new Date(ts);
  return Number.isNaN(at.getTime()) ? ts : `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
