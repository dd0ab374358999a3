// The server's own pages of its contracts: all of the documents, for everybody, and nothing from elsewhere.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "../e2e/browser.ts";
import { Thinkd, until } from "../e2e/server.ts";

type Operations = Record<string, Record<string, { operationId: string; summary: string; parameters?: { name: string }[] }>>;
let browser: Browser, thinkd: Thinkd;

before(async () => {
  thinkd = await new Thinkd({}).start();
  browser = await launch();
});
after(async () => {
  await browser.close();
  await thinkd.stop();
});

/** A page of the server with its boxes open, in a window of this width. */
async function open(path: string, width: number): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width, height: 900 } });
  context.setDefaultTimeout(20_000);
  const one = new Watched(await context.newPage(), thinkd.url);
  await one.page.goto(thinkd.url + path);
  await one.page.locator("main details").first().waitFor({ state: "attached" });
  // What is in a box comes when it opens, with boxes of its own: an operation, then its answers.
  for (const _ of ["operations", "answers"]) {
    await one.page.evaluate("document.querySelectorAll('main details:not([open])').forEach((one) => (one.open = true))");
    await until(() => one.page.evaluate("[...document.querySelectorAll('main details[open]')].every((one) => one.childElementCount > 1)"));
  }
  return one;
}

for (const path of ["/docs", "/docs/asyncapi"]) {
  for (const width of [1280, 390]) {
    test(`${path}, ${width} px: with its boxes open axe finds nothing, nothing sticks out, nothing comes from elsewhere`, async () => {
      const one = await open(path, width);
      assert.equal(await one.page.getByRole("heading", { level: 1 }).count(), 1);
      await one.axe(`${path}, ${width}`);
      assert.equal(await one.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "it scrolls sideways");
      one.clean();
      await one.close();
    });
  }
}

test("/docs has every operation with its summary, its parameters and a line that asks for it", async () => {
  const { paths } = await thinkd.call<{ paths: Operations }>("GET", "/openapi.json");
  const one = await open("/docs", 1280);
  let count = 0;
  for (const [path, verbs] of Object.entries(paths)) {
    for (const [verb, { operationId, summary, parameters = [] }] of Object.entries(verbs)) {
      const text = (await one.page.locator(`[id="${operationId}"]`).innerText()).replaceAll(/\s+/g, " ");
      const plain = summary.replaceAll(/[`*]/g, "").replaceAll(/\s+/g, " ");
      for (const wanted of [verb.toUpperCase(), path, plain, "curl ", ...parameters.map(({ name }) => name)]) assert.ok(text.includes(wanted), `${operationId} does not show ${wanted}: ${text}`);
      count += 1;
    }
  }
  assert.ok(count > 70, `${count} operations`);
  one.clean();
  await one.close();
});

test("/docs finds an operation by words, and a link opens it", async () => {
  const context = await browser.newContext();
  context.setDefaultTimeout(20_000);
  const one = new Watched(await context.newPage(), thinkd.url);
  await one.page.goto(`${thinkd.url}/docs#post_message`);
  await one.page.locator("#post_message[open]").getByText("seconds to wait for what comes of it").waitFor();
  await one.page.getByRole("searchbox", { name: "Find" }).fill("take back input");
  const shown = one.page.locator("main details.operation").filter({ visible: true });
  await one.page.locator("#post_message").waitFor({ state: "hidden" });
  assert.deepEqual(await shown.evaluateAll((all) => all.map((one) => one.id)), ["withdraw_input"]);
  one.clean();
  await one.close();
});

test("the line that says something works as it stands", async () => {
  const one = await open("/docs", 1280);
  const line = await one.page.locator("#post_message pre").first().innerText();
  const [, address, body] = /^curl '([^']+)' .*-d '([^']+)'$/s.exec(line)!;
  const answer = await fetch(address!.replace("{thread}", "main"), { method: "POST", headers: { "content-type": "application/json" }, body: body! });
  assert.ok(answer.ok, `${line}: ${answer.status} ${await answer.text()}`);
  await one.close();
});
