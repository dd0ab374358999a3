// The comparison of pictures.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Pixels, differences, readPng } from "../e2e/pixels.ts";

const plain = (width: number, height: number, colour: number): Pixels => ({ width, height, data: new Uint8Array(width * height * 4).fill(colour) });

test("a picture of the documentation is read: its size, and the colour of its ground", () => {
  const { width, height, data } = readPng(readFileSync(new URL("../../docs/console/help.png", import.meta.url)));
  assert.deepEqual([width, height, data.length], [1440, 900, 1440 * 900 * 4]);
  const last = [...data.slice(-4, -1)];
  assert.ok(last.every((c) => c < 40), `${last}: the ground is dark`);
});

test("a smoothed edge is no difference; a word, a colour and a size are; what may differ does not count", () => {
  const a = plain(48, 24, 20);
  const b = plain(48, 24, 20);
  for (let row = 0; row < 24; row += 1) b.data[row * 48 * 4] = 90;
  assert.deepEqual(differences(a, b), [], "one column of a tile, half as bright");
  for (let row = 2; row < 10; row += 1) b.data.fill(220, (row * 48 + 14) * 4, (row * 48 + 20) * 4);
  assert.deepEqual(differences(a, b).map(({ x, y }) => [x, y]), [[12, 0]]);
  assert.deepEqual(differences(a, b, [{ x: 10, y: 0, width: 20, height: 12 }]), []);
  assert.equal(differences(a, plain(48, 24, 29)).length, 8);
  assert.equal(differences(a, plain(47, 24, 20)).length, 1);
});
