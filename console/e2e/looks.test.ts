// How every view looks: compared with the pictures of the documentation, on the scene that they were taken of.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { launch } from "./browser.ts";
import { type Box, differences, readPng } from "./pixels.ts";
import { type Shot, scene, shots, show, still } from "./scene.ts";
import { type Thinkd, until } from "./server.ts";

/** So long may a page go on becoming what it is: fonts, the last answer. */
const SETTLES = 15_000;

let browser: Browser;
let server: Thinkd;
let all: Shot[];
before(async () => {
  browser = await launch();
  server = await scene();
  all = await shots(server);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Where a page differs from its picture. */
async function against(page: Page, name: string): Promise<Box[]> {
  const picture = readPng(readFileSync(new URL(`../../docs/console/${name}.png`, import.meta.url)));
  const varies = await page.locator("[data-varies]").all();
  const may = (await Promise.all(varies.map((one) => one.boundingBox()))).flatMap((box) => box ?? []);
  return differences(readPng(await page.screenshot({ animations: "disabled" })), picture, may);
}

test("every view looks as its picture in docs/console", async (t) => {
  const wrong: string[] = [];
  for (const options of new Set(all.map((shot) => shot.options))) {
    const one = await still(browser, server, options);
    for (const shot of all.filter((shot) => shot.options === options)) {
      await show(one, shot);
      let found: Box[] = [];
      await until(async () => (found = await against(one.page, shot.name)).length === 0, SETTLES).catch(() => undefined);
      if (found.length > 0) wrong.push(`${shot.name}: ${found.length} tiles, the first at ${found.slice(0, 3).map(({ x, y }) => `${x},${y}`).join(" ")}`);
    }
    one.clean();
    await one.close();
  }
  t.diagnostic(`${all.length} pictures`);
  assert.deepEqual(wrong, [], "if it is to look so: npm run pictures");
});

test("the control: an entry that is missing, a line that is one colour too grey, and a word that is another are seen", async () => {
  const shot = all.find(({ name }) => name === "missions-list")!;
  const one = await still(browser, server, shot.options);
  await show(one, shot);
  await until(async () => (await against(one.page, shot.name)).length === 0);
  const seen = async (change: () => void) => {
    await one.page.evaluate(change);
    return (await against(one.page, shot.name)).length > 0;
  };
  assert.ok(await seen(() => document.querySelector<HTMLElement>('nav.side a[href="#/missions"]')!.style.setProperty("visibility", "hidden")));
  assert.ok(!(await seen(() => document.querySelector<HTMLElement>('nav.side a[href="#/missions"]')!.style.removeProperty("visibility"))));
  assert.ok(await seen(() => (document.querySelector("h1")!.textContent = "Admission")));
  assert.ok(!(await seen(() => (document.querySelector("h1")!.textContent = "Missions"))));
  assert.ok(await seen(() => document.documentElement.style.setProperty("--bg-1", "#202528")));
  assert.ok(!(await seen(() => document.documentElement.style.removeProperty("--bg-1"))));
  await one.close();
});
