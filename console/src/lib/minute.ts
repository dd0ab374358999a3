// The last minute of the whole space as a few paths: strokes that share a row, a role and a tenth of a second are drawn once, so that the picture has no more parts
// than it has room for, however many turns there are.
import type { Bar } from "./lanes.ts";
import type { Brief, Stroke } from "./recent.ts";

/** How long the picture is, and one of its units, in milliseconds. */
export const SPAN = 60_000;
export const UNIT = 100;
/** No stroke is shorter than so many units. */
const LEAST = 2;

/** Two inputs stand so many units apart. */
const APART = 6;

/** Strokes of one role and width, as the data of one path; units from `zero` on. */
export interface Strokes {
  key: string;
  role: Bar["role"];
  width: number;
  d: string;
}

/** The strokes that reach into the minute before `now`. `zero` is where the units begin: the same from look to look, so that most of a path stays. */
export function minuteOf(turns: readonly Brief[], zero: number, now: number): Strokes[] {
  const first = Math.floor((now - SPAN - zero) / UNIT);
  const count = SPAN / UNIT + 1;
  const unit = (t: number) => Math.max(0, Math.min(count, Math.round((t - zero) / UNIT) - first));
  const rows = new Map<string, { role: Bar["role"]; width: number; y: number; cells: Uint8Array }>();
  for (const turn of turns) {
    if (turn.to < now - SPAN) continue;
    for (const stroke of turn.strokes) {
      const y = rowOf(stroke);
      const key = `${stroke.role} ${y}`;
      const row = rows.get(key) ?? { role: stroke.role, width: stroke.voice ? 2.2 : 3, y, cells: new Uint8Array(count) };
      rows.set(key, row);
      const from = unit(stroke.from);
      row.cells.fill(1, from, Math.max(unit(stroke.to), from + LEAST));
    }
  }
  const paths = new Map<string, Strokes>();
  for (const { role, width, y, cells } of rows.values()) {
    const key = `${role} ${width}`;
    const path = paths.get(key) ?? { key, role, width, d: "" };
    paths.set(key, path);
    for (let x = cells.indexOf(1); x >= 0; ) {
      const end = cells.indexOf(0, x);
      const to = end < 0 ? count : end;
      path.d += `M${first + x} ${y}h${to - x}`;
      x = cells.indexOf(1, to);
    }
  }
  return [...paths.values()];
}

/** When people said something, as the data of a path: of what was said at nearly the same time, once. */
export function inputsOf(turns: readonly Brief[], zero: number): string {
  let d = "";
  let last = Number.NEGATIVE_INFINITY;
  for (const t of turns.flatMap((turn) => turn.inputs).sort((a, b) => a - b)) {
    const x = Math.round((t - zero) / UNIT);
    if (x < last + APART) continue;
    d += `M${x} 13h3`;
    last = x;
  }
  return d;
}

/** The height of a stroke: submodules above, each in its row, below them decision and reply, then tools and what waits for people. */
function rowOf({ voice, role }: Stroke): number {
  return voice ? Math.round((3 + Math.min(4, 12 / voice.of) * voice.n) * 2) / 2 : role === "tool" || role === "gate" ? 23 : 19;
}
