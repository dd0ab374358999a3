// Runs of pipelines as graphs: real ones, of which a crash cuts one off, and the journal answers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

/** More than half of what a model reads at once: each message is a part of its own. */
const LONG = "lorem ipsum ".repeat(1_500);

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
/** Answers of what is asked of the second part are held back. */
let held = true;
before(async () => {
  browser = await launch();
  model = await endpoint(({ prompt, tools }) => {
    if (tools.includes("reply")) return { calls: [{ name: "reply", arguments: { text: "noted" } }] };
    const isPart = prompt.includes("lorem ipsum");
    return { text: isPart ? "a part, in short" : "all of it", after: held && isPart && prompt.includes("second words") ? 600_000 : 0 };
  });
  server = new Thinkd({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x" });
  await server.start();
  for (const { name } of (await server.call<{ items: { name: string }[] }>("GET", "/submodules")).items) await server.call("DELETE", `/submodules/${name}`);
  await server.say(`first words ${LONG}`);
  await server.say(`second words ${LONG}`);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
});

const box = (one: Watched, name: string) => one.page.locator(".graph .task-box").filter({ hasText: name });
const lines = (one: Watched, count: number) => one.page.waitForFunction((n) => document.querySelectorAll(".graph path.edge:not(.called)").length === n, count);

test("a run is a graph of what its nodes need; after a crash it tells what the journal answered apart", async () => {
  const run = await server.call<{ id: string }>("POST", "/pipelines/summary", { input: { thread: "main" } });
  await until(async () => (await server.call<{ items: unknown[] }>("GET", "/events?tags=finished")).items.length === 2);
  const one = await Watched.open(browser, server.url, `#/run/${run.id}`);
  await lines(one, 2);
  assert.equal(await box(one, "digest").count(), 2);
  await box(one, "3: running").waitFor();
  await one.axe("a run at work");
  one.quiet = true;
  await server.kill();
  held = false;
  await server.start();
  await one.sees("live, no gap");
  one.quiet = false;
  await lines(one, 4);
  await box(one, "4: done").waitFor();
  const said = await one.page.locator(".graph .task-box small").allTextContents();
  assert.deepEqual(said.map((text) => text.replace(/done, .*/, "done")).sort(), ["1: from the journal", "2: from the journal", "3: done", "4: done"]);
  // The sign says it, too: by its shape and by its word.
  assert.equal(await one.page.locator(".graph").getByRole("img", { name: "from the journal" }).count(), 2);
  // A box opens what the node's row opens, and the address says so.
  await box(one, "join").click();
  await one.page.locator(".nodes [aria-expanded=true]").filter({ hasText: "join" }).waitFor();
  await one.sees("all of it");
  assert.ok(one.page.url().endsWith(`#/run/${run.id}/4`), one.page.url());
  assert.equal(await box(one, "join").getAttribute("aria-current"), "true");
  await one.page.locator(".drawer").getByRole("link", { name: "2", exact: true }).click();
  await one.page.locator(".nodes [aria-expanded=true]").filter({ hasText: "digest" }).waitFor();
  await one.axe("a run with a node opened");
  one.clean();
  await one.close();
});

test("on a phone the graph, then the timeline", async () => {
  const [run] = (await server.call<{ items: { id: string }[] }>("GET", "/pipelines/summary/runs")).items;
  const one = await Watched.open(browser, server.url, `#/run/${run!.id}/2`, { viewport: { width: 390, height: 844 }, hasTouch: true });
  await box(one, "read").waitFor();
  await one.page.getByText("a part, in short").waitFor();
  assert.ok((await one.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  const [graph, drawer] = await Promise.all([one.page.locator(".graph").boundingBox(), one.page.locator(".drawer").boundingBox()]);
  assert.ok(graph!.y + graph!.height <= drawer!.y, "nothing lies on the graph");
  await one.axe("a run on a phone");
  one.clean();
  await one.close();
});

test("a run, and a submodule, that are not there are said not to be", async () => {
  const one = await Watched.open(browser, server.url, "#/run/nope");
  one.quiet = true;
  await one.sees("There is no run nope here.");
  await one.go("#/run/0193b6c2-7c2e-7aaa-8000-0123456789ab");
  await one.sees("There is no run 0193b6c2-7c2e-7aaa-8000-0123456789ab here.");
  await one.axe("a run that is not there");
  await one.go("#/voices/nobody");
  await one.sees("There is no submodule nobody here.");
  await one.axe("a submodule that is not there");
  await one.close();
});
