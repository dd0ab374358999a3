// The pages that README.md and docs/frontend.md show, as a reader would serve them: readable, in view, and nothing that is said is lost.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { Watched, launch } from "../e2e/browser.ts";
import { Thinkd, until } from "../e2e/server.ts";

const ROOT = new URL("../../", import.meta.url);

/** The page that a document shows, on a site of its own, with the port of this server in it. */
async function served(file: string, thinkd: Thinkd): Promise<{ site: Server; origin: string }> {
  const [, page] = /^```html\n([^]*?)^```$/m.exec(readFileSync(new URL(file, ROOT), "utf8"))!;
  const html = page!.replaceAll("2953", String(thinkd.port));
  const site = createServer((request, response) => {
    response.writeHead(request.url === "/" ? 200 : 204, { "content-type": "text/html" });
    response.end(request.url === "/" ? html : undefined);
  });
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  return { site, origin: `http://localhost:${(site.address() as AddressInfo).port}` };
}

for (const file of ["README.md", "docs/frontend.md"]) {
  let browser: Browser, thinkd: Thinkd, site: Server, origin: string;

  before(async () => {
    thinkd = await new Thinkd({ THINKD_RUNTIME__DEFAULT_SUBMODULES: "false" }).start();
    ({ site, origin } = await served(file, thinkd));
    browser = await launch();
  });
  after(async () => {
    await browser.close();
    site.close();
    await thinkd.stop();
  });

  /** The page, in a window of this size. */
  async function open(width: number, height: number, scheme: "light" | "dark" = "light"): Promise<Watched> {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
    context.setDefaultTimeout(20_000);
    const one = new Watched(await context.newPage(), origin);
    await one.page.goto(origin);
    return one;
  }
  const input = (page: Page): Locator => page.getByRole("textbox", { name: "Say something" });
  const line = (page: Page, text: string): Locator => page.getByText(`you: ${text}`, { exact: true });
  /** The line of what was said here, stored or not. */
  const mine = (page: Page, text: string): Locator => page.getByText(new RegExp(`^you.*: ${text}$`));
  /** Inputs in the log with these words. */
  const stored = async (text: string): Promise<number> =>
    (await thinkd.call<{ items: { payload: { text: string } }[] }>("GET", "/events?tags=input&limit=200")).items.filter((one) => one.payload.text === text).length;

  for (const [width, scheme] of [[1280, "light"], [390, "dark"]] as const) {
    test(`${file}, ${width} px, ${scheme}: names, landmarks, a heading, a label, lines that wrap; axe finds nothing`, async () => {
      const words = `before ${width} ${"long".repeat(80)}`;
      await thinkd.say(words);
      const one = await open(width, 700, scheme);
      await line(one.page, words).waitFor();
      assert.equal(await one.page.locator("html").getAttribute("lang"), "en");
      for (const found of [one.page.getByRole("main"), one.page.getByRole("heading", { level: 1 }), input(one.page)]) assert.equal(await found.count(), 1);
      assert.equal(await one.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "it scrolls sideways");
      await one.axe(`${file}, ${width}, ${scheme}`);
      one.clean();
      await one.close();
    });
  }

  test(`${file}: a reply is seen while it is written, hostile text is text, and no JSON is shown`, async () => {
    const one = await open(1280, 700);
    // As text: the names that the loader gives to functions are not known in the page.
    await one.page.evaluate(`
      var seen = new Set();
      new MutationObserver(() => document.querySelectorAll("#log > *").forEach((line) => seen.add(line.textContent)))
        .observe(document.getElementById("log"), { childList: true, characterData: true, subtree: true });`);
    await input(one.page).fill('<img src=x onerror="document.title = 1">');
    await input(one.page).press("Enter");
    await line(one.page, '<img src=x onerror="document.title = 1">').waitFor();
    const reply = one.page.getByText(/^reply: /).last();
    await until(async () => (await stored('<img src=x onerror="document.title = 1">')) === 1 && /idle/.test(JSON.stringify(await thinkd.call("GET", "/threads/main"))));
    await reply.waitFor();
    const whole = (await reply.textContent())!;
    const seen = await one.page.evaluate<string[]>("[...seen]");
    assert.ok(seen.some((text) => text.startsWith("reply: ") && text.length < whole.length && whole.startsWith(text)), `only whole replies: ${JSON.stringify(seen)}`);
    assert.equal(await one.page.locator("img").count(), 0);
    assert.ok(!(await one.page.locator("body").innerText()).includes('{"'), "JSON is shown");
    one.clean();
    await one.close();
  });

  test(`${file}: a refusal is shown with the words that were refused, and what is said next is stored`, async () => {
    const one = await open(1280, 700);
    await thinkd.say("here");
    await line(one.page, "here").waitFor();
    for (const words of ["\u2003\u2003", "and next"]) {
      await input(one.page).fill(words);
      await input(one.page).press("Enter");
    }
    await one.page.getByText(/^\s+\(.+\)$/).waitFor();
    await line(one.page, "and next").waitFor();
    assert.deepEqual([await one.page.getByText("not stored yet").count(), await stored("and next")], [0, 1]);
    one.clean();
    await one.close();
  });

  test(`${file}: after 30 messages the input is in view, and a reader who scrolled up stays there`, async () => {
    const one = await open(390, 600);
    for (let at = 1; at <= 30; at += 1) {
      await input(one.page).fill(`number ${at}`);
      await input(one.page).press("Enter");
    }
    await line(one.page, "number 30").waitFor();
    await until(async () => /idle/.test(JSON.stringify(await thinkd.call("GET", "/threads/main"))));
    const place = await input(one.page).boundingBox();
    assert.ok(place && place.y >= 0 && place.y + place.height <= 600, `the input is at ${JSON.stringify(place)} of 600`);
    const first = line(one.page, "number 1");
    await first.scrollIntoViewIfNeeded();
    const before = (await first.boundingBox())!.y;
    await thinkd.say("from elsewhere");
    await line(one.page, "from elsewhere").waitFor();
    assert.equal((await first.boundingBox())!.y, before);
    one.clean();
    await one.close();
  });

  test(`${file}: what is said while the server is away is shown, kept, and stored once, in order`, async () => {
    const one = await open(1280, 700);
    await thinkd.say("all is well");
    await line(one.page, "all is well").waitFor();
    one.quiet = true;
    await thinkd.kill();
    for (const text of ["while away", "and another"]) {
      await input(one.page).fill(text);
      await input(one.page).press("Enter");
      await mine(one.page, text).waitFor(); // seen at once, though nobody has it
    }
    if (file !== "README.md") await one.page.reload();
    assert.equal(await mine(one.page, "while away").count(), 1);
    await thinkd.start();
    for (const text of ["while away", "and another"]) {
      await line(one.page, text).waitFor({ timeout: 30_000 });
      assert.deepEqual([await line(one.page, text).count(), await mine(one.page, text).count(), await stored(text)], [1, 1, 1]);
    }
    const [early, late] = await Promise.all(["while away", "and another"].map(async (text) => (await line(one.page, text).boundingBox())!.y));
    assert.ok(early! < late!, "in the order in which it was said");
    one.clean();
    await one.close();
  });

  test(`${file}: a message whose acknowledgement is lost with the connection is sent again and stored once`, async () => {
    const context = await browser.newContext();
    const one = new Watched(await context.newPage(), origin);
    let lost = 0;
    await one.page.routeWebSocket(/\/ws$/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((data) => {
        const is_answer = /"type":"ack"/.test(String(data)) && /"events":\[\{/.test(String(data));
        if (!is_answer || lost > 0) return socket.send(data);
        lost += 1;
        void socket.close({ code: 4000 });
        void server.close({ code: 1001 });
      });
    });
    await one.page.goto(origin);
    await line(one.page, "all is well").waitFor();
    await input(one.page).fill("said twice");
    await input(one.page).press("Enter");
    await line(one.page, "said twice").waitFor();
    await until(async () => (await stored("said twice")) > 0);
    assert.deepEqual([lost, await line(one.page, "said twice").count(), await stored("said twice")], [1, 1, 1]);
    one.clean();
    await one.close();
  });
}

test("docs/frontend.md: the page says that it needs a key, and takes one from its address", async () => {
  const thinkd = await new Thinkd({ THINKD_TOKEN: "the-token-of-this-test" }).start();
  const { site, origin } = await served("docs/frontend.md", thinkd);
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.goto(origin);
    await page.getByText("this page needs a key").waitFor();
    await page.goto(`${origin}/#the-token-of-this-test`);
    await page.getByText("connected", { exact: true }).waitFor();
  } finally {
    await browser.close();
    site.close();
    await thinkd.stop();
  }
});
