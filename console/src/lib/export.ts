// All events that match a filter, read from the server page by page, as lines of JSON.
import { writeJson } from "../../../client/src/json.ts";
import type { AnyEvent } from "./events.ts";
import type { Ask } from "./window.ts";

/** Events in a page of an export. */
export const PAGE = 500;

/** What an export has read. */
export interface Exported {
  parts: Blob[];
  events: number;
  first: number;
  last: number;
}

/** Reads the events up to a seq, the oldest first. `told`: after each page, how many there are so far. A page that fails ends it with its error: half an export is none. */
export async function exportLines(page: (ask: Ask) => Promise<AnyEvent[]>, until: number, told: (events: number) => void): Promise<Exported> {
  const out: Exported = { parts: [], events: 0, first: 0, last: 0 };
  for (let after = 0; after < until; ) {
    const read = await page({ after, order: "asc", limit: PAGE });
    const events = read.filter(({ seq }) => seq <= until);
    if (events.length > 0) {
      out.parts.push(new Blob([events.map((event) => `${writeJson(event)}\n`).join("")]));
      out.events += events.length;
      out.first ||= events[0]!.seq;
      out.last = events.at(-1)!.seq;
      told(out.events);
    }
    if (read.length < PAGE) break;
    after = read.at(-1)!.seq;
  }
  return out;
}
