// A page that has not read something says nothing of it: no list is empty, no count 0 and nothing missing before the server's answer is there.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { type Answer, endpoint } from "./model.ts";
import { Thinkd } from "./server.ts";
import { VIEWS } from "../src/lib/route.ts";

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
let places: string[] = [];
before(async () => {
  browser = await launch();
  model = await endpoint(({ voice, said, prompt }): Answer => {
    const since = prompt.slice(prompt.lastIndexOf(`: ${said}`));
    if (voice) return { text: "Bo eats no nuts." };
    if (/write it down/.test(said) && !/(call|result) state_put/.test(since)) return { calls: [{ name: "state_put", arguments: { key: "office/permit", content: "Ask the office", related_keys: [] } }, { name: "wait", arguments: { from: null, timeout_s: null } }] };
    return { calls: [{ name: "reply", arguments: { text: `You said: ${said}` } }] };
  });
  server = await new Thinkd({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_RUNTIME__DEFAULT_SUBMODULES: "false", THINKD_TOOLS__APPROVAL: '["state_put"]' }).start();
  await server.call("POST", "/submodules", { name: "guests", prompt: "You are the guests. Say what a guest would say." });
  await server.say("What shall we have for dinner?");
  await server.say("write it down", "office");
  const { id } = await server.call<{ id: string }>("POST", "/world-model", { statement: "The user likes plums." });
  const { items: [run] } = await server.call<{ items: { id: string }[] }>("GET", "/events?limit=1&order=asc");
  assert.ok(run);
  const [asked] = (await server.call<{ items: { approval_id: string }[] }>("GET", "/approvals")).items;
  places = [...VIEWS.map(({ path }) => path), "#/voices/guests", `#/world/${id}`, "#/t/main/turn/1", "#/t/main/about", `#/inbox/${asked!.approval_id}`, "#/inbox?show=schedules", "#/live?span=5m", "#/live?span=1h", "#/log?q=dinner", "#/world?mood=main", "#/world?recall=plums", "#/world?around=plums"];
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
});

/** Words that say of something that it is not there. */
const NONE = /\bnothing (happened|waits|matches|said|is known|was|has been|comes)\b|\bnobody\b|\bno (run|thread|turn|mission|submodule|statement|answer|message|call|mood|event)s?\b(?! of its own)|\b0 (statements?|waits?|came|wait|runs?|facts?)\b|\bnone (yet|here)\b|has said nothing|\bopen 0\b|\bis empty\b|24 h is here|gave no reason/i;

/** Requests that are answered at once; all others, and the socket, wait. */
const FIRST: [string, RegExp][] = [
  ["nothing is read", /^$/],
  ["only the first lists are read", /^\/(threads|pipelines|submodules|metadata|approvals|questions|world-model)(\?|$)/],
];

for (const [what, passes] of FIRST) {
  test(`where ${what}, no view says that there is none`, async () => {
    const wrong: string[] = [];
    for (const place of places) {
      const one = await Watched.open(browser, server.url, place, {}, async (page) => {
        await page.routeWebSocket(/\/ws/, () => undefined);
        await page.route((url) => !url.pathname.startsWith("/console/"), async (route) => {
          const { pathname, search } = new URL(route.request().url());
          if (passes.test(pathname + search)) await route.continue();
        });
      });
      await one.page.locator("main").filter({ hasText: /\S/ }).or(one.page.locator("main .skel, main [aria-busy]")).first().waitFor();
      await one.page.waitForTimeout(700);
      const text = await one.page.evaluate(() => {
        const main = document.querySelector<HTMLElement>("main")!;
        main.querySelectorAll<HTMLElement>(".lead, pre, .vh").forEach((part) => (part.style.display = "none"));
        return main.innerText;
      });
      // Of threads and missions the first lists tell all.
      const found = NONE.exec(passes.test("/threads") ? text.replace(/No mission yet|Can send to\s+nobody|no thread thinks/gi, "") : text);
      if (found) wrong.push(`${place}: “${text.slice(Math.max(0, found.index - 20), found.index + 50).replace(/\s+/g, " ")}”`);
      one.quiet = true;
      await one.close();
    }
    assert.deepEqual(wrong, []);
  });
}
