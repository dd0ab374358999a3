// The nodes of a run as layers: what a node needs stands left of it, and so does the node whose body called it. From so many nodes on those that one body called
// share its box, and then those of one name; such a box opens.
import { type Required, arrange, curve, layersOf, place } from "./layers.ts";
import { type NodeMark, type RunNode, bodyOf, nodeMark } from "./runs.ts";
import { BOX, MANY } from "./taskgraph.ts";

/** A box: a node, and of many those that it stands for. */
export interface RunBox {
  /** What it opens as, where it stands for several. */
  key: string;
  node: RunNode;
  /** How many it stands for. */
  of: number;
  name: string;
  mark: NodeMark;
  /** How the nodes that it stands for are, in words; of one alone its mark says that. */
  words: string;
  layer: number;
  x: number;
  y: number;
}

/** A line from a node to one that needs its value, or that its body called. */
export interface RunLine {
  from: string;
  to: string;
  path: string;
  called: boolean;
}

export interface RunGraph {
  boxes: RunBox[];
  lines: RunLine[];
  width: number;
  height: number;
  /** Boxes that are not drawn. */
  left: number;
  /** Needs that the log counts without naming them. */
  unnamed: number;
}

/** `2` stands before `10`. */
const BY_PLACE = new Intl.Collator("en", { numeric: true });
/** Most boxes. */
const MOST = 200;

/** Lays out the nodes of a run, or what the box `within` stands for. */
export function runGraph(nodes: readonly RunNode[], within = ""): RunGraph {
  const { boxOf, members } = boxesOf(nodes, within);
  const shown = [...members.keys()].slice(0, MOST);
  const { needed, called } = linesOf(nodes, boxOf, new Set(shown));
  const ordering: Required = new Map(shown.map((key) => [key, new Set([...needed.get(key)!, ...called.get(key)!])]));
  const layers = layersOf(shown, ordering);
  const pairs = (required: Required) => [...required].flatMap(([to, all]) => [...all].map((from) => [from, to] as const));
  arrange(layers, pairs(ordering), (a, b) => BY_PLACE.compare(a, b));
  const { of, width, height } = place(layers, BOX);
  const line = (isCall: boolean) => ([from, to]: readonly [string, string]) => ({ from, to, path: curve(of.get(from)!, of.get(to)!, BOX), called: isCall });
  const boxes = layers.flatMap((keys, layer) => keys.map((key) => ({ ...boxOfMany(key, members.get(key)!), layer, ...of.get(key)! })));
  const unnamed = nodes.reduce((sum, node) => sum + node.more, 0);
  return { boxes, lines: [...pairs(called).map(line(true)), ...pairs(needed).map(line(false))], width, height, left: members.size - shown.length, unnamed };
}

/** The same function, that works out each answer once. */
function kept<T>(of: (node: RunNode) => T): (node: RunNode) => T {
  const answers = new Map<RunNode, T>();
  return (node) => {
    if (!answers.has(node)) answers.set(node, of(node));
    return answers.get(node)!;
  };
}

/** The node around each node: the nearest one that is here. */
function around(nodes: readonly RunNode[]): (node: RunNode) => RunNode | undefined {
  const byPlace = new Map(nodes.map((node) => [node.place, node]));
  return kept((node) => {
    let body = bodyOf(node.place);
    while (body && !byPlace.has(body)) body = bodyOf(body);
    return body ? byPlace.get(body) : undefined;
  });
}

/** Which box each node is drawn in, and which nodes each box has: the one that it is named by, first. */
function boxesOf(nodes: readonly RunNode[], within: string): { boxOf: Map<string, string>; members: Map<string, RunNode[]> } {
  const up = around(nodes);
  const kindOf = kept((node) => `${up(node)?.place ?? ""}*${node.node}`);
  const top = within === "" ? undefined : nodes.find((node) => node.place === within);
  const isWithin = (node: RunNode) => (top ? up(node) === top : within === "" ? up(node) === undefined : kindOf(node) === within);
  /** The one of what is asked for that a node is, or is inside of. */
  const outermost: (node: RunNode) => RunNode | undefined = kept((node) => {
    let found: RunNode | undefined;
    for (let one: RunNode | undefined = node; one; one = up(one)) if (isWithin(one)) found = one;
    return found;
  });
  const drawn = nodes.flatMap((node) => {
    const as = outermost(node);
    return as ? [{ node, as }] : [];
  });
  const grouped = drawn.length >= MANY;
  const heads = grouped ? drawn.filter(({ node, as }) => node === as) : [];
  const kinds = new Map<string, number>();
  for (const { as } of heads) kinds.set(kindOf(as), (kinds.get(kindOf(as)) ?? 0) + 1);
  const keyOf = (node: RunNode, as: RunNode) => {
    if (!grouped) return node.place;
    const kind = kindOf(as);
    return heads.length >= MANY && kind !== within && kinds.get(kind)! > 1 ? kind : as.place;
  };
  const boxOf = new Map<string, string>();
  const members = new Map<string, RunNode[]>();
  const put = (key: string, node: RunNode) => {
    boxOf.set(node.place, key);
    const known = members.get(key);
    if (known) known.push(node);
    else members.set(key, [node]);
  };
  if (top) put(top.place, top);
  for (const { as } of drawn) if (!boxOf.has(as.place)) put(keyOf(as, as), as);
  for (const { node, as } of drawn) if (!boxOf.has(node.place)) put(keyOf(node, as), node);
  return { boxOf, members };
}

/** Which boxes each box needs values of, and which one called it. What needs a value is not said to be called, too. */
function linesOf(nodes: readonly RunNode[], boxOf: ReadonlyMap<string, string>, shown: ReadonlySet<string>): { needed: Required; called: Required } {
  const up = around(nodes);
  const needed: Required = new Map([...shown].map((key) => [key, new Set()]));
  const called: Required = new Map([...shown].map((key) => [key, new Set()]));
  const add = (lines: Required, from: string | undefined, to: string) => from !== undefined && from !== to && shown.has(from) && lines.get(to)!.add(from);
  const drawn = nodes.flatMap((node) => {
    const to = boxOf.get(node.place);
    return to !== undefined && shown.has(to) ? [{ node, to }] : [];
  });
  for (const { node, to } of drawn) for (const need of node.needs) add(needed, boxOf.get(need), to);
  for (const { node, to } of drawn) {
    const from = boxOf.get(up(node)?.place ?? "");
    if (from !== undefined && !needed.get(to)!.has(from)) add(called, from, to);
  }
  return { needed, called };
}

const STATES = ["failed", "running", "stopped", "abandoned"] as const;

function boxOfMany(key: string, all: readonly RunNode[]): Omit<RunBox, "layer" | "x" | "y"> {
  const node = all[0]!;
  const rest = { key, node, of: all.length };
  if (all.length === 1) return { ...rest, name: node.node, mark: nodeMark(node), words: "" };
  const worst = all.find((one) => one.state === STATES.find((state) => all.some((other) => other.state === state))) ?? all.find((one) => !one.journal) ?? node;
  const counted = new Map<string, number>();
  for (const one of all) counted.set(nodeMark(one).word, (counted.get(nodeMark(one).word) ?? 0) + 1);
  const words = [...counted].map(([word, n]) => `${n} ${word}`).join(", ");
  const alike = all.filter((one) => one.node === node.node && bodyOf(one.place) === bodyOf(node.place)).length;
  return { ...rest, name: key === node.place ? `${node.node} and ${all.length - 1} inside` : `${node.node} × ${alike}`, mark: nodeMark(worst), words };
}
