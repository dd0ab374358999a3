// Messages that come while a page opens on a slow network are all in it: the first page, the socket and what came between leave no hole.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { front } from "./front.ts";
import { endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

const SLOW = { offline: false, downloadThroughput: 50_000, uploadThroughput: 50_000, latency: 400 };
/** So many of the newest messages have to be in view. */
const NEWEST = 25;
let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
let door: Awaited<ReturnType<typeof front>>;
before(async () => {
  browser = await launch();
  model = await endpoint(() => ({ calls: [{ name: "do_nothing", arguments: { reason: "" } }] }));
  server = await new Thinkd({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_RUNTIME__DEFAULT_SUBMODULES: "false" }).start();
  door = await front(server.url, process.env.CONSOLE_DIST);
});
after(async () => {
  await browser?.close();
  door?.close();
  await server?.stop();
  await model?.close();
});

for (const [place, hash] of [["a chat", "#/t/gap"], ["the log", "#/log"]] as const) {
  test(`what comes while ${place} opens on a slow network is all there`, async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 6000 } });
    const one = new Watched(await context.newPage(), door.url);
    const cdp = await context.newCDPSession(one.page);
    await cdp.send("Network.enable");
    await cdp.send("Network.emulateNetworkConditions", SLOW);
    let open = true;
    const saying = (async () => {
      for (let n = 0; open && n < 200; n += 1) {
        await server.call("POST", "/threads/gap/messages", { text: `${place}, word ${n}` });
        await new Promise((done) => setTimeout(done, 120));
      }
    })();
    await one.page.goto(`${door.url}/console/${hash}`);
    await one.page.locator(".conn.t-ok").waitFor();
    open = false;
    await saying;
    const { items } = await server.call<{ items: { payload: { text: string } }[] }>("GET", "/events?thread=gap&tags=type:message&limit=500&order=desc");
    const said = items.map(({ payload }) => payload.text).filter((text) => text.startsWith(place)).slice(0, NEWEST);
    assert.ok(said.length > 10, `${said.length} messages`);
    const shown = async () => (await one.page.locator("main").innerText()).split("\n");
    await until(async () => (await shown()).some((line) => line.includes(said[0]!)));
    const lines = await shown();
    assert.deepEqual(said.filter((words) => !lines.some((line) => line.endsWith(words))), []);
    one.clean();
    await context.close();
  });
}
