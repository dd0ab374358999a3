// The console in a browser, against the real server with a scripted model.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Request } from "playwright-core";
import type { AnyEvent } from "../src/lib/events.ts";
import { Watched, launch } from "./browser.ts";
import { endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";
import { story } from "./story.ts";

const PACE = 0.25;
const VIEWS: [string, string | RegExp][] = [
  ["#/t/main", "Yes, down to about"],
  ["#/live", "Decided with"],
  ["#/live?span=5m", /^main$/],
  ["#/live?span=1h", /^main$/],
  ["#/inbox", "What runs"],
  ["#/inbox?show=schedules", "Nothing comes by itself"],
  ["#/log", "botanist, late"],
  ["#/threads", /waits for|a message/],
  ["#/t/main/about", "Used so far"],
  ["#/pipelines", "summary"],
  ["#/missions", "No mission yet"],
  ["#/voices", "critic"],
  ["#/voices/critic", "Last words"],
  ["#/world", "16 mm twin-wall"],
  ["#/usage", "Who asked"],
  ["#/help", "Textures of the timeline"],
];

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;

before(async () => {
  browser = await launch();
  model = await endpoint(story(PACE));
  server = new Thinkd({ THINKD_MODEL: "qwen3:4b", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_TURN__SUBMODULE_TIMEOUT_MS: "700", THINKD_TOOLS__APPROVAL: '["state_put"]' });
  await server.start();
  for (const name of ["memory", "warmth", "frugal", "botanist"]) await server.call("POST", "/submodules", { name, prompt: `You are ${name}. Say what a ${name} would say.` });
  await server.say("Is it free of permit?");
  await server.say("Can the greenhouse stay above 5 °C all winter?");
  await server.call("POST", "/world-model", { statement: "16 mm twin-wall has a U value of 1.9" });
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
});

const events = async (query: string) => (await server.call<{ items: AnyEvent[] }>("GET", `/events?limit=500&order=asc&${query}`)).items;

for (const [theme, width] of [["dark", 1440], ["light", 1440], ["dark", 390]] as const) {
  test(`every view, ${theme}, ${width} wide: shows what it is there for, axe finds nothing, nothing goes elsewhere`, async () => {
    const one = await Watched.open(browser, server.url, "", { colorScheme: theme, viewport: { width, height: 900 }, hasTouch: width < 700 });
    for (const [hash, words] of VIEWS) {
      await one.go(hash);
      if (!(width < 700 && hash === "#/inbox")) await one.sees(words);
      await one.axe(`${hash} (${theme}, ${width})`);
      const wide = await one.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${hash} is ${wide} px too wide`);
    }
    one.clean();
    await one.close();
  });
}

test("the policy is strict, and it is the server's", async () => {
  const response = await fetch(`${server.url}/console/`);
  const policy = response.headers.get("content-security-policy") ?? "";
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) assert.ok(policy.includes(part), `${part} in ${policy}`);
  assert.ok(!policy.includes("unsafe"));
});

test("a reply is shown while it is written, with the thoughts beside it, and is stored whole", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main");
  await one.sees("Yes, down to about");
  await one.page.getByLabel("Say something to main").fill("And slowly, what of the winter of 1985 in the greenhouse?");
  await one.page.keyboard.press("Enter");
  await one.sees("And slowly, what of the winter of 1985 in the greenhouse?");
  await one.page.locator(".said[aria-busy=true] .caret").waitFor({ state: "attached" });
  await one.page.locator(".thoughts").getByText("memory", { exact: true }).waitFor();
  await one.page.locator(".said[aria-busy=true]").waitFor({ state: "detached" });
  const replies = (await events("tags=response&thread=main")).length;
  await one.page.waitForFunction((n) => document.querySelectorAll(".said.mind").length === n, replies);
  one.clean();
  await one.close();
});

test("an image is said and shown: its bytes come from this server, and the model is sent it", async () => {
  const one = await Watched.open(browser, server.url, "#/t/pictures");
  await one.sees("Nothing has been said in pictures yet");
  const bytes = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await one.page.locator("input[type=file]").setInputFiles([{ name: "wall.png", mimeType: "image/png", buffer: bytes }, { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("x") }]);
  await one.sees("wall.png");
  assert.equal(await one.page.getByText("note.txt").count(), 0, "only images and sounds are taken");
  await one.page.getByLabel("Say something to pictures").fill("What do you see?");
  await one.page.keyboard.press("Enter");
  await one.page.waitForFunction(() => [...document.querySelectorAll<HTMLImageElement>(".said.you img")].some((image) => image.naturalWidth === 1 && image.src.startsWith("blob:")));
  const inputs = (await events("thread=pictures&tags=input")).map((event) => event.modality);
  assert.deepEqual(inputs, ["text", "image"]);
  await one.sees(/You said/);
  one.clean();
  await one.close();
});

test("stop ends the turn, and says so", async () => {
  const one = await Watched.open(browser, server.url, "#/t/stopped");
  await one.page.getByLabel("Say something to stopped").fill("Tell me slowly about the greenhouse in winter");
  await one.page.keyboard.press("Enter");
  await one.page.getByRole("button", { name: /Stop/ }).click();
  await one.sees("Stopped. What was said until then is stored.");
  await until(async () => (await events("thread=stopped&tags=turn")).at(-1)?.payload.outcome === "cancelled");
  one.clean();
  await one.close();
});

test("what waits is taken back: its words stand in the box again, and no turn is about it", async () => {
  const one = await Watched.open(browser, server.url, "#/t/back");
  const box = one.page.getByLabel("Say something to back");
  await box.fill("Tell me very slowly about the greenhouse in winter");
  await one.page.keyboard.press("Enter");
  await one.page.getByRole("button", { name: /Stop/ }).waitFor();
  await box.fill("And paint it red");
  await one.page.keyboard.press("Enter");
  await one.page.getByRole("button", { name: "Take back" }).click();
  await one.sees("taken back, not read");
  assert.equal(await box.inputValue(), "And paint it red");
  assert.equal(await one.page.getByRole("button", { name: "Take back" }).count(), 0);
  await server.call("POST", "/threads/back/cancel");
  await until(async () => (await server.call<{ status: string }>("GET", "/threads/back")).status === "idle");
  const [input] = (await events("thread=back&tags=input")).filter((event) => event.payload.text === "And paint it red");
  assert.ok((await events("thread=back&tags=turn")).every((event) => !((event.payload.batch as number[] | undefined) ?? []).includes(input!.seq)));
  one.clean();
  await one.close();
});

test("an approval with edited arguments: what runs is what was edited", async () => {
  const one = await Watched.open(browser, server.url, "#/inbox");
  await one.sees("What runs");
  await one.page.keyboard.press("e");
  const field = one.page.getByLabel("content", { exact: true });
  await field.fill("Ask the office in writing, by Friday");
  await one.sees("1 field changed by you");
  await one.page.getByRole("button", { name: "show the difference" }).click();
  await one.page.getByRole("button", { name: /Approve as changed/ }).click();
  await one.sees("Nothing waits for you");
  const granted = (await events("tags=granted")).at(-1)!;
  assert.equal(granted.payload.edited, true);
  assert.equal((granted.payload.arguments as { content: string }).content, "Ask the office in writing, by Friday");
  await until(() => server.call("GET", "/state/office%2Fpermit").catch(() => undefined));
  assert.equal((await server.call<{ content: string }>("GET", "/state/office%2Fpermit")).content, "Ask the office in writing, by Friday");
  await one.sees(/approved/);
  one.clean();
  await one.close();
});

test("a question is answered by a choice", async () => {
  await server.say("Which plants do you mean?");
  const one = await Watched.open(browser, server.url, "#/inbox");
  await one.sees("Which plants stay over winter?");
  await one.page.getByRole("button", { name: "olives" }).click();
  await one.sees("Nothing waits for you");
  assert.ok((await events("tags=answer")).some((event) => event.payload.text === "olives"));
  one.clean();
  await one.close();
});

test("a server that is killed in the middle of a reply: said plainly, and the talk equals the log afterwards", async () => {
  const one = await Watched.open(browser, server.url, "#/t/cut");
  one.quiet = true;
  await one.page.getByLabel("Say something to cut").fill("Tell me slowly about the greenhouse in winter");
  await one.page.keyboard.press("Enter");
  await one.page.locator(".said[aria-busy=true] .caret").waitFor({ state: "attached" });
  await server.kill();
  await one.sees(/no server/);
  await one.page.getByLabel("Say something to cut").fill("said without a server");
  await one.page.keyboard.press("Enter");
  await one.sees("on its way");
  await one.sees("what is sent now waits here");
  await server.start();
  await one.sees("up to date");
  await one.sees("You said: said without a server");
  await until(async () => (await server.call<{ status: string }>("GET", "/threads/cut")).status === "idle");
  const log = (await events("thread=cut")).filter((event) => event.meta.tags.includes("input") || event.meta.tags.includes("response"));
  assert.equal(log.filter((event) => event.payload.text === "said without a server").length, 1);
  await one.page.waitForFunction((n) => document.querySelectorAll(".said.you, .said.mind").length === n, log.length);
  await one.close();
});

test("two tabs: what is said in one stands in the other, and a verdict of one settles it in both", async () => {
  const [one, two] = [await Watched.open(browser, server.url, "#/t/main"), await Watched.open(browser, server.url, "#/t/main")];
  await two.sees("up to date");
  await one.page.getByLabel("Say something to main").fill("From tab one: free of permit?");
  await one.page.keyboard.press("Enter");
  await two.sees("From tab one: free of permit?");
  await two.page.locator(".side .n.gate").getByText("1").waitFor();
  await two.go("#/inbox");
  await two.page.getByRole("button", { name: /Reject/ }).click();
  await two.sees("Nothing waits for you");
  await one.page.locator(".side .n.gate").waitFor({ state: "detached" });
  for (const tab of [one, two]) {
    tab.clean();
    await tab.close();
  }
});

test("by the keyboard alone: views, search, rows, drawer, Ctrl K, and no key while somebody types", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main");
  const { keyboard } = one.page;
  await one.sees("up to date");
  // As fingers do: the second key does not wait until the page has taken the first.
  const both = (first: string, second: string) => Promise.all([keyboard.press(first), keyboard.press(second)]);
  await one.page.locator("main").focus();
  await both("g", "o");
  await one.page.locator(".lr").first().waitFor();
  await keyboard.press("j");
  await one.page.locator(".drawer").waitFor();
  await keyboard.press("r");
  await one.page.locator(".drawer pre").waitFor();
  await keyboard.press("Escape");
  await one.page.locator(".drawer").waitFor({ state: "detached" });
  await keyboard.press("/");
  await keyboard.type("gogo");
  assert.ok(one.page.url().includes("#/log"), "typing in a field goes nowhere");
  await keyboard.press("Enter");
  await one.sees("Nothing matches");
  await keyboard.press("Control+k");
  await keyboard.type("usage");
  await keyboard.press("Enter");
  await one.sees("Who asked");
  await keyboard.press("Control+k");
  await keyboard.type("#5");
  await keyboard.press("Enter");
  await one.page.locator(".drawer").waitFor();
  await keyboard.press("?");
  await one.sees("Textures of the timeline");
  await both("g", "l");
  await one.page.locator("button.b").first().focus();
  await keyboard.press("ArrowDown");
  await keyboard.press("Enter");
  await one.sees("Rebuilt from the log byte for byte.");
  one.clean();
  await one.close();
});

test("the servers on the log are named", async () => {
  const one = await Watched.open(browser, server.url, "#/usage");
  const row = one.page.getByRole("region", { name: "Servers" }).getByRole("row").nth(1);
  await row.getByText("this one").waitFor();
  await row.getByText("ready").waitFor();
  one.clean();
  await one.close();
});

test("usage is what the server sums up, and a new call is in it soon", async () => {
  const one = await Watched.open(browser, server.url, "#/usage?span=24 h");
  const sums = async () => (await server.call<{ items: { key: string; calls: number }[] }>("GET", "/usage?by=module")).items;
  const row = (key: string, calls: number) => one.page.getByRole("region", { name: "Who asked" }).getByRole("row", { name: new RegExp(`^${key} ${calls} `) }).waitFor();
  const calls = (await sums()).find((item) => item.key === "decision")!.calls;
  await row("decision", calls);
  await server.say("say nothing, thanks");
  await until(async () => (await sums()).find((item) => item.key === "decision")!.calls > calls);
  await row("decision", calls + 1);
  await one.sees(/^half within \d/);
  await one.sees("0 events behind");
  await one.page.getByRole("button", { name: "as a table" }).click();
  await one.sees("from the cache");
  one.clean();
  await one.close();
});

test("a voice's figures are the server's over the span, and its prompt has versions", async () => {
  const one = await Watched.open(browser, server.url, "#/voices?span=1 h");
  const figures = () => server.call<{ asked: number; spoke: number; failed: number }>("GET", "/submodules/critic/figures");
  const row = one.page.getByRole("row", { name: /^critic/ });
  await row.getByText(`${(await figures()).spoke} spoke`).waitFor();
  const { asked } = await figures();
  await server.say("say nothing, once more");
  await until(async () => (await figures()).asked > asked);
  await row.getByText(`${(await figures()).spoke} spoke`).waitFor();
  await row.getByRole("link").click();
  await one.sees("Last words");
  await one.page.getByRole("button", { name: "Change it" }).click();
  await one.page.getByLabel("Prompt of critic").fill("You are the critic. Say what is wrong, once.");
  await one.page.getByRole("button", { name: /Set it from the next message on/ }).click();
  await one.page.getByRole("button", { name: /^version 2/ }).click();
  await one.page.locator(".diff .add").getByText("Say what is wrong, once.").waitFor();
  assert.ok(one.page.url().includes("span=1+h"), one.page.url());
  one.clean();
  await one.close();
});

test("a proposed prompt is tried over past turns, beside what was said then, and nothing is changed by it", async () => {
  const prompt = async () => (await server.call<{ items: { name: string; prompt: string }[] }>("GET", "/submodules")).items.find(({ name }) => name === "critic")!.prompt;
  const before = await prompt();
  const one = await Watched.open(browser, server.url, "#/voices/critic");
  await one.page.getByRole("button", { name: "Change it" }).click();
  await one.page.getByLabel("Prompt of critic").fill("You are the critic. Name one weak point.");
  await one.page.getByRole("button", { name: "Try it over its last 5 turns" }).click();
  await one.page.locator(".tried").first().waitFor();
  const said = await one.page.locator(".tried").allTextContents();
  assert.ok(said.length >= 2 && said.every((text) => /turn \d+.*then.*now/.test(text)), said.join(" | "));
  await one.axe("a prompt that is tried");
  await one.page.locator(".drawer").getByRole("link", { name: "the run" }).click();
  await one.page.locator(".graph .task-box").filter({ hasText: "outcomes" }).waitFor();
  assert.equal(await prompt(), before);
  one.clean();
  await one.close();
});

test("the prompt view is what was sent, and two calls stand against each other", async () => {
  const call = (await events("tags=debug&thread=main")).find((event) => event.payload.module === "submodule:critic")!;
  const one = await Watched.open(browser, server.url, `#/call/${call.event_id}`);
  await one.sees("rebuilt byte for byte");
  await one.sees("Prompt of critic");
  await one.page.getByRole("button", { name: "As sent" }).click();
  await one.sees(/You are one inner voice/);
  await one.page.getByLabel("Compare with another call of this turn").selectOption({ index: 1 });
  await one.page.locator(".diff .add, .diff .del").first().waitFor();
  await one.axe("#/call against");
  one.clean();
  await one.close();
});

test("the lanes are saved as one file that stands for itself", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main/turn/2");
  await one.sees("Decided with");
  const [download] = await Promise.all([one.page.waitForEvent("download"), one.page.getByRole("button", { name: "Save as SVG" }).click()]);
  const stream = await download.createReadStream();
  let file = "";
  for await (const piece of stream) file += String(piece);
  assert.match(file, /^<svg xmlns=/);
  assert.match(file, /botanist/);
  assert.match(file, /deadline/);
  assert.doesNotMatch(file, /href|src=|<script/);
  one.clean();
  await one.close();
});

test("a thread that cannot go on is counted, named with its cause, and can be ended with what is below it", async () => {
  await server.call("POST", "/threads", { label: "yard", kind: "process", title: "yard", prompt: "You are doomed." });
  await server.call("POST", "/threads", { parent: "yard", label: "gate", kind: "process", prompt: "You are below." });
  await server.call("POST", "/threads/yard/messages", { text: "go" });
  const one = await Watched.open(browser, server.url, "#/threads");
  await one.sees("One thread cannot go on.");
  await one.page.locator(".side .n.fail").getByText("1 stuck").waitFor();
  await one.sees(/answered 400/);
  await one.page.getByRole("link", { name: "yard" }).first().click();
  await one.sees("It cannot go on.");
  await one.axe("a stuck thread");
  await one.page.getByRole("button", { name: "End this thread and those below it" }).click();
  await one.page.getByRole("button", { name: "Yes, end 2 threads" }).click();
  await one.page.locator(".side .n.fail").waitFor({ state: "detached" });
  const threads = await server.call<{ items: { id: string; status: string }[] }>("GET", "/threads?subtree=yard");
  assert.ok(threads.items.length === 2 && threads.items.every((thread) => thread.status === "stopped" || thread.status === "done"), JSON.stringify(threads.items));
  one.clean();
  await one.close();
});

test("on a phone words of axes keep 10 pixels, and schedules have their buttons in view", async () => {
  await server.call("POST", "/schedules", { name: "watering", when: { kind: "daily", time: "07:30", zone: "Europe/Berlin" } });
  const one = await Watched.open(browser, server.url, "#/usage", { viewport: { width: 390, height: 844 }, hasTouch: true });
  for (const hash of ["#/usage", "#/world?mood=main"]) {
    await one.go(hash);
    await one.page.locator("svg.bars text").first().waitFor();
    // A word is as high as its letters are scaled.
    await one.page.waitForFunction(() => [...document.querySelectorAll<SVGTextElement>("svg.bars text")].every((text) => 10 * text.getScreenCTM()!.a >= 9.9));
  }
  await one.go("#/inbox?show=schedules");
  for (const name of ["Run now", "Pause"]) {
    const button = await one.page.getByRole("button", { name }).boundingBox();
    assert.ok(button && button.x >= 0 && button.x + button.width <= 390, `${name} at ${JSON.stringify(button)}`);
  }
  await one.axe("schedules on a phone");
  one.clean();
  await one.close();
  await server.call("DELETE", "/schedules/watering");
});

test("while turns run the threads are listed once in two seconds, and at once for the first change", async () => {
  const listed: Request[] = [];
  const one = await Watched.open(browser, server.url, "#/threads", {}, async (page) => void page.on("request", (request) => request.url().includes("/threads?limit=500") && listed.push(request)));
  await one.sees("up to date");
  await one.page.waitForTimeout(2_500);
  const [before, begun] = [listed.length, Date.now()];
  for (let n = 0; n < 12; n += 1) {
    await server.call("POST", `/threads/paced-${n % 3}/messages`, { text: `what of ${n}?` });
    await one.page.waitForTimeout(400);
  }
  // As the browser began them: word of a request may come late, its answer had time to come.
  const times = listed.slice(before).map((request) => request.timing().startTime).filter((time) => time > 0);
  assert.ok(times.length >= 2 && times[0]! - begun < 1_500, `${times.map((time) => time - begun)}`);
  for (let i = 1; i < times.length; i += 1) assert.ok(times[i]! - times[i - 1]! > 1_900, `${times.map((time) => time - begun)}`);
  await one.sees("paced-2");
  one.clean();
  await one.close();
});

test("reduced motion: nothing is animated", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main");
  await one.sees("up to date");
  assert.equal(await one.page.evaluate(() => document.getAnimations().length), 0);
  await one.close();
});

test("a long log: only the rows in view are in the page, and every permalink opens", async () => {
  const one = await Watched.open(browser, server.url, "#/log?debug=1");
  // The first rows may be those of the moment: the page of the log comes after them.
  await one.page.locator(".rows > li").nth(10).waitFor();
  const rows = await one.page.locator(".rows > li").count();
  assert.ok(rows > 10 && rows < 90, `${rows} rows`);
  const box = one.page.locator(".log");
  const seqs = new Set<string>();
  for (let i = 0; i < 60; i += 1) {
    for (const text of await one.page.locator(".lr .seq").allTextContents()) seqs.add(text);
    const before = await box.evaluate((element) => element.scrollTop);
    await box.evaluate((element) => element.scrollBy(0, 500));
    await one.page.waitForTimeout(40);
    if ((await box.evaluate((element) => element.scrollTop)) === before) break;
  }
  await one.sees("This is where the log begins.");
  assert.ok(seqs.has("#1"));
  await one.go("#/log/2");
  await one.page.locator(".drawer").waitFor();
  one.clean();
  await one.close();
});
