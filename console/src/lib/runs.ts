// A run of a pipeline, folded from its events: each node, when it worked, what became of it, and whether the journal answered for it.
import { asWritten } from "../../../client/src/json.ts";
import { type AnyEvent, type Role, numberOf, tagged, textOf } from "./events.ts";
import { at } from "./format.ts";
import { type Kept, keptOf } from "./kept.ts";

/** One node at its place in a run. */
export interface RunNode {
  place: string;
  node: string;
  state: "running" | "done" | "failed" | "stopped" | "abandoned";
  /** Milliseconds since 1970. */
  start: number | undefined;
  end: number | undefined;
  /** Its value was recorded before the run was taken up again: it was not computed twice. */
  journal: boolean;
  value: unknown;
  /** Where a large value is. */
  kept: Kept | undefined;
  /** The places whose values flow into it, as far as its event names them. */
  needs: string[];
  /** How many more there are. */
  more: number;
  event: AnyEvent;
}

/** The state of a run, and its outcome once it has ended: two words. */
export function runMark(status: string): { state: string; outcome: NodeMark | undefined } {
  if (status === "running") return { state: "in work", outcome: undefined };
  const outcomes: Record<string, NodeMark> = { done: { sign: "ok", role: "ok", word: "succeeded" }, failed: { sign: "fail", role: "fail", word: "failed" }, cancelled: { sign: "stop", role: "system", word: "cancelled" } };
  return { state: "ended", outcome: outcomes[status] ?? { sign: "pass", role: "pass", word: status } };
}

/** How a node is shown: the sign, the colour role, the word. */
export interface NodeMark {
  sign: string;
  role: Role;
  word: string;
}

const LOOKS: Record<RunNode["state"], [sign: string, role: Role]> = { running: ["run", "voice"], done: ["ok", "ok"], failed: ["fail", "fail"], stopped: ["stop", "system"], abandoned: ["pass", "pass"] };

/** What the journal answered has a sign of its own. */
export function nodeMark(node: Pick<RunNode, "state" | "journal">): NodeMark {
  if (node.journal) return { sign: "again", role: "ok", word: "from the journal" };
  const [sign, role] = LOOKS[node.state];
  return { sign, role, word: node.state };
}

/** The place in whose body a place is; none: the run itself called it. `2.1` is in `2`, and so is `2/pears.1`, in a branch of it. */
export function bodyOf(place: string): string {
  let scope = place.slice(0, Math.max(0, place.lastIndexOf(".")));
  for (let slash = scope.lastIndexOf("/"); slash >= 0 && !scope.slice(slash).includes("."); slash = scope.lastIndexOf("/")) scope = scope.slice(0, slash);
  return scope;
}

/** The nodes of a run, in the order in which they began; and the seqs at which the run was taken up again. What has no place is none: the failure of a run has the kind
 * `node` where a node was the reason. */
export function nodesOf(events: readonly AnyEvent[]): { nodes: RunNode[]; resumed: AnyEvent[] } {
  const nodes = new Map<string, RunNode>();
  const resumed = events.filter((event) => tagged(event, "run") && tagged(event, "resumed"));
  const last = resumed.at(-1)?.seq ?? 0;
  for (const event of events) {
    const place = textOf(event, "place");
    if (!place || !tagged(event, "node")) continue;
    const known = nodes.get(place);
    const node: RunNode = known ?? { place, node: textOf(event, "node"), state: "running", start: undefined, end: undefined, journal: false, value: undefined, kept: undefined, needs: [], more: 0, event };
    nodes.set(place, node);
    node.event = event;
    if (tagged(event, "started")) {
      node.start ??= at(event.ts);
      node.state = "running";
      node.needs = Array.isArray(event.payload.needs) ? event.payload.needs.filter((need) => typeof need === "string") : [];
      node.more = numberOf(event, "needs_more") ?? 0;
      continue;
    }
    node.end = at(event.ts);
    node.state = tagged(event, "finished") ? "done" : tagged(event, "failed") ? "failed" : "abandoned";
    node.kept = keptOf(event.payload.value_blob);
    node.value = asWritten(event.payload, "value") ?? (node.kept ? undefined : event.payload.text);
    node.journal = tagged(event, "finished") && event.seq < last;
  }
  const over = events.findLast((event) => tagged(event, "run") && tagged(event, "ended"));
  if (over) for (const node of nodes.values()) if (node.state === "running") [node.state, node.end] = ["stopped", at(over.ts)];
  return { nodes: [...nodes.values()], resumed };
}
