// Too much of everything, and a world that is not as it should be: the layout stays, what is wrong is said, and the page recovers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { Thinkd, until } from "./server.ts";

const STATEMENT = "0193b6c2-7c2e-7aaa-8000-0123456789ab";
const RUN = "0193b6c2-7c2e-7bbb-8000-0123456789ab";

let browser: Browser;
let server: Thinkd;
before(async () => {
  browser = await launch();
  server = new Thinkd({});
  server.crowd();
  await server.start();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Nothing sticks out to the right. */
async function fits(one: Watched, where: string): Promise<void> {
  const wide = await one.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${where} is ${wide} px too wide`);
}

test("10,000 threads: 400 rows are drawn, the others are counted and found by name", async () => {
  const one = await Watched.open(browser, server.url, "#/threads");
  await one.sees("All 10000");
  await one.sees("9600 more: name a part of what you look for.");
  assert.equal(await one.page.locator("table.tree tbody tr").count(), 400);
  assert.equal(await one.page.getByText("There are more threads.").count(), 0, "these are all");
  await one.page.getByLabel("Find a thread").fill("number 7777");
  await one.page.getByRole("link", { name: /number 7777/ }).click();
  await one.sees("Used so far");
  await fits(one, "a list of 10,000 threads");
  one.clean();
  await one.close();
});

test("of more threads than are read the page says that there are more", async () => {
  await server.call("POST", "/threads", { kind: "conversation", label: "zzz" });
  const one = await Watched.open(browser, server.url, "#/threads");
  await one.sees("There are more threads.");
  await fits(one, "more than 10,000 threads");
  one.clean();
  await one.close();
});

test("a run of 84 nodes with hostile names: those of one name share a box, which opens, and names are text", async () => {
  const one = await Watched.open(browser, server.url, `#/run/${RUN}`);
  const boxes = one.page.locator(".graph .task-box");
  await one.page.waitForFunction(() => document.querySelectorAll(".graph .task-box").length === 3);
  await one.sees("16 more needs are counted in the log and not named");
  assert.equal(await one.page.locator(".graph path.edge").count(), 2);
  await one.axe("a run of many nodes");
  await boxes.filter({ hasText: "<img src=x" }).click();
  await one.page.waitForFunction(() => document.querySelectorAll(".graph .task-box").length > 70);
  await boxes.nth(1).click();
  await one.page.locator(".nodes [aria-expanded=true]").waitFor();
  assert.equal(await one.page.evaluate(() => (window as { planted?: number }).planted), undefined);
  assert.equal(await one.page.locator("main img, main [onerror]").count(), 0);
  await fits(one, "a run of many nodes");
  await one.go(`#/run/${encodeURIComponent(`<img src=x onerror=window.planted=1>`)}`);
  one.quiet = true;
  await one.sees("There is no run <img src=x");
  assert.equal(await one.page.evaluate(() => (window as { planted?: number }).planted), undefined);
  assert.deepEqual(one.wrong.filter((what) => !what.startsWith("console:")), []);
  await one.close();
});

test("a turn of 32 voices: a lane for each, on a phone, too", async () => {
  for (const width of [1440, 390]) {
    const one = await Watched.open(browser, server.url, "#/t/main/turn/1", { viewport: { width, height: 900 } });
    await one.sees("voice-32");
    assert.equal(await one.page.locator(".lanes .lane").filter({ hasText: /voice-\d\d/ }).count(), 32);
    await fits(one, `32 lanes, ${width} wide`);
    await one.go("#/t/main");
    await one.sees("what of the beds?");
    await fits(one, `the talk, ${width} wide`);
    one.clean();
    await one.close();
  }
});

test("a line of a megabyte: its beginning stands in talk and log, and all of it on demand", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main");
  const whole = one.page.getByRole("button", { name: "show all 1,000,000 characters" });
  await whole.first().waitFor();
  const shown = async (of: string) => (await one.page.locator(of).first().innerText()).length;
  assert.ok((await shown(".said.mind .tx")) < 20_000);
  await whole.first().click();
  await one.page.getByRole("button", { name: "show less" }).first().waitFor();
  assert.ok((await shown(".said.mind .tx")) >= 1_000_000);
  await fits(one, "a megabyte in the talk");
  await one.go("#/log");
  const row = one.page.locator(".lr.k-reply").first();
  await row.waitFor();
  assert.ok((await row.innerText()).length < 500 && (await row.boundingBox())!.height < 40);
  await fits(one, "a megabyte in the log");
  one.clean();
  await one.close();
});

test("an image that is gone, and one that is broken, are said to be so", async () => {
  const one = await Watched.open(browser, server.url, "#/t/pictures");
  one.quiet = true;
  await one.sees(/the image cannot be shown: /);
  // What its server sends is no image any more.
  const bytes = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await one.page.route("**/blobs/*", (route) => (route.request().method() === "GET" ? route.fulfill({ body: bytes.subarray(0, 40), contentType: "image/png" }) : route.continue()));
  await one.page.locator("input[type=file]").setInputFiles([{ name: "wall.png", mimeType: "image/png", buffer: bytes }]);
  await one.page.getByLabel("Say something to pictures").fill("Look.");
  await one.page.keyboard.press("Enter");
  await one.sees("the image cannot be shown: it is broken");
  await one.close();
});

test("a statement with 1,000 predictions: the first are listed, the others counted", async () => {
  const one = await Watched.open(browser, server.url, `#/world/${STATEMENT}`);
  await one.sees("Day 1 is warm.");
  await one.sees("940 more");
  assert.equal(await one.page.locator(".prediction").count(), 60);
  await fits(one, "1,000 predictions");
  one.clean();
  await one.close();
});

test("of a statement that fell, and of whose subject nothing is held, no graph is asked for", async () => {
  const asked: string[] = [];
  const one = await Watched.open(browser, server.url, "#/world", {}, async (page) => void page.on("request", (request) => asked.push(request.url())));
  await one.sees("Bob is here.");
  await one.go(`#/world/${STATEMENT.replace(/b$/, "c")}`);
  await one.sees("Why it is refuted");
  await until(async () => asked.filter((url) => url.includes("entity=Bob")).length === 2);
  await one.page.waitForTimeout(300);
  assert.deepEqual(asked.filter((url) => url.includes("/world-model/graph")), []);
  one.clean();
  await one.close();
});

test("a clock that is a day ahead or behind: it is said, and times are the server's", async () => {
  for (const [days, words] of [[1, /24 h ahead/], [-1, /24 h behind/]] as const) {
    const one = await Watched.open(browser, server.url, "#/log", {}, (page) => page.clock.setFixedTime(Date.now() + days * 86_400_000));
    await one.sees("up to date");
    await server.say(`the time is off by ${days}`, "clocks");
    await one.sees(words);
    await one.page.locator(".lr").first().locator(".tm").getByText(/^(now|−\d+ s)$/).waitFor();
    one.clean();
    await one.close();
  }
});

test("a tab that was asleep for an hour, and whose server was another one meanwhile, goes on without a gap", async () => {
  const one = await Watched.open(browser, server.url, "#/t/asleep", {}, (page) => page.clock.install());
  one.quiet = true;
  await one.sees("up to date");
  await one.page.context().setOffline(true);
  await server.kill();
  await server.start();
  await server.say("said while the tab was asleep", "asleep");
  await one.page.context().setOffline(false);
  await one.page.clock.fastForward("01:00:00");
  await one.sees("said while the tab was asleep");
  await one.sees("up to date");
  await one.close();
});

test("an older server, without `debug` and without figures: what it has is shown, what it lacks is said", async () => {
  const old = new Thinkd({});
  await old.start();
  try {
    await old.say("hello, old one");
    const one = await Watched.open(browser, old.url, "#/help", {}, async (page) => {
      const refuse = (status: number, detail: string) => ({ status, contentType: "application/problem+json", body: JSON.stringify({ type: "/problems/bad-request", title: detail, status, detail }) });
      await page.route(/\/(figures|versions|turns|usage)(\?|$)/, (route) => route.fulfill(refuse(404, "there is no such path")));
      await page.route(/\/events\?.*debug=/, (route) => route.fulfill(refuse(400, "the parameter debug is not known")));
      await page.routeWebSocket(/\/ws/, (socket) => {
        const behind = socket.connectToServer();
        socket.onMessage((text) => {
          const frame = JSON.parse(String(text)) as { type: string; id?: string; debug?: boolean };
          if (frame.type === "subscribe" && frame.debug) socket.send(JSON.stringify({ type: "problem", id: frame.id, problem: { type: "/problems/unknown-member", title: "bad frame", status: 400, detail: "the member debug is not known" } }));
          else behind.send(text);
        });
      });
    });
    one.quiet = true;
    await one.sees("up to date");
    await one.go("#/t/main");
    await one.sees("hello, old one");
    await old.say("and now live");
    await one.sees("and now live");
    await one.go("#/live");
    await one.sees("Decided with");
    await one.go("#/log");
    await until(async () => (await one.page.locator(".lr").count()) > 3);
    for (const hash of ["#/usage", "#/voices"]) {
      await one.go(hash);
      await one.sees(/there is no such path/);
    }
    assert.deepEqual(one.wrong, []);
    await one.close();
  } finally {
    await old.stop();
  }
});
