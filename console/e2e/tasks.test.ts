// Five tasks of a newcomer, with nothing but what is to be read in the page: each says how many clicks and seconds it takes, and has a limit of clicks.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { type Answer, endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

const DAY = 86_400_000;
let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
before(async () => {
  browser = await launch();
  model = await endpoint(({ voice, said, prompt }): Answer => {
    const since = prompt.slice(prompt.lastIndexOf(`: ${said}`));
    if (voice) return { text: /dinner/.test(said) ? "Bo eats no nuts: keep them out." : "PASS" };
    if (/Run in circles/.test(prompt)) return { calls: [{ name: "think", arguments: { thought: "Round again." } }], after: 400 };
    if (/which plants/.test(said) && !/(call|result) ask_user/.test(since)) return { calls: [{ name: "ask_user", arguments: { question: "Which plants stay over winter?", choices: ["citrus", "olives"], schema: null, who: null, expires_s: null } }] };
    return { calls: [{ name: "reply", arguments: { text: /dinner/.test(said) ? "Lentils with rice, and no nuts." : `You said: ${said}` } }] };
  });
  server = await new Thinkd({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_RUNTIME__DEFAULT_SUBMODULES: "false", THINKD_BUDGET__SELF_MESSAGES: "100000", THINKD_BUDGET__THREAD_MODEL_CALLS: "100000" }).start();
  await server.call("POST", "/submodules", { name: "guests", prompt: "You are the guests. Say what a guest would say." });
  await server.say("The plumber comes on Tuesday at nine, by the back door", "house");
  for (const text of ["which plants do you mean?", "thanks"]) await server.say(text, "garden");
  await server.say("What shall we have for dinner?");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
});

/** Somebody who sees the page for the first time, in the chat, and counts. */
class Person {
  clicks = 0;
  readonly #begun = Date.now();
  readonly one: Watched;

  constructor(one: Watched) {
    this.one = one;
  }

  static async comes(later = 0): Promise<Person> {
    const one = await Watched.open(browser, server.url, "#/t/main", {}, async (page) => void (later && (await page.clock.setFixedTime(Date.now() + later))));
    await one.sees("What shall we have for dinner?");
    return new Person(one);
  }

  /** Clicks on what has these words, and is to be seen. */
  async clicks_on(words: string | RegExp): Promise<void> {
    const { page } = this.one;
    const exact = typeof words === "string";
    const all = page.getByRole("button", { name: words, exact }).or(page.getByRole("link", { name: words, exact }));
    await all.filter({ visible: true }).first().click();
    this.clicks += 1;
  }

  /** Types into the box with these words; to go into it is a click. */
  async types(box: string, text: string): Promise<void> {
    await this.one.page.getByLabel(box).filter({ visible: true }).fill(text);
    this.clicks += 1;
  }

  async done(what: string, t: { diagnostic(message: string): void }, most: number): Promise<void> {
    t.diagnostic(`${what}: ${this.clicks} clicks, ${((Date.now() - this.#begun) / 1000).toFixed(1)} s`);
    assert.ok(this.clicks <= most, `${what} takes ${this.clicks} clicks of ${most}`);
    this.one.clean();
    await this.one.close();
  }
}

test("answers what waits", async (t) => {
  const person = await Person.comes();
  await person.clicks_on(/^Inbox/);
  await person.one.sees("Which plants stay over winter?");
  await person.clicks_on("citrus");
  await person.one.page.getByRole("status").getByText("You answered: citrus").waitFor();
  await person.done("answer what waits", t, 2);
});

test("says why the last reply said what it said", async (t) => {
  const person = await Person.comes();
  await person.one.sees("Lentils with rice, and no nuts.");
  // The remark stands beside the reply; the timeline says that the decision had it, and the round opens with all that it saw.
  await person.one.page.getByRole("complementary", { name: /^Thoughts/ }).getByText("Bo eats no nuts: keep them out.").first().waitFor();
  await person.clicks_on(/^timeline/);
  await person.one.page.getByText("Decided with", { exact: true }).waitFor();
  await person.one.page.locator(".an").first().getByText("Bo eats no nuts").waitFor();
  await person.clicks_on(/^round 1/);
  await person.one.page.getByRole("complementary", { name: /^Detail/ }).getByText("Saw").waitFor();
  await person.done("say why", t, 2);
});

test("stops a thread that runs away", async (t) => {
  await server.call("POST", "/threads", { label: "runaway", title: "Round and round", kind: "process", prompt: "Run in circles." });
  await server.call("POST", "/threads/runaway/messages", { text: "go" });
  const thread = () => server.call<{ status: string; turn: number }>("GET", "/threads/runaway");
  await until(async () => (await thread()).turn > 2);
  const person = await Person.comes();
  await person.clicks_on(/^Threads/);
  await person.clicks_on("Round and round");
  await person.clicks_on("Stop what it does now");
  await person.one.page.getByRole("row", { name: /Round and round.*stopped/ }).waitFor();
  await until(async () => (await thread()).status === "waiting");
  const { turn } = await thread();
  await new Promise((done) => setTimeout(done, 1_500));
  assert.equal((await thread()).turn, turn, "it stays stopped");
  await person.done("stop a runaway thread", t, 3);
});

test("finds the message of yesterday", async (t) => {
  const person = await Person.comes(DAY);
  await person.types("Search all chats", "plumber");
  await person.clicks_on(/you: The plumber comes/);
  await person.one.page.locator(".said.found").getByText("on Tuesday at nine").waitFor();
  await person.one.page.locator(".day").getByText("Yesterday").first().waitFor();
  await person.done("find yesterday's message", t, 2);
});

test("teaches a fact and corrects it", async (t) => {
  const person = await Person.comes();
  await person.clicks_on(/^World model/);
  await person.types("Teach it a fact", "The user likes plums.");
  await person.clicks_on("Teach it");
  await person.one.page.getByRole("status").getByText("is known now, on your word").waitFor();
  await person.clicks_on("Correct this");
  await person.types("What is so instead?", "The user likes figs.");
  await person.clicks_on("Correct it");
  await person.clicks_on("Yes, correct it");
  await person.one.page.getByRole("status").getByText("“The user likes figs.” is known now, on your word.").waitFor();
  await person.done("teach and correct a fact", t, 7);
});
