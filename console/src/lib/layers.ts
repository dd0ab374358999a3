// Boxes in layers, for graphs that are drawn: the order within each layer, the place of each box, the way of each line.

/** How large boxes are, and how far apart, in pixels. */
export interface Measures {
  width: number;
  height: number;
  gapX: number;
  gapY: number;
}

/** Where boxes stand, by name, and how large the whole is, in pixels. */
export interface Places {
  of: Map<string, { x: number; y: number }>;
  width: number;
  height: number;
}

/** What stands left of each box, by name. */
export type Required = Map<string, Set<string>>;

const EDGE = 14;

/** Boxes by layer: each one behind all that it requires. What requires itself, in a circle, is not waited for. */
export function layersOf(shown: readonly string[], required: Required): string[][] {
  const layer = new Map<string, number>();
  const waiting = new Map(shown.map((id) => [id, required.get(id)!.size]));
  const behind = new Map<string, string[]>(shown.map((id) => [id, []]));
  for (const id of shown) for (const from of required.get(id)!) behind.get(from)?.push(id);
  const ready = shown.filter((id) => waiting.get(id) === 0);
  const rest = new Set(shown);
  while (rest.size > 0) {
    const id = ready.shift() ?? [...rest][0]!;
    if (!rest.delete(id)) continue;
    const before = [...required.get(id)!].map((from) => layer.get(from) ?? -1);
    layer.set(id, Math.max(-1, ...before) + 1);
    for (const next of behind.get(id)!) {
      waiting.set(next, waiting.get(next)! - 1);
      if (waiting.get(next) === 0) ready.push(next);
    }
  }
  const layers: string[][] = [];
  for (const id of shown) (layers[layer.get(id)!] ??= []).push(id);
  return layers;
}

/** Orders each layer so that lines are short: boxes go where those are that they are tied to; where that is equal, by `compare`. */
export function arrange(layers: string[][], lines: Iterable<readonly [string, string]>, compare: (a: string, b: string) => number): void {
  const tied = new Map<string, string[]>();
  for (const [from, to] of lines) {
    tied.set(to, [...(tied.get(to) ?? []), from]);
    tied.set(from, [...(tied.get(from) ?? []), to]);
  }
  const place = new Map<string, number>();
  const note = (ids: string[]) => ids.forEach((id, i) => place.set(id, i - (ids.length - 1) / 2));
  layers.forEach(note);
  for (let sweep = 0; sweep < 6; sweep += 1) {
    for (const ids of sweep % 2 === 0 ? layers : [...layers].reverse()) {
      const wanted = new Map(ids.map((id) => {
        const others = tied.get(id) ?? [];
        return [id, others.length ? others.reduce((sum, other) => sum + place.get(other)!, 0) / others.length : place.get(id)!];
      }));
      ids.sort((a, b) => wanted.get(a)! - wanted.get(b)! || compare(a, b));
      note(ids);
    }
  }
}

/** Places layers from left to right, each in the middle of the height. */
export function place(layers: readonly string[][], box: Measures): Places {
  const tallest = Math.max(0, ...layers.map((ids) => ids.length));
  const full = tallest * box.height + Math.max(0, tallest - 1) * box.gapY;
  const of = new Map<string, { x: number; y: number }>();
  layers.forEach((ids, layer) => {
    const own = ids.length * box.height + (ids.length - 1) * box.gapY;
    ids.forEach((id, i) => of.set(id, { x: EDGE + layer * (box.width + box.gapX), y: EDGE + (full - own) / 2 + i * (box.height + box.gapY) }));
  });
  const width = layers.length === 0 ? 0 : 2 * EDGE + layers.length * box.width + (layers.length - 1) * box.gapX;
  return { of, width, height: full === 0 ? 0 : full + 2 * EDGE };
}

/** A line from the right side of a box to the left side of one further right. */
export function curve(from: { x: number; y: number }, to: { x: number; y: number }, box: Measures): string {
  const [x1, y1, x2, y2] = [from.x + box.width, from.y + box.height / 2, to.x - 1, to.y + box.height / 2];
  const bend = Math.max(18, Math.min(60, (x2 - x1) / 2));
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
