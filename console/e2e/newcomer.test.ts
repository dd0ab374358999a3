// What somebody asks who sees the console for the first time: why, in which order, how long, what now. Each answer stands in the page, in plain words.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { type Answer, type Asked, endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true };
let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
let checks = 0;

function decision({ said, prompt, tools }: Asked): Answer {
  const since = prompt.slice(prompt.lastIndexOf(`: ${said}`));
  const call = (name: string, args: Record<string, unknown>, after = 0): Answer => ({ calls: [{ name, arguments: args }], after });
  if (tools.includes("derive")) {
    checks += 1;
    return { text: "I had rather not." };
  }
  if (/write it down/.test(said) && !/(call|result) state_put/.test(since)) return { text: "The office forgets things.", ...call("state_put", { key: "office/permit", content: "Ask the office", related_keys: [] }) };
  if (/which plants/.test(said) && !/(call|result) ask_user/.test(since)) return call("ask_user", { question: "Which plants?", choices: ["citrus", "olives"], schema: null, who: null, expires_s: null });
  if (/doomed/.test(said)) return { status: 400 };
  if (/Run in circles/.test(prompt)) return call("think", { thought: "Round again." }, 400);
  // The first round holds until somebody has joined, or for a while.
  if (/cook the soup/.test(prompt) && !/(call|result) state_search/.test(prompt)) return call("state_search", { query: "soup" }, 6_000);
  if (/cook the soup/.test(prompt)) return call("reply", { text: /no salt/.test(prompt) ? "Soup without salt." : "Soup with salt." });
  return { calls: [{ name: "reply", arguments: { text: `You said: ${said}` } }], between: /slowly/.test(said) ? 400 : 0 };
}

before(async () => {
  browser = await launch();
  model = await endpoint((asked) => (asked.voice ? { text: "Bo eats no nuts.", after: /dinner/.test(asked.said) ? 1_500 : 0 } : decision(asked)));
  server = await new Thinkd({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_RUNTIME__DEFAULT_SUBMODULES: "false", THINKD_TOOLS__APPROVAL: '["state_put"]', THINKD_TEST_MEMORY__TRIES: "1", THINKD_BUDGET__SELF_MESSAGES: "100000", THINKD_BUDGET__THREAD_MODEL_CALLS: "100000" }).start();
  await server.call("POST", "/submodules", { name: "guests", prompt: "You are the guests. Say what a guest would say." });
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
});

const box = (one: Watched) => one.page.getByLabel(/^Say something/);
async function say(one: Watched, text: string): Promise<void> {
  await box(one).fill(text);
  await box(one).press("Enter");
}
/** The lines of the talk: whose, and their words. */
const lines = (one: Watched) =>
  one.page.locator(".lines > .said").evaluateAll((all) =>
    all.map((line) => {
      const kind = ["you", "mind", "question", "approval", "quiet", "failed"].find((name) => line.classList.contains(name));
      return kind === "you" || kind === "mind" ? `${kind}: ${(line.querySelector(".tx") as HTMLElement).innerText.trim()}` : String(kind);
    }),
  );
async function reads(one: Watched, wanted: string[]): Promise<void> {
  let now: string[] = [];
  await until(async () => JSON.stringify((now = await lines(one))) === JSON.stringify(wanted), 30_000).catch(() => assert.deepEqual(now, wanted));
}
async function done(...all: Watched[]): Promise<void> {
  for (const one of all) {
    one.clean();
    await one.close();
  }
}

test("a reply behind a verdict or an answer says because of it, with the card; a call says the agent's own reason first", async () => {
  const one = await Watched.open(browser, server.url, "#/t/office");
  await say(one, "write it down, please");
  const card = one.page.getByRole("article", { name: "Approval", exact: true });
  await card.getByText("The office forgets things.").waitFor();
  // In the inbox, too: the reason stands above the remarks.
  await one.go("#/inbox");
  const why = one.page.locator(".panel", { hasText: "Why it asks" });
  await why.getByText("The office forgets things.").waitFor();
  await why.getByText("Bo eats no nuts.").waitFor();
  assert.match(await why.innerText(), /The office forgets things\.[\s\S]*it had read:[\s\S]*Bo eats no nuts\./);
  await one.axe("an approval with its reason");
  await one.page.getByRole("button", { name: /^Approve/ }).click();
  await one.page.getByRole("status").getByText("You approved state_put").waitFor();
  await one.go("#/t/office");
  // A verdict that was given in the inbox is one's own here.
  const because = one.page.locator(".said .because");
  await because.getByText("because you approved").first().waitFor();
  await card.getByText("You approved it. It ran.").waitFor();
  await one.page.getByRole("complementary", { name: /^Thoughts/ }).getByText("it began because you approved").waitFor();
  await one.axe("a reply with its cause");
  await because.first().getByRole("link").click();
  await one.page.locator(".said.found").getByRole("article", { name: "Approval" }).waitFor();
  await one.go("#/t/office/turn/2");
  await one.page.getByText("It began because you approved").waitFor();

  await one.go("#/t/garden");
  await say(one, "which plants do you mean?");
  await one.page.getByRole("button", { name: "olives" }).click();
  await because.getByText("because you answered").first().waitFor();
  await one.page.reload();
  await because.getByText("because you answered").first().waitFor();
  await done(one);
});

test("a message that waits stands below the reply to the one before it, and is said to wait; afterwards each reply follows its message", async () => {
  const one = await Watched.open(browser, server.url, "#/t/order");
  // Long enough for the look below, also on a busy machine.
  const first = "slowly, one, and in as many words as there are, for I have time and want to see how a message waits behind this one";
  await say(one, first);
  await one.page.locator(".said.mind[aria-busy=true]").waitFor();
  await say(one, "two");
  await one.page.locator(".said.you.waits").getByText("waits: answered after this turn").waitFor();
  const kinds = await one.page.locator(".lines > .said").evaluateAll((all) => all.map((line) => (line.getAttribute("aria-busy") ? "busy" : line.classList.contains("waits") ? "waits" : line.classList[1])));
  assert.deepEqual(kinds, ["you", "busy", "waits"]);
  await one.axe("a message that waits");
  const all = [`you: ${first}`, `mind: You said: ${first}`, "you: two", "mind: You said: two"];
  await reads(one, all);
  await one.page.reload();
  await reads(one, all);
  assert.equal(await one.page.getByText("waits: answered").count(), 0);
  await done(one);
});

test("Join: a message is seen by the turn at work, on a phone as well, and stands once, also after a reload", async () => {
  const one = await Watched.open(browser, server.url, "#/t/soup", PHONE);
  await say(one, "cook the soup");
  const choice = one.page.getByRole("button", { name: "Join", exact: true });
  await choice.click();
  await one.sees("Your message joins this turn");
  const wide = await one.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `the page is ${wide} px too wide`);
  for (const name of ["Queue", "Join", "Interrupt", "Send"]) {
    const bounds = (await one.page.getByRole("button", { name, exact: true }).boundingBox())!;
    assert.ok(bounds.x >= 0 && bounds.x + bounds.width <= 390 && bounds.height >= 26, `${name} is in reach: ${JSON.stringify(bounds)}`);
  }
  await one.axe("the choice on a phone");
  await say(one, "no salt, please");
  const joined = one.page.locator(".said.you", { hasText: "no salt, please" });
  await joined.getByText("joined the turn at work").waitFor();
  const all = ["you: cook the soup", "you: no salt, please", "mind: Soup without salt."];
  await reads(one, all);
  await one.page.reload();
  await reads(one, all);
  assert.equal(await joined.count(), 1);
  await joined.getByText("joined the turn at work").waitFor();
  const { items } = await server.call<{ items: { meta: { tags: string[] } }[] }>("GET", "/events?thread=soup&limit=100");
  assert.equal(items.filter(({ meta }) => meta.tags[0] === "turn" && meta.tags[1] === "ended").length, 1, "one turn has both");
  await done(one);
});

test("a failure of the model is one plain sentence with the next step, and its server's words are folded", async () => {
  const one = await Watched.open(browser, server.url, "#/t/doom");
  await say(one, "doomed");
  const line = one.page.locator(".said.failed");
  await line.getByText("The model's server refused the request.").waitFor();
  await line.getByText(/thinkd doctor/).first().waitFor();
  assert.equal(await line.getByText(/answered 400/).filter({ visible: true }).count(), 0);
  assert.doesNotMatch(await line.innerText(), /\.\./);
  const thoughts = one.page.getByRole("complementary", { name: /^Thoughts/ });
  await thoughts.getByText("The model's server refused the request.").waitFor();
  assert.equal(await thoughts.getByText(/answered 400/).filter({ visible: true }).count(), 0);
  await one.axe("a failed turn");
  await line.getByText("What the model's server said").click();
  await line.getByText(/answered 400 Bad Request/).waitFor();
  await done(one);
});

test("the button of the thoughts says whether they are open, at each reply", async () => {
  await server.say("one", "toggle");
  await server.say("two", "toggle");
  const one = await Watched.open(browser, server.url, "#/t/toggle");
  const buttons = one.page.getByRole("button", { name: "thoughts", exact: true });
  await until(async () => (await buttons.count()) === 2);
  const open = () => buttons.evaluateAll((all) => all.map((button) => button.getAttribute("aria-expanded")));
  assert.deepEqual(await open(), ["false", "true"]);
  await buttons.first().click();
  assert.deepEqual(await open(), ["true", "false"]);
  await one.page.getByRole("complementary", { name: "Thoughts of turn 1" }).waitFor();
  await buttons.first().click();
  assert.deepEqual(await open(), ["false", "false"]);
  await one.page.getByRole("complementary", { name: /^Thoughts/ }).waitFor({ state: "detached" });
  await buttons.last().click();
  assert.deepEqual(await open(), ["false", "true"]);
  await done(one);
});

test("a turn takes the same time wherever it is named, from its message on", async () => {
  const begun = Date.now();
  await server.say("what about dinner?", "dinner");
  const most = (Date.now() - begun) / 1000;
  const one = await Watched.open(browser, server.url, "#/t/dinner");
  const seconds = async (text: Promise<string>) => /(\d+\.\d) s/.exec(await text)?.[1];
  const chat = await seconds(one.page.locator(".turnline").first().innerText());
  assert.ok(Number(chat) >= 1.5 && Number(chat) <= most + 0.1, `${chat} s of at most ${most}`);
  assert.equal(await seconds(one.page.locator(".thoughts > .bar").innerText()), chat);
  await one.go("#/t/dinner/turn/1");
  await one.page.locator(".bar .tag", { hasText: "done" }).waitFor();
  assert.equal(await seconds(one.page.locator(".split .bar").first().innerText()), chat);
  await until(async () => (await seconds(one.page.locator(".film a").first().innerText())) !== undefined);
  assert.equal(await seconds(one.page.locator(".film a").first().innerText()), chat);
  await done(one);
});

test("to stop a thread and to end it are told apart, and the end says of how many", async () => {
  await server.call("POST", "/threads", { label: "runaway", title: "Round and round", kind: "process", prompt: "Run in circles." });
  await server.call("POST", "/threads", { parent: "runaway", label: "below", kind: "process", prompt: "Rest." });
  await server.call("POST", "/threads/runaway/messages", { text: "go" });
  const one = await Watched.open(browser, server.url, "#/t/runaway/about");
  await one.sees("The thread stays: it goes on with the next message.");
  await one.page.getByRole("button", { name: "Stop what it does now" }).click();
  await one.page.getByRole("status").getByText("It goes on with the next message to it.").waitFor();
  await one.page.getByRole("button", { name: "End this thread and those below it" }).click();
  await one.page.getByRole("alert").getByText(/and 1 thread below it\?/).waitFor();
  await one.axe("before a thread is ended");
  assert.match((await server.call<{ status: string }>("GET", "/threads/runaway")).status, /waiting|thinking/, "nothing has ended yet");
  await one.page.getByRole("button", { name: "Keep them" }).click();
  await one.page.getByRole("button", { name: "End this thread and those below it" }).click();
  await one.page.getByRole("button", { name: "Yes, end 2 threads" }).click();
  await one.page.getByRole("status").getByText("The thread has ended, and 1 thread below it too.").waitFor();
  await done(one);
});

test("a fact whose check no model took up says since when, the cause, that no further try comes, and can be checked again", async () => {
  const { id } = await server.call<{ id: string }>("POST", "/world-model", { statement: "The library opens at nine." });
  await until(async () => checks > 0 && (await server.call<{ tested_at: string | null }>("GET", `/world-model/${id}`)).tested_at);
  const one = await Watched.open(browser, server.url, `#/world/${id}`);
  const drawer = one.page.getByRole("complementary", { name: "Statement" });
  await drawer.locator("header").getByText("not decided").waitFor();
  await drawer.getByText(/The model of this server did not take the check up/).waitFor();
  await drawer.getByText(/No further try comes by itself\./).waitFor();
  await one.page.getByRole("row", { name: /The library opens.*not decided.*did not take the check up/ }).waitFor();
  assert.equal(await one.page.getByText("being checked", { exact: true }).and(one.page.locator(".tag")).count(), 0, "nothing is checked now");
  await one.axe("a fact that was not decided");
  const before = checks;
  await drawer.getByRole("button", { name: "Check it again now" }).click();
  await one.page.getByRole("status").getByText("It is to be checked again now.").waitFor();
  await until(async () => checks > before);
  await drawer.getByRole("button", { name: "Correct this" }).waitFor();
  await done(one);
});

test("the line at the top says in words what it means", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main");
  await one.sees("up to date");
  assert.match((await one.page.getByRole("status", { name: "Connection" }).getAttribute("title"))!, /^Connected\. Each event up to #[\d,]+ is here/);
  await one.sees("last minute");
  await done(one);
});
