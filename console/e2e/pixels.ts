// Two pictures against each other, as eyes would: by the mean colours of small tiles, so that how an edge was smoothed makes no difference, and a word that is gone does.
import { PNG } from "pngjs";

/** A picture: red, green, blue and opacity of each pixel, row by row. */
export interface Pixels {
  width: number;
  height: number;
  data: Uint8Array;
}

/** A part of a picture, in pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The side of a tile, in pixels, and by how much of 255 its mean may differ. */
const TILE = 12;
const NEAR = 8;

/** Reads a PNG. */
export const readPng = (file: Buffer): Pixels => PNG.sync.read(file);

/** The tiles in which two pictures differ, outside of what may. */
export function differences(a: Pixels, b: Pixels, may: readonly Box[] = []): Box[] {
  if (a.width !== b.width || a.height !== b.height) return [{ x: 0, y: 0, width: Math.max(a.width, b.width), height: Math.max(a.height, b.height) }];
  const found: Box[] = [];
  for (let y = 0; y < a.height; y += TILE) {
    for (let x = 0; x < a.width; x += TILE) {
      const tile = { x, y, width: Math.min(TILE, a.width - x), height: Math.min(TILE, a.height - y) };
      if (!may.some((box) => overlap(box, tile)) && apart(a, b, tile)) found.push(tile);
    }
  }
  return found;
}

function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function apart(a: Pixels, b: Pixels, { x, y, width, height }: Box): boolean {
  const sums = [0, 0, 0];
  for (let row = y; row < y + height; row += 1) {
    for (let column = x; column < x + width; column += 1) {
      const at = (row * a.width + column) * 4;
      for (let c = 0; c < 3; c += 1) sums[c]! += a.data[at + c]! - b.data[at + c]!;
    }
  }
  return sums.some((sum) => Math.abs(sum) > NEAR * width * height);
}
