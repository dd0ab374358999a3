// A log of 100,000 events: scrolled, jumped in and filtered, with few rows in the page. `bench.ts` does the same with 1,000,000.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { cost, scrollDown, told, watch } from "./measure.ts";
import { Thinkd, until } from "./server.ts";

const EVENTS = 100_000;
let browser: Browser;
let server: Thinkd;
before(async () => {
  browser = await launch();
  server = new Thinkd({});
  server.fill(EVENTS);
  await server.start();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const rows = (one: Watched) => one.page.locator(".rows > li").count();

test("100,000 events: only the rows in view are in the page, after 10,000 were scrolled over, too", async (t) => {
  const one = await Watched.open(browser, server.url, "#/help");
  await watch(one.page);
  await one.page.reload();
  await one.go("#/log");
  await one.page.getByRole("link", { name: "#100,000", exact: true }).waitFor();
  t.diagnostic(told("opened", await cost(one.page)));
  assert.ok((await scrollDown(one.page, 10_000)) >= 10_000);
  const far = await cost(one.page);
  t.diagnostic(told("10,000 events further down", far));
  assert.ok((await rows(one)) < 90, `${await rows(one)} rows`);
  assert.ok(far.nodes < 20_000, `${far.nodes} nodes`);
  assert.ok(far.heap < 80e6, `${far.heap} bytes of heap`);
  const shown = await one.page.locator(".lr .seq").allTextContents();
  const seqs = shown.map((text) => Number(text.replace(/[#,]/g, "")));
  assert.ok(seqs.length > 10 && seqs.every((seq, i) => i === 0 || seq < seqs[i - 1]!), "newest first, each once");
  one.clean();
  await one.close();
});

test("100,000 events: a jump to a seq shows it with its neighbours, and from there both ways", async () => {
  const one = await Watched.open(browser, server.url, "#/log");
  await one.page.getByRole("link", { name: "#100,000", exact: true }).waitFor();
  for (const seq of ["#50,000", "#3", "#99,999"]) {
    await one.page.getByLabel("Search the log").fill(seq.replace(",", ""));
    await one.page.keyboard.press("Enter");
    await one.page.locator(".lr[aria-current=true]").getByText(seq, { exact: true }).waitFor();
    await one.page.locator(".drawer").waitFor();
    await until(async () => (await rows(one)) > 10 && (await rows(one)) < 90);
  }
  await one.go("#/log/50000");
  await one.page.locator(".lr[aria-current=true]").getByText("#50,000", { exact: true }).waitFor();
  await one.page.locator("main").focus();
  await one.page.keyboard.press("j");
  await one.page.waitForURL(/#\/log\/49999/);
  await one.page.locator(".drawer").waitFor();
  one.clean();
  await one.close();
});

test("100,000 events: a permalink stays in view while what is newer than it comes late", async () => {
  const one = await Watched.open(browser, server.url, "#/log");
  await one.page.getByRole("link", { name: "#100,000", exact: true }).waitFor();
  let late = 0;
  await one.page.route(/\/events\?.*after=50000/, async (route) => {
    await new Promise((done) => setTimeout(done, 1_000));
    late += 1;
    await route.continue();
  });
  await one.go("#/log/50000");
  await one.page.locator(".lr[aria-current=true]").getByText("#50,000", { exact: true }).waitFor();
  assert.equal(late, 0, "what is older is there first");
  await until(async () => late === 1 && /500 events/.test(await one.page.locator("footer.status").innerText()));
  await one.page.waitForTimeout(300);
  assert.ok(await one.page.locator(".lr[aria-current=true]").getByText("#50,000", { exact: true }).isVisible());
  one.clean();
  await one.close();
});

test("100,000 events: words, a thread and a kind narrow the list; a turn of long ago opens as lanes", async () => {
  await until(() => server.call("GET", "/events?q=number&limit=1").catch(() => undefined));
  const one = await Watched.open(browser, server.url, "#/log");
  await one.page.getByRole("link", { name: "#100,000", exact: true }).waitFor();
  await one.page.getByLabel("Search the log").fill("plan number 4321");
  await one.page.keyboard.press("Enter");
  await one.sees("here is what I think of plan number 4321");
  await one.sees("all that match");
  assert.ok((await one.page.locator(".lr").count()) <= 8);
  await one.go("#/log?thread=side-20&kinds=input");
  await one.sees("what of plan number 9920?");
  await one.sees("100 events here, all that match");
  await one.go("#/t/main/turn/3");
  await one.sees("Decided with");
  await one.page.locator(".film").getByText("turn 9999").waitFor();
  assert.ok((await one.page.locator("button.b").count()) >= 2, "lanes are drawn");
  one.clean();
  await one.close();
});

test("100,000 events: the lanes of an hour have the turns of before the page, in a band where they are many", async () => {
  // Tags are found once the server has indexed what was written past it.
  const last = () => server.call<{ items: unknown[] }>("GET", `/events?tags=turn:${EVENTS / 10}&limit=1`).then(({ items }) => items.length > 0, () => false);
  await until(last);
  // What is read of the log is held back for a moment: the page says that it does not have all of it.
  let go = () => {};
  const held = new Promise<void>((done) => (go = done));
  const one = await Watched.open(browser, server.url, "#/live?span=1h", {}, async (page) => void (await page.route(/\/events\?.*tags=message/, async (route) => (await held, await route.continue()))));
  await one.sees("what was before is being read");
  go();
  await one.page.getByText("what was before is being read").waitFor({ state: "detached" });
  const lane = (name: string) => one.page.locator(".lane", { has: one.page.getByText(name, { exact: true }) });
  const turns = async (name: string) => Number.parseInt(await lane(name).locator(".st").innerText(), 10);
  // A turn takes 2.5 s there, and nine of ten are of `main`: 1,296 in an hour, of which the page has the last 135. The log ends a while ago.
  await until(async () => (await turns("main")) > 1_000);
  assert.ok((await turns("main")) <= 1_296);
  await lane("main").getByRole("img", { name: /turns, at most \d+ at once/ }).waitFor();
  // A box for each of few: the oldest may go while they are counted.
  const boxes = await lane("side-10").locator("a.tn").count();
  assert.ok(boxes > 10 && Math.abs(boxes - (await turns("side-10"))) <= 1, `${boxes} boxes`);
  assert.match((await lane("side-10").locator("a.tn").first().getAttribute("href")) ?? "", /^#\/t\/side-10\/turn\/\d+$/);
  one.clean();
  await one.close();
});
