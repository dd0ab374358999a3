// What a person does has an answer: a wrong key, a verdict, an export, a switch of the zone of times.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import type { AnyEvent } from "../src/lib/events.ts";
import { Watched, launch } from "./browser.ts";
import { endpoint } from "./model.ts";
import { Thinkd } from "./server.ts";

const ASKS = 3;
/** More events than a page of the list has. */
const SAID = 40;
let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
before(async () => {
  browser = await launch();
  model = await endpoint(({ voice, prompt, said }) => {
    if (voice) return { text: "PASS" };
    if (/file them/.test(said) && !/(call|result) state_put/.test(prompt)) return { calls: Array.from({ length: ASKS }, (_, i) => ({ name: "state_put", arguments: { key: `permit-${i}`, content: `Ask for part ${i}`, related_keys: [] } })) };
    return { calls: [{ name: "reply", arguments: { text: `You said: ${said}` } }] };
  });
  server = await new Thinkd({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_TOOLS__APPROVAL: '["state_put"]' }).start();
  await server.say("file them, please");
  for (let i = 0; i < SAID; i += 1) await server.say(`number ${i}`, "counting");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
});

test("after a verdict the page says it, with the next item; one that is settled says what became of it", async () => {
  const { items } = await server.call<{ items: { approval_id: string }[] }>("GET", "/approvals");
  assert.equal(items.length, ASKS);
  const one = await Watched.open(browser, server.url, `#/inbox/${items[0]!.approval_id}`);
  await one.page.getByRole("button", { name: /^Approve/ }).click();
  await one.page.getByRole("status").getByText("You approved state_put.").waitFor();
  await one.page.waitForURL(new RegExp(`#/inbox/${items[1]!.approval_id}$`));
  await one.sees("Ask for part 1");
  await one.axe("after a verdict");
  await one.page.getByRole("button", { name: /^Reject/ }).click();
  await one.page.getByRole("status").getByText("You rejected state_put.").waitFor();
  await one.go(`#/inbox/${items[0]!.approval_id}`);
  await one.sees("It was approved");
  await one.page.getByRole("link", { name: "The next one that waits" }).waitFor();
  await one.go("#/log");
  assert.equal(await one.page.getByText("You rejected state_put.").count(), 0, "another view begins without it");
  one.clean();
  await one.close();
});

test("an export has all events that match, and says how many; a search says where its results end", async () => {
  const one = await Watched.open(browser, server.url, "#/log?thread=counting");
  await one.sees("counting, turn");
  const [download] = await Promise.all([one.page.waitForEvent("download"), one.page.getByRole("button", { name: "Export all that match" }).click()]);
  const lines = readFileSync(await download.path(), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line) as AnyEvent);
  const all: AnyEvent[] = [];
  for (let after = 0; ; ) {
    const { items } = await server.call<{ items: AnyEvent[] }>("GET", `/events?thread=counting&debug=true&order=asc&limit=500&after=${after}`);
    all.push(...items);
    if (items.length < 500) break;
    after = items.at(-1)!.seq;
  }
  assert.ok(all.length > 250, `${all.length} events`);
  assert.deepEqual(lines.map(({ seq }) => seq), all.map(({ seq }) => seq));
  await one.page.getByRole("status").getByText(/^You exported \d+ events that match/).waitFor();
  await one.go("#/log?q=number%2039");
  await one.sees(/No more events match: #[\d,]+ is the first one that does\./);
  assert.equal(await one.page.getByText("This is where the log begins.").count(), 0);
  one.clean();
  await one.close();
});

test("times are local or UTC, by a switch that says which and is kept", async () => {
  const one = await Watched.open(browser, server.url, "#/log", { timezoneId: "Asia/Tokyo" });
  const zone = one.page.getByRole("button", { name: /^times: / }).first();
  await one.sees("times: local, UTC+9");
  const title = () => one.page.locator(".lr time").first().getAttribute("title");
  await one.page.locator(".lr time").first().waitFor();
  assert.match((await title())!, /UTC\+9$/);
  await zone.click();
  await one.sees("times: UTC");
  await one.page.waitForFunction(() => document.querySelector(".lr time")?.getAttribute("title")?.endsWith(" UTC"));
  await one.page.reload();
  await one.sees("times: UTC");
  await one.page.waitForFunction(() => document.querySelector(".lr time")?.getAttribute("title")?.endsWith(" UTC"));
  one.clean();
  await one.close();
});

test("a server that is gone, one that is sought and one that is ahead of the page have words of their own", async () => {
  const one = await Watched.open(browser, server.url, "#/log");
  await one.sees("up to date");
  one.quiet = true;
  await server.kill();
  await one.sees(/^disconnected: no server, again in \d+ s$/);
  await server.start();
  await one.sees("up to date");
  await one.close();
});

test("a key that is wrong is told so in the dialog, and the right one opens the page", async () => {
  const closed = await new Thinkd({ THINKD_TOKEN: "a-long-and-secret-token", THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x" }).start();
  const one = await Watched.open(browser, closed.url, "#/threads");
  one.quiet = true;
  const box = one.page.getByLabel("Key", { exact: true });
  await box.fill("another-token");
  await box.press("Enter");
  await one.page.getByRole("alert").getByText("This key was not taken.").waitFor();
  await one.axe("a key that was not taken");
  await box.fill("a-long-and-secret-token");
  await box.press("Enter");
  await one.page.getByRole("dialog").waitFor({ state: "detached" });
  await one.page.getByText("up to date").waitFor();
  await one.close();
  await closed.stop();
});
