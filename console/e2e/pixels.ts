// Two pictures against each other, as eyes would: by the mean colours of small tiles, so that how an edge was smoothed makes no difference, and a word that is gone does.
import { inflateSync } from "node:zlib";

/** A picture: red, green and blue of each pixel, row by row. */
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

/** Reads a PNG as browsers write them: eight bits, with or without alpha, not interlaced. */
export function readPng(file: Buffer): Pixels {
  const width = file.readUInt32BE(16);
  const height = file.readUInt32BE(20);
  const size = { 2: 3, 6: 4 }[file[25]!];
  if (file[24] !== 8 || size === undefined || file[28] !== 0) throw new Error("a PNG of another kind");
  const parts: Buffer[] = [];
  for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at)) {
    if (file.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(file.subarray(at + 8, at + 8 + file.readUInt32BE(at)));
  }
  const raw = inflateSync(Buffer.concat(parts));
  const row = width * size;
  for (let y = 0; y < height; y += 1) unfilter(raw, y * (row + 1), row, size, y > 0);
  const data = new Uint8Array(width * height * 3);
  for (let i = 0, to = 0; i < width * height; i += 1) {
    const from = Math.floor(i / width) * (row + 1) + 1 + (i % width) * size;
    for (let c = 0; c < 3; c += 1) data[to++] = raw[from + c]!;
  }
  return { width, height, data };
}

/** Undoes the filter of a row that begins at `at` with its kind. */
function unfilter(raw: Buffer, at: number, row: number, size: number, above: boolean): void {
  const kind = raw[at]!;
  for (let i = 1; i <= row; i += 1) {
    const left = i > size ? raw[at + i - size]! : 0;
    const up = above ? raw[at + i - row - 1]! : 0;
    const corner = above && i > size ? raw[at + i - size - row - 1]! : 0;
    const more = [0, left, up, (left + up) >> 1, kind === 4 ? paeth(left, up, corner) : 0][kind]!;
    raw[at + i] = (raw[at + i]! + more) & 255;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [l, u, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return l <= u && l <= c ? left : u <= c ? up : corner;
}

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
      const at = (row * a.width + column) * 3;
      for (let c = 0; c < 3; c += 1) sums[c]! += a.data[at + c]! - b.data[at + c]!;
    }
  }
  return sums.some((sum) => Math.abs(sum) > NEAR * width * height);
}
