// A turn as a strip, for the page's own drawing.
import type { Picture } from "./lanes.ts";
import type { Role } from "./events.ts";

/** One stroke of a strip, in its own units. */
export interface Stroke {
  x1: number;
  x2: number;
  y: number;
  width: number;
  role: Role;
  dashed: boolean;
}

/** A turn as a strip: one hairline a submodule, below it decision, tools and reply. */
export interface Strip {
  strokes: Stroke[];
  deadline: number | undefined;
  now: number | undefined;
  /** Where the deadline's line ends. */
  foot: number;
}

/** Lays the picture of a turn out in a strip of this size. */
export function strip(picture: Picture, width: number, height: number): Strip {
  const voices = picture.voices.count;
  const x = (t: number) => 1 + (Math.max(0, Math.min(t, picture.width)) / picture.width) * (width - 2);
  const base = height * 0.76;
  const gap = voices > 0 ? Math.min(height * 0.14, (base - 2) / voices) : 0;
  const strokes: Stroke[] = [];
  for (const bar of picture.bars) {
    const voice = bar.lane - picture.voices.first;
    const upper = voice >= 0 && voice < voices;
    const y = upper ? 1.5 + gap * voice : bar.role === "tool" ? base + height * 0.15 : base;
    const [x1, x2] = [x(bar.from), Math.max(x(bar.to), x(bar.from) + 1)];
    strokes.push({ x1, x2, y, width: upper ? Math.max(0.8, gap * 0.66) : height * 0.12, role: bar.role, dashed: bar.texture === "dashed" });
  }
  const line = (t: number | undefined) => (t === undefined ? undefined : x(t));
  return { strokes, deadline: line(picture.deadline), now: line(picture.now), foot: base };
}
