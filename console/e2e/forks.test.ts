// Forks in the browser: a message is changed, a reply is asked for again, and one goes from branch to branch.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import type { AnyEvent } from "../src/lib/events.ts";
import { Watched, launch } from "./browser.ts";
import { endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

type Items<T> = { items: T[] };

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
/** Each answer is another one. */
let answers = 0;

before(async () => {
  browser = await launch();
  model = await endpoint((asked) => (asked.voice ? { text: "PASS" } : { calls: [{ name: "reply", arguments: { text: `Answer ${(answers += 1)} to ${asked.said}.` } }], between: /slowly/.test(asked.said) ? 150 : 0 }));
  server = await new Thinkd({ THINKD_MODEL: "qwen3:4b", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_RUNTIME__DEFAULT_SUBMODULES: "false" }).start();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
});

const said = (one: Watched) => one.page.locator(".said.you .tx").allInnerTexts();
const line = (one: Watched, text: string) => one.page.locator(".said.you").filter({ has: one.page.locator(".tx").getByText(text, { exact: true }) });
const reply = (one: Watched, text: RegExp) => one.page.locator(".said.mind").filter({ hasText: text });
const branch = (one: Watched, text: string, name: string) => line(one, text).getByRole("group", { name, exact: true });
const thread = (one: Watched) => decodeURIComponent(new URL(one.page.url()).hash.replace("#/t/", ""));
/** Waits until the page is at another thread than that. */
const left = (one: Watched, from: string) => one.page.waitForFunction((hash) => location.hash !== hash, `#/t/${from}`);

test("the second message of five is changed: the fork has what was before it, and the talk itself stays", async () => {
  for (const text of ["one", "two", "three", "four", "five"]) await server.say(text);
  const [one, two] = [await Watched.open(browser, server.url, "#/t/main"), await Watched.open(browser, server.url, "#/t/main")];
  await line(two, "five").waitFor();
  await one.page.getByRole("button", { name: /^Edit message/ }).nth(1).click();
  const field = one.page.getByRole("textbox", { name: /^Other words for message/ });
  assert.equal(await field.inputValue(), "two");
  await one.axe("a message that is changed");
  await one.page.keyboard.press("Escape");
  await line(one, "two").waitFor();
  await one.page.keyboard.press("Enter");
  await field.fill("two, but otherwise");
  await one.page.getByRole("button", { name: "Save" }).click();
  await left(one, "main");
  await reply(one, /to two, but otherwise\./).waitFor();
  // The reply is seen while it is written, also before the first page of the fork is here.
  for (const text of ["one", "two, but otherwise"]) await line(one, text).waitFor();
  assert.deepEqual(await said(one), ["one", "two, but otherwise"]);
  await branch(one, "two, but otherwise", "Branch 2 of 2").waitFor();
  await one.axe("a fork");

  // Elsewhere it is seen at once, and one goes there and back.
  await branch(two, "two", "Branch 1 of 2").getByRole("button", { name: "Next branch" }).click();
  await branch(two, "two, but otherwise", "Branch 2 of 2").waitFor();
  assert.equal(thread(two), thread(one));
  await two.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Previous branch");
  await two.page.keyboard.press("Enter");
  await branch(two, "two", "Branch 1 of 2").waitFor();
  assert.deepEqual(await said(two), ["one", "two", "three", "four", "five"]);

  // The thread says where it comes from.
  await one.go(`#/t/${thread(one)}/about`);
  const end = (await server.call<Items<AnyEvent>>("GET", "/events?thread=main&tags=turn:1&tags=ended&all_tags=true")).items[0]!.seq;
  await one.sees(`forked from main at #${end}`);
  for (const tab of [one, two]) {
    tab.clean();
    await tab.close();
  }
});

test("a reply is asked for again twice: three branches, which one goes through, also after a reload and in another browser", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main");
  let from = "main";
  for (const count of [2, 3]) {
    const last = one.page.locator(".said.mind").last();
    const before = await last.locator(".tx").innerText();
    await last.getByRole("button", { name: "Ask again" }).click();
    await left(one, from);
    from = thread(one);
    await one.page.waitForFunction((text) => { const all = [...document.querySelectorAll<HTMLElement>(".said.mind .tx")]; return all.length === 5 && all.at(-1)!.innerText !== text; }, before);
    assert.deepEqual(await said(one), ["one", "two", "three", "four", "five"]);
    await line(one, "five").getByRole("group", { name: new RegExp(`^Branch \\d of ${count}$`) }).waitFor();
  }
  await branch(one, "two", "Branch 1 of 2").waitFor();

  // From the first to the last one: five has another answer in each.
  await one.go("#/t/main");
  const seen = new Set<string>();
  for (const n of [1, 2, 3]) {
    await branch(one, "five", `Branch ${n} of 3`).waitFor();
    seen.add(await one.page.locator(".said.mind .tx").last().innerText());
    if (n < 3) await branch(one, "five", `Branch ${n} of 3`).getByRole("button", { name: "Next branch" }).click();
  }
  assert.equal(seen.size, 3, [...seen].join(" | "));
  assert.ok(await branch(one, "five", "Branch 3 of 3").getByRole("button", { name: "Next branch" }).isDisabled());

  await one.page.reload();
  await branch(one, "five", "Branch 3 of 3").waitFor();
  assert.deepEqual(await said(one), ["one", "two", "three", "four", "five"]);
  const two = await Watched.open(browser, server.url, `#/t/${thread(one)}`, { viewport: { width: 390, height: 844 }, hasTouch: true });
  await branch(two, "five", "Branch 3 of 3").waitFor();
  assert.deepEqual(await two.page.locator(".said.mind .tx").allInnerTexts(), await one.page.locator(".said.mind .tx").allInnerTexts());
  await two.axe("a fork on a phone");
  for (const wide of [one, two]) assert.ok((await wide.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);

  // The lanes of a turn of its past are shown in the fork.
  await one.go(`#/t/${thread(one)}/turn/2`);
  await one.sees("Decided with");
  await one.page.getByRole("navigation", { name: /^Turns of/ }).getByRole("link", { name: /^turn 5/ }).waitFor();
  for (const tab of [one, two]) {
    tab.clean();
    await tab.close();
  }
});

test("a message that waits cannot be changed, and one with an image keeps the image", async () => {
  const one = await Watched.open(browser, server.url, "#/t/waiting");
  const box = one.page.getByLabel("Say something to waiting");
  await box.fill("Tell me slowly what waiting is");
  await one.page.keyboard.press("Enter");
  await one.page.getByRole("button", { name: /Stop/ }).waitFor();
  await box.fill("and then");
  await one.page.keyboard.press("Enter");
  await line(one, "and then").waitFor();
  assert.equal(await line(one, "and then").getByRole("button", { name: /^Edit/ }).count(), 0);
  await reply(one, /to and then/).waitFor();
  await line(one, "and then").getByRole("button", { name: /^Edit/ }).waitFor();

  const bytes = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await one.go("#/t/pictures");
  await one.page.locator("input[type=file]").setInputFiles([{ name: "wall.png", mimeType: "image/png", buffer: bytes }]);
  await one.page.getByLabel("Say something to pictures").fill("what is it?");
  await one.page.keyboard.press("Enter");
  await reply(one, /Answer/).waitFor();
  await one.page.getByRole("button", { name: /^Edit message/ }).click();
  const field = one.page.getByRole("textbox", { name: /^Other words for message/ });
  await field.fill("which colour has it?");
  await field.press("Enter");
  await left(one, "pictures");
  await line(one, "which colour has it?").waitFor();
  await reply(one, /Answer/).waitFor();
  const parts = (await server.call<Items<AnyEvent>>("GET", `/events?thread=${thread(one)}&tags=input&order=asc`)).items;
  assert.deepEqual(parts.map((part) => [part.modality, part.payload.text]), [["text", "which colour has it?"], ["image", parts[1]!.payload.text]]);
  await until(async () => (await one.page.locator(".said.you img").count()) === 1);
  one.clean();
  await one.close();
});
