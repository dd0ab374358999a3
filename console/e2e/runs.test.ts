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
const ended = (id: string, pipeline: string) => until(async () => (await server.call<{ status: string }>("GET", `/pipelines/${pipeline}/runs/${id}`)).status !== "running");
before(async () => {
  browser = await launch();
  model = await endpoint(({ prompt, tools }) => {
    if (tools.includes("reply")) return { calls: [{ name: "reply", arguments: { text: "noted" } }] };
    if (prompt.includes("AT LENGTH")) return { text: `at length ${"w".repeat(80_000)}` };
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
  await one.sees("up to date");
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

test("a run that failed for a node's sake is drawn, and its failure is no node", async () => {
  const run = await server.call<{ id: string }>("POST", "/pipelines/summary", { input: { thread: "nosuch" } });
  await ended(run.id, "summary");
  const one = await Watched.open(browser, server.url, `#/run/${run.id}`);
  await box(one, "1: failed").waitFor();
  assert.equal(await one.page.locator(".graph .task-box").count(), 1);
  await one.sees("there is no thread nosuch");
  await one.go(`#/run/${run.id}/99`);
  await one.sees("There is no node 99 in this run.");
  one.clean();
  await one.close();
});

test("nodes that were under way when their run was cancelled are stopped", async () => {
  held = true;
  await server.say(`second words again ${LONG}`, "slow");
  const run = await server.call<{ id: string }>("POST", "/pipelines/summary", { input: { thread: "slow" } });
  const one = await Watched.open(browser, server.url, `#/run/${run.id}`);
  await one.page.locator(".graph .task-box").getByText(/: running/).first().waitFor();
  await one.page.getByRole("button", { name: "Cancel the run" }).click();
  await one.page.locator(".graph .task-box").getByText(/: stopped/).first().waitFor();
  await one.page.locator(".nodes").getByText("stopped", { exact: true }).first().waitFor();
  assert.equal(await one.page.locator(".graph, .nodes").getByText(/running/).count(), 0);
  await one.axe("a cancelled run");
  one.clean();
  await one.close();
  held = false;
});

test("a prompt is tried once, however quickly it is clicked; an output that a blob has is shown; the focus stays", async () => {
  await server.call("POST", "/submodules", { name: "critic", prompt: "Say what is wrong." });
  await server.say("what of the wall?");
  await server.say("and what of the roof?");
  const one = await Watched.open(browser, server.url, "#/voices/critic");
  await one.page.getByRole("button", { name: "Change it" }).click();
  await one.page.getByLabel("Prompt of critic").fill("AT LENGTH");
  const again = one.page.getByRole("button", { name: /Try it over its last/ });
  await again.dblclick();
  await one.page.locator(".tried").getByText("at length").first().waitFor();
  const runs = async () => (await server.call<{ items: { id: string }[] }>("GET", "/pipelines/trial/runs")).items;
  assert.equal((await runs()).length, 1, "two clicks are one run");
  await again.press("Enter");
  await until(async () => (await runs()).length === 2);
  await one.page.locator(".tried").getByText("at length").first().waitFor();
  assert.match((await one.page.evaluate(() => document.activeElement?.textContent)) ?? "", /Try it over its last/);
  await one.axe("a prompt that was tried");
  const [run] = await runs();
  await one.go("#/pipelines");
  await one.page.locator("table.t tr", { hasText: "trial" }).first().getByText(/\d+ kB of JSON/).waitFor();
  await one.go(`#/run/${run!.id}`);
  await one.page.locator(".drawer section", { hasText: "Came to" }).getByText("at length").first().waitFor();
  await one.page.locator(".nodes button", { hasText: "ask" }).first().click();
  await one.page.locator(".nodes .whole").getByText("at length").first().waitFor();
  await one.axe("a run with a large output");
  one.clean();
  await one.close();
});

test("an address that is no number, or of what is not there, is said to be so", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main/turn/x");
  await one.sees("x is no turn");
  await one.go("#/log/x");
  await one.sees("x is no event of the log");
  await one.go("#/log/999999999");
  await one.sees("Event #999,999,999 is not in the log.");
  await one.axe("an event that is not there");
  await one.go("#/log/5");
  await one.page.locator(".lr[aria-current=true]").waitFor();
  assert.equal(await one.page.getByText("is not in the log").count(), 0);
  assert.ok(!(await one.page.locator("body").innerText()).includes("NaN"));
  one.clean();
  await one.close();
});
