// What the world model says around a name, as a drawing: names in layers by how many steps they are away, and a line for each statement.
import type { Schemas } from "../../../client/src/index.ts";
import { arrange, curve, place } from "./layers.ts";

/** A name. */
export interface Name {
  /** By what it is told from others: its letters and digits, without case. */
  key: string;
  name: string;
  /** So many statements away from the one in question. */
  steps: number;
  x: number;
  y: number;
}

/** A statement between two names. */
export interface Tie {
  statement: Schemas.HeldStatement;
  relation: string;
  path: string;
  /** The subject is the name further away: the arrow points back. */
  back: boolean;
  /** Where its relation is written. */
  x: number;
  y: number;
}

/** Names and ties, in pixels. */
export interface Around {
  names: Name[];
  ties: Tie[];
  width: number;
  height: number;
  /** Statements that are not drawn: they have no subject and object, or there was no room. */
  left: number;
}

export const NAME = { width: 150, height: 32, gapX: 150, gapY: 18 };
/** Most names. */
const MOST = 60;
/** Between two names the words of one tie stand so far below those of another. */
const LINE = 15;
/** Words stand so far along a line, nearer to the name further away, because lines from one name part there; and so much of its height is gone by then. */
const ALONG = 0.62;
const ALONG_DOWN = 0.7;

const keyOf = (name: string) => name.normalize().toLocaleLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean).join(" ") || name;

/** Lays out statements around a name. One that none of them has is the subject of the first: they are of a name that is one with it. */
export function aroundOf(statements: readonly Schemas.HeldStatement[], name: string): Around {
  const said = new Map<string, string>();
  const edges = statements.flatMap((statement) => {
    if (!statement.triple) return [];
    const { subject, relation, object } = statement.triple;
    for (const one of [subject, object]) if (!said.has(keyOf(one))) said.set(keyOf(one), one);
    return [{ statement, relation, from: keyOf(subject), to: keyOf(object) }];
  });
  const start = said.has(keyOf(name)) ? keyOf(name) : edges[0]?.from;
  if (start === undefined) return { names: [], ties: [], width: 0, height: 0, left: statements.length };
  const layers = layersOf(start, edges);
  const layer = new Map(layers.flatMap((keys, steps) => keys.map((key) => [key, steps] as const)));
  const shown = edges.filter(({ from, to }) => layer.has(from) && layer.has(to));
  arrange(layers, shown.map(({ from, to }) => [from, to] as const), (a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const { of, width, height } = place(layers, NAME);
  const beside = new Map<string, number>();
  const ties = shown.map(({ statement, relation, from, to }): Tie => {
    const back = layer.get(from)! > layer.get(to)!;
    const [left, right] = back ? [to, from] : [from, to];
    const [a, b] = [of.get(left)!, of.get(right)!];
    const pair = [from, to].sort().join("\u0000");
    const nth = beside.get(pair) ?? 0;
    beside.set(pair, nth + 1);
    const same = layer.get(left) === layer.get(right);
    const path = same ? bow(a, b) : curve(a, b, NAME);
    const x = same ? a.x + NAME.width + NAME.gapX / 4 : a.x + NAME.width + NAME.gapX * ALONG;
    const y = same ? (a.y + b.y) / 2 : a.y + (b.y - a.y) * ALONG_DOWN;
    return { statement, relation, path, back, x, y: y + NAME.height / 2 + nth * LINE };
  });
  const names = [...layer].map(([key, steps]) => ({ key, name: said.get(key)!, steps, ...of.get(key)! }));
  // Words of ties within the last layer stand right of it.
  return { names, ties, width: width + NAME.gapX / 2, height, left: statements.length - shown.length };
}

/** Names by their steps from the first one, whichever way a statement goes; as many as there is room for. */
function layersOf(start: string, edges: readonly { from: string; to: string }[]): string[][] {
  const tied = new Map<string, string[]>();
  for (const { from, to } of edges) {
    tied.set(from, [...(tied.get(from) ?? []), to]);
    tied.set(to, [...(tied.get(to) ?? []), from]);
  }
  const known = new Set([start]);
  const layers = [[start]];
  for (let last = layers[0]!; last.length > 0; ) {
    const next: string[] = [];
    for (const key of last.flatMap((one) => tied.get(one) ?? [])) {
      if (known.has(key) || known.size >= MOST) continue;
      known.add(key);
      next.push(key);
    }
    if (next.length > 0) layers.push(next);
    last = next;
  }
  return layers;
}

/** A line between two boxes of one layer, or from a box to itself, along their right sides. */
function bow(from: { x: number; y: number }, to: { x: number; y: number }): string {
  const [x, out] = [from.x + NAME.width, from.x + NAME.width + NAME.gapX / 3];
  const own = from === to ? NAME.height / 4 : 0;
  const [y1, y2] = [from.y + NAME.height / 2 - own, to.y + NAME.height / 2 + own];
  return `M${x} ${y1}C${out} ${y1} ${out} ${y2} ${x + 1} ${y2}`;
}
