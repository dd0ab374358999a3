// The chat as a person has it: what waits for people stands in the talk and is answered there, conversations are listed, found, named and put away.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { mission, stepOf } from "./mission.ts";
import { type Answer, type Asked, endpoint } from "./model.ts";
import { Thinkd } from "./server.ts";

type Items<T> = { items: T[] };

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
/** The steps of missions wait for this. */
let missionsGo = () => {};
const missionsMay = new Promise<void>((done) => (missionsGo = done));

const SETTINGS = () => ({ THINKD_MODEL: "qwen3:4b", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_RUNTIME__DEFAULT_SUBMODULES: "false", THINKD_TOOLS__APPROVAL: '["state_put"]' });

/** One turn of the scripted mind, by the words it is spoken to with. */
function decision({ said, prompt, tools }: Asked): Answer {
  const since = prompt.slice(prompt.lastIndexOf(`: ${said}`));
  const did = (tool: string) => new RegExp(`(call|result) ${tool}`).test(since);
  const call = (name: string, args: Record<string, unknown>): Answer => ({ calls: [{ name, arguments: args }] });
  if (/which plants/.test(said) && !did("ask_user")) return call("ask_user", { question: "Which plants stay over winter?", choices: ["citrus", "olives"], schema: null, who: null, expires_s: null });
  if (/a moment only/.test(said) && !did("ask_user")) return call("ask_user", { question: "Are you there?", choices: null, schema: null, who: null, expires_s: 1 });
  if (/write it down/.test(said) && !did("state_put")) return call("state_put", { key: "office/permit", content: "Ask the office", related_keys: [] });
  if (/write it down/.test(said)) return call("do_nothing", { reason: "" });
  if (/say nothing/.test(said)) return call("do_nothing", { reason: "Thanks need no answer." });
  if (/doomed/.test(said)) return { status: 400 };
  if (/a mission/.test(said) && !did("start_mission") && !/missions\.\w+/.test(prompt)) return tools.includes("start_mission") ? call("start_mission", { mission: "Order five talks so that none clash", value: "low", plan: null }) : call("more_tools", { names: ["start_mission"] });
  return { calls: [{ name: "reply", arguments: { text: `You said: ${said}` } }], between: /slowly/.test(said) ? 120 : 0 };
}

before(async () => {
  browser = await launch();
  model = await endpoint(async (asked) => {
    if (stepOf(asked)) {
      await missionsMay;
      return mission(asked, 0);
    }
    return asked.voice ? { text: "PASS" } : decision(asked);
  });
  server = await new Thinkd(SETTINGS()).start();
});
after(async () => {
  missionsGo();
  await browser?.close();
  await server?.stop();
  await model?.close();
});

const box = (one: Watched) => one.page.getByLabel(/^Say something/);
async function say(one: Watched, text: string): Promise<void> {
  await box(one).fill(text);
  await box(one).press("Enter");
}
const card = (one: Watched, name: "Question" | "Approval" | "Mission") => one.page.getByRole("article", { name, exact: true });
/** The kinds of lines in the talk, in their order. */
const kinds = (one: Watched) => one.page.locator(".lines > .said").evaluateAll((all) => all.map((line) => [...line.classList].find((name) => ["you", "mind", "question", "approval", "mission", "quiet", "failed"].includes(name))));
async function fits(one: Watched, where: string): Promise<void> {
  const wide = await one.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${where} is ${wide} px too wide`);
}
async function done(...all: Watched[]): Promise<void> {
  for (const one of all) {
    one.clean();
    await one.close();
  }
}

test("a question stands in the talk where it was asked, is answered there, and says by whom; elsewhere too, and after a reload", async () => {
  const [one, two] = [await Watched.open(browser, server.url, "#/t/garden"), await Watched.open(browser, server.url, "#/t/garden")];
  await say(one, "which plants do you mean?");
  const [here, there] = [card(one, "Question"), card(two, "Question")];
  await here.getByText("Which plants stay over winter?").waitFor();
  await there.getByRole("button", { name: "olives" }).waitFor();
  await here.getByText(/^Until \d+ \w+ at \d\d:\d\d, for 7 days more/).waitFor();
  await one.sees("it only asked for an answer");
  await one.axe("an open question");
  await here.getByRole("button", { name: "olives" }).click();
  await here.getByText("You answered:").waitFor();
  assert.equal(await here.getByRole("button").count(), 0);
  // Another browser did not answer it, and is not told that it did.
  await there.getByText("Answered:").waitFor();
  await there.getByText("olives").waitFor();
  assert.equal(await there.getByRole("textbox").count(), 0);
  await one.page.locator(".said.mind").waitFor();
  assert.deepEqual(await kinds(one), ["you", "question", "quiet", "mind"]);
  await one.page.reload();
  await here.getByText("You answered:").waitFor();
  await one.axe("an answered question");
  await done(one, two);
});

test("an approval in the talk: arguments are shown and edited, and what became of it is said; a turn that only waits says so", async () => {
  const [one, two] = [await Watched.open(browser, server.url, "#/t/office"), await Watched.open(browser, server.url, "#/t/office", { viewport: { width: 390, height: 844 }, hasTouch: true })];
  await say(one, "write it down, please");
  const [here, there] = [card(one, "Approval"), card(two, "Approval")];
  await here.getByText("Ask the office", { exact: true }).waitFor();
  await one.sees("It decided to stay silent, and gave no reason.");
  await there.getByRole("button", { name: "Approve" }).waitFor();
  await two.axe("an approval on a phone");
  await fits(two, "an approval on a phone");
  await here.getByRole("button", { name: "Edit" }).click();
  await here.getByLabel("content", { exact: true }).fill("Ask the office in writing");
  await here.getByLabel("Reason").fill("by Friday");
  await one.axe("an approval that is edited");
  await here.getByRole("button", { name: "Approve as changed" }).click();
  await here.getByText("You approved it, with changes. It ran.").waitFor();
  await here.getByText("by Friday").waitFor();
  await there.getByText("admin approved it, with changes. It ran.").waitFor();
  assert.equal((await server.call<{ content: string }>("GET", "/state/office%2Fpermit")).content, "Ask the office in writing");
  await one.page.reload();
  await here.getByText("You approved it, with changes. It ran.").waitFor();
  await here.getByText("Its arguments").click();
  await here.getByText("Ask the office in writing").waitFor();

  await say(one, "write it down again");
  await here.last().getByRole("button", { name: "Deny" }).click();
  await here.last().getByText("You denied it.").waitFor();
  await done(one, two);
});

test("a question in the past of a fork stays with the thread that asked it; below the talk stands that it waits", async () => {
  await server.say("which plants?", "roots");
  const end = (await server.call<Items<{ seq: number }>>("GET", "/events?thread=roots&tags=ended&limit=1")).items[0]!.seq;
  const { thread } = await server.call<{ thread: string }>("POST", "/threads/roots/fork", { at: end });
  const one = await Watched.open(browser, server.url, `#/t/${thread}`);
  await card(one, "Question").getByText(/^It belongs to/).waitFor();
  assert.equal(await one.page.locator(".request").getByRole("button").count(), 0);
  assert.equal(await one.page.locator(".asking").count(), 0);
  await card(one, "Question").getByRole("link", { name: "roots" }).click();
  await one.sees("1 request in this conversation waits for people");
  await one.page.getByRole("button", { name: "Show", exact: true }).click();
  await one.page.waitForFunction(() => document.activeElement?.matches(".request"));
  await card(one, "Question").getByRole("button", { name: "citrus" }).click();
  await one.page.locator(".asking").waitFor({ state: "detached" });
  await done(one);
});

test("a question that nobody answers in time says so while it is looked at", async () => {
  const one = await Watched.open(browser, server.url, "#/t/late");
  await say(one, "a moment only");
  await card(one, "Question").getByText("Nobody answered in time.").waitFor();
  assert.equal(await card(one, "Question").getByRole("textbox").count(), 0);
  await done(one);
});

test("a turn that stays silent is one grey line with its reason; a failed one says what to do next", async () => {
  const one = await Watched.open(browser, server.url, "#/t/quiet");
  await say(one, "say nothing, thanks");
  await one.page.locator(".said.quiet").getByText("It decided to stay silent:").waitFor();
  await one.sees("Thanks need no answer.");
  await say(one, "you are doomed");
  const failed = one.page.locator(".said.failed");
  await failed.getByText(/thinkd doctor/).waitFor();
  await failed.getByRole("button", { name: "Say it again" }).click();
  assert.equal(await box(one).inputValue(), "you are doomed");
  assert.deepEqual(await kinds(one), ["you", "quiet", "you", "failed"]);
  await one.axe("a silent turn and a failed one");
  await done(one);
});

test("a mission that is begun in the chat is a card with its progress, which moves by itself", async () => {
  const one = await Watched.open(browser, server.url, "#/t/planning");
  await say(one, "begin a mission for the talks");
  const here = card(one, "Mission");
  await here.getByRole("link", { name: "Order five talks so that none clash" }).waitFor();
  await here.getByText("in work").waitFor();
  await one.axe("a mission in the talk");
  missionsGo();
  await here.getByText(/^\d+ tasks? solved/).waitFor();
  const { outcome } = (await server.call<Items<{ id: string; kind: string; parent: string | null; mission: unknown; outcome: string }>>("GET", "/threads?limit=500")).items.find(({ mission }) => mission)!;
  await here.getByText({ complete: "solved", partial: "solved in part", failed: "failed" }[outcome]!, { exact: true }).waitFor();
  await here.getByRole("link").click();
  assert.match(one.page.url(), /#\/missions\/missions/);
  await done(one);
});

test("a key that may only look sees what waits and who may act, and no button", async () => {
  const other = new Thinkd(SETTINGS());
  writeFileSync(`${other.folder}/thinkd.toml`, ["operator", "viewer"].map((role) => `[[keys]]\nkey = "${role}-0123456789abcdef0123"\nspace = "default"\nrole = "${role}"\n`).join(""));
  await other.start();
  try {
    const as = (key: string) => ({ authorization: `Bearer ${key}`, "content-type": "application/json" });
    for (const text of ["which plants?", "write it down"]) await fetch(`${other.url}/threads/main/messages?wait=60`, { method: "POST", headers: as("operator-0123456789abcdef0123"), body: JSON.stringify({ text }) });
    const one = await Watched.open(browser, other.url, "#/t/main", {}, async (page) => void (await page.addInitScript(() => sessionStorage.setItem("thinkd.token", "viewer-0123456789abcdef0123"))));
    await card(one, "Question").getByText("An answer needs the role member.").waitFor();
    await card(one, "Approval").getByText("A verdict needs the role operator.").waitFor();
    assert.equal(await one.page.locator(".lines .request").getByRole("button").count(), 0);
    await one.axe("what waits, for a viewer");
    const [{ question_id: id }] = (await (await fetch(`${other.url}/questions`, { headers: as("operator-0123456789abcdef0123") })).json() as Items<{ question_id: string }>).items as [{ question_id: string }];
    await fetch(`${other.url}/questions/${id}`, { method: "POST", headers: as("operator-0123456789abcdef0123"), body: JSON.stringify({ text: "citrus" }) });
    await card(one, "Question").getByText("Answered:").waitFor();
    one.clean();
    await one.close();
  } finally {
    await other.stop();
  }
});
