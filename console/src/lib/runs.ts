// A run of a pipeline, folded from its events: each node, when it worked, what became of it, and whether the journal answered for it.
import { type AnyEvent, tagged, textOf } from "./events.ts";
import { at } from "./format.ts";

/** One node at its place in a run. */
export interface RunNode {
  place: string;
  node: string;
  state: "running" | "done" | "failed" | "abandoned";
  /** Milliseconds since 1970. */
  start: number | undefined;
  end: number | undefined;
  /** Its value was recorded before the run was taken up again: it was not computed twice. */
  journal: boolean;
  value: unknown;
  event: AnyEvent;
}

/** The nodes of a run, in the order in which they began; and the seqs at which the run was taken up again. */
export function nodesOf(events: readonly AnyEvent[]): { nodes: RunNode[]; resumed: AnyEvent[] } {
  const nodes = new Map<string, RunNode>();
  const resumed = events.filter((event) => tagged(event, "run") && tagged(event, "resumed"));
  const last = resumed.at(-1)?.seq ?? 0;
  for (const event of events) {
    if (!tagged(event, "node")) continue;
    const place = textOf(event, "place") || textOf(event, "node");
    const known = nodes.get(place);
    const node: RunNode = known ?? { place, node: textOf(event, "node"), state: "running", start: undefined, end: undefined, journal: false, value: undefined, event };
    nodes.set(place, node);
    node.event = event;
    if (tagged(event, "started")) {
      node.start ??= at(event.ts);
      node.state = "running";
      continue;
    }
    node.end = at(event.ts);
    node.state = tagged(event, "finished") ? "done" : tagged(event, "failed") ? "failed" : "abandoned";
    node.value = event.payload.value ?? event.payload.text;
    node.journal = tagged(event, "finished") && event.seq < last;
  }
  return { nodes: [...nodes.values()], resumed };
}
