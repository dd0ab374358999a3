// The chat as a person has it: what waits for people stands in the talk and is answered there, conversations are listed, found, named and put away.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
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

const CODE = "Run this:\n\n```sh\nls -l | wc\n```\n\n| part | price | mark |\n| :--- | ---: | :---: |\n| frame | 780 | x |";

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
  if (/show me code/.test(said)) return call("reply", { text: CODE });
  return { calls: [{ name: "reply", arguments: { text: `You said: ${said}` } }], between: /slowly/.test(said) ? 350 : 0 };
}

before(async () => {
  browser = await launch();
  model = await endpoint(async (asked) => {
    if (stepOf(asked)) {
      await missionsMay;
      return mission(asked, 0);
    }
    if (/Write a title/.test(asked.prompt)) return { text: "“Plums and nothing else”" };
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
  await here.last().getByRole("button", { name: "Reject" }).click();
  await here.last().getByText("You rejected it.").waitFor();
  await done(one, two);
});

test("a request stays open for as long as it waits", async () => {
  const one = await Watched.open(browser, server.url, "#/t/patience", {}, (page) => page.clock.install());
  await say(one, "write it down, and wait");
  await card(one, "Approval").getByRole("button", { name: "Approve" }).waitFor();
  await say(one, "which plants, at last?");
  await card(one, "Question").getByRole("button", { name: "olives" }).waitFor();
  await one.page.clock.runFor(120_000);
  await card(one, "Question").getByText("waits for you").waitFor();
  for (const [name, act] of [["Approval", "Approve"], ["Question", "olives"]] as const) assert.equal(await card(one, name).getByRole("button", { name: act, exact: true }).count(), 1, name);
  await done(one);
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

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const list = (one: Watched) => one.page.getByRole("complementary", { name: "Chats" });
const row = (one: Watched, title: string | RegExp) => list(one).getByRole("link", { name: title });
/** The titles of the list, in their order. */
const titles = (one: Watched) => list(one).locator(".chat-row .ti").allInnerTexts();
const focused = (one: Watched, label: RegExp) => one.page.waitForFunction((source) => new RegExp(source).test(document.activeElement?.getAttribute("aria-label") ?? ""), label.source);

test("chats are listed by their first words, with the last line, and what is unread or waits; what was seen stays seen", async () => {
  await server.say("First words about **apples** in spring", "apples");
  await server.say("All about bees", "bees");
  const one = await Watched.open(browser, server.url, "#/t/apples");
  await row(one, /^First words about apples in spring/).waitFor();
  await row(one, /^All about bees.*You said: All about bees/s).waitFor();
  assert.equal(await one.page.getByRole("heading", { level: 2, name: "First words about apples in spring" }).count(), 1);
  assert.equal(await row(one, /unread/).count(), 0, "a new browser has seen what was there");
  await server.say("which plants do bees like?", "bees");
  await row(one, /^All about bees.*1 waiting/s).waitFor();
  await server.say("hello again", "bees");
  await row(one, /^All about bees.*unread.*You said: hello again/s).waitFor();
  assert.equal((await titles(one))[0], "All about bees");
  await one.axe("the list of chats");
  await row(one, /^All about bees/).click();
  await one.sees("Which plants stay over winter?");
  assert.match(one.page.url(), /#\/t\/bees$/);
  await row(one, /^First words/).click();
  await one.page.waitForURL(/#\/t\/apples$/);
  assert.equal(await row(one, /unread/).count(), 0);
  await one.page.reload();
  await row(one, /^All about bees/).waitFor();
  assert.equal(await row(one, /unread/).count(), 0);
  await done(one);
});

test("a new chat is there with its first message; it is named, given a title by the model, and put away, for all browsers", async () => {
  const [one, two] = [await Watched.open(browser, server.url, "#/t/main"), await Watched.open(browser, server.url, "#/t/main")];
  await list(one).getByRole("button", { name: "New chat" }).click();
  await focused(one, /^Say something$/);
  await one.sees("A new chat");
  const id = decodeURIComponent(one.page.url().split("#/t/")[1]!);
  await one.axe("a new chat");
  assert.equal((await fetch(`${server.url}/threads/${id}`)).status, 404, "nothing is made before something is said");
  await one.page.keyboard.type("Plums, and");
  await one.page.keyboard.press("Shift+Enter");
  await one.page.keyboard.type("pears");
  await one.page.keyboard.press("Enter");
  await row(two, /^Plums, and pears/).waitFor();
  assert.equal(await one.page.locator(".said.you .tx").innerText(), "Plums, and\npears");
  await one.page.locator(".said.mind").waitFor();

  const more = one.page.getByRole("button", { name: "More about this chat" });
  await more.click();
  await one.page.getByRole("button", { name: "Rename" }).click();
  await one.page.getByLabel("Title").fill("Fruit of <b>summer</b>");
  await one.page.keyboard.press("Enter");
  await one.page.getByRole("heading", { level: 2, name: "Fruit of <b>summer</b>" }).waitFor();
  await row(two, /^Fruit of <b>summer<\/b>/).waitFor();
  await more.click();
  await one.page.getByRole("button", { name: "Suggest a title" }).click();
  await one.page.getByRole("heading", { level: 2, name: "Plums and nothing else" }).waitFor();
  await row(two, /^Plums and nothing else/).waitFor();
  await one.page.getByRole("button", { name: "Archive", exact: true }).click();
  await one.sees("in the archive");
  await row(two, /^Plums/).waitFor({ state: "detached" });
  await list(two).getByRole("button", { name: /^Archive \(\d+\)$/ }).click();
  await row(two, /^Plums/).click();
  await two.page.getByRole("button", { name: "More about this chat" }).click();
  await two.axe("an archived chat");
  await two.page.getByRole("button", { name: "Take out of the archive" }).click();
  await list(two).getByRole("button", { name: "Back to the chats" }).click();
  await row(two, /^Plums/).waitFor();
  await row(one, /^Plums/).waitFor();
  await done(one, two);
});

test("a message of long ago is found in another chat, and the talk opens there; results say where they end", async () => {
  await server.say("the quokka of long ago", "zoo");
  for (let n = 0; n < 60; n += 1) await server.say(`animal ${n}`, "zoo");
  const one = await Watched.open(browser, server.url, "#/t/main");
  const search = one.page.getByLabel("Search all chats");
  await search.fill("quokka long");
  await one.sees("2 messages with these words, and no more.");
  await one.axe("what was found");
  await row(one, /you: the quokka of long ago/).click();
  const line = one.page.locator(".said.you.found");
  await line.getByText("the quokka of long ago").waitFor();
  await one.page.waitForFunction(() => { const box = document.querySelector(".said.found")!.getBoundingClientRect(); return box.top > 0 && box.bottom < innerHeight; });
  assert.equal(await one.page.getByText("You said: animal 59").count(), 0);
  await one.page.getByRole("button", { name: "go to the end" }).click();
  await one.page.getByText("You said: animal 59").waitFor();
  await search.fill("animal");
  await one.sees("The newest 20 messages with these words; there may be older ones.");
  await one.page.getByRole("button", { name: "Show older ones" }).click();
  await one.sees("The newest 40 messages");
  await search.fill("nobody said so");
  await one.sees("No message has all these words.");
  await search.fill("the quokka");
  await list(one).getByRole("heading", { name: "Titles" }).waitFor();
  await done(one);
});

test("on a phone the list is a drawer that takes the focus and gives it back, and no keyboard comes up by itself", async () => {
  const one = await Watched.open(browser, server.url, "#/t/apples", PHONE);
  await one.sees("First words about apples in spring");
  assert.ok(!(await one.page.evaluate(() => document.activeElement?.matches("textarea"))));
  assert.ok(!(await list(one).isVisible()));
  await one.page.getByRole("button", { name: "Chats", exact: true }).click();
  await one.page.waitForFunction(() => document.activeElement?.closest(".chats"));
  await one.axe("the drawer of chats");
  await fits(one, "the drawer of chats");
  await one.page.keyboard.press("Escape");
  await one.page.waitForFunction(() => document.activeElement?.matches(".list-button"));
  await one.page.getByRole("button", { name: "Chats", exact: true }).click();
  await row(one, /^All about bees/).click();
  await one.sees("hello again");
  assert.ok(!(await list(one).isVisible()));
  await fits(one, "a chat");
  await done(one);
});

test("branches of a chat are one entry of the list, and a tree above the talk", async () => {
  await server.say("Grow a tree", "tree");
  const one = await Watched.open(browser, server.url, "#/t/tree");
  await one.page.getByRole("button", { name: "Ask again" }).click();
  await one.page.waitForURL((url) => !url.hash.endsWith("/tree"));
  await one.page.getByRole("button", { name: "2 branches" }).click();
  const tree = one.page.getByRole("navigation", { name: "Branches of this chat" });
  assert.equal(await tree.getByRole("link").count(), 2);
  await one.axe("the branches of a chat");
  assert.equal((await titles(one)).filter((title) => title === "Grow a tree").length, 1);
  await row(one, /^Grow a tree.*2 branches/s).waitFor();
  await tree.getByRole("link").first().click();
  await one.page.waitForURL(/#\/t\/tree$/);
  await done(one);
});

test("messages and code are copied, tables stand as they are aligned, and days are named with the date in a title", async () => {
  await server.say("show me code", "code");
  const { ts } = (await server.call<Items<{ ts: string }>>("GET", "/events?thread=code&limit=1")).items[0]!;
  const at = (days: number) => async (page: Page) => page.clock.setFixedTime(Date.parse(ts) + days * 86_400_000);
  const one = await Watched.open(browser, server.url, "#/t/code", { permissions: ["clipboard-read", "clipboard-write"], timezoneId: "UTC" }, at(1));
  const pasted = () => one.page.evaluate(() => navigator.clipboard.readText());
  await one.page.getByRole("button", { name: "Copy code" }).click();
  await one.page.getByRole("button", { name: "Copied code" }).waitFor();
  assert.equal(await pasted(), "ls -l | wc");
  await one.page.getByRole("button", { name: /^Copy reply/ }).click();
  await one.page.getByRole("button", { name: /^Copied reply/ }).waitFor();
  assert.equal(await pasted(), CODE);
  await one.page.getByRole("button", { name: /^Copy message/ }).click();
  await one.page.getByRole("button", { name: /^Copied message/ }).waitFor();
  assert.equal(await pasted(), "show me code");
  assert.deepEqual(await one.page.locator(".said td").evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign)), ["left", "right", "center"]);
  const day = one.page.locator(".day span");
  assert.equal(await day.innerText(), "Yesterday");
  const [month, date, year] = ["long", "numeric", "numeric"].map((style, i) => new Intl.DateTimeFormat("en", { timeZone: "UTC", [["month", "day", "year"][i]!]: style }).format(new Date(ts)));
  assert.match((await day.getAttribute("title"))!, new RegExp(`^\\w+day, ${date} ${month} ${year}, \\d\\d:\\d\\d:\\d\\d$`));
  await done(one);
  for (const [days, words] of [[2, `${date} ${month}`], [400, `${date} ${month} ${year}`]] as const) {
    const later = await Watched.open(browser, server.url, "#/t/code", { timezoneId: "UTC" }, at(days));
    const name = later.page.locator(".day span");
    await name.waitFor();
    assert.ok((await name.innerText()).startsWith(words), `${await name.innerText()} after ${days} days`);
    await done(later);
  }
});

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

test("pictures are pasted and dropped, and shown large; Esc closes and the focus returns", async () => {
  const one = await Watched.open(browser, server.url, "#/t/pictures");
  await box(one).waitFor();
  /** The event of a browser when files are pasted or dropped. */
  const give = (kind: "paste" | "drop", name: string, text: string) => one.page.evaluate(([kind, name, text, data]) => {
    const files = new DataTransfer();
    files.items.add(new File([Uint8Array.from(atob(data!), (c) => c.charCodeAt(0))], name!, { type: "image/png" }));
    if (text) files.setData("text/plain", text);
    const event = kind === "paste" ? new ClipboardEvent("paste", { clipboardData: files, bubbles: true, cancelable: true }) : new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
    document.querySelector(kind === "paste" ? "textarea.box" : ".talk .scroll")!.dispatchEvent(event);
  }, [kind, name, text, PNG] as const);
  await give("paste", "cell.png", "a cell of a table");
  await give("paste", "pasted.png", "");
  await one.sees("pasted.png");
  await give("drop", "dropped.png", "");
  await one.sees("dropped.png");
  assert.equal(await one.page.getByText("cell.png").count(), 0, "text with a picture beside it is text");
  await say(one, "what are these?");
  const thumbs = one.page.getByRole("button", { name: "Show the image large" });
  await thumbs.nth(1).waitFor();
  await thumbs.first().click();
  const large = one.page.getByRole("dialog", { name: "image" });
  await large.waitFor();
  await one.axe("an image shown large");
  await one.page.keyboard.press("Escape");
  await large.waitFor({ state: "hidden" });
  await focused(one, /^Show the image large$/);
  // Of a message in parts the words are found, and the whole of it is gone to.
  await one.page.getByLabel("Search all chats").fill("what are these");
  await row(one, /you: what are these/).click();
  await one.page.waitForFunction(() => document.activeElement?.matches(".said.you.found"));
  await done(one);
});

test("what was typed is there after a reload, for its own chat alone, and gone once it is said", async () => {
  const one = await Watched.open(browser, server.url, "#/t/apples");
  await box(one).fill("not said yet");
  await one.go("#/t/bees");
  await focused(one, /^Say something to bees$/);
  assert.equal(await box(one).inputValue(), "");
  await one.go("#/t/apples");
  await focused(one, /^Say something to apples$/);
  await one.page.reload();
  await focused(one, /^Say something to apples$/);
  assert.equal(await box(one).inputValue(), "not said yet");
  await one.page.keyboard.press("Escape");
  await one.page.waitForFunction(() => document.activeElement?.id === "main");
  await one.page.keyboard.press("i");
  await focused(one, /^Say something to apples$/);
  await box(one).press("Enter");
  await one.sees("You said: not said yet");
  await one.page.reload();
  await one.sees("You said: not said yet");
  assert.equal(await box(one).inputValue(), "");
  await done(one);
});

test("a reply that began before a reload is shown from its beginning while it goes on", async () => {
  const words = "tell me slowly the long story of the wall that faces the south and of all that ever grew before it, year by year, and leave out nothing of it at all, please, for I have time";
  const one = await Watched.open(browser, server.url, "#/t/story");
  await say(one, words);
  const draft = one.page.locator(".said[aria-busy=true] .tx");
  const has = (n: number) => one.page.waitForFunction((n) => (document.querySelector<HTMLElement>(".said[aria-busy=true] .tx")?.innerText.length ?? 0) > n, n);
  await has(30);
  await one.page.reload();
  await has(30);
  assert.match(await draft.innerText(), /^You said: tell me slowly the/);
  assert.equal(await one.page.getByText("a piece is missing").count(), 0);
  await one.page.locator(".said[aria-busy=true]").waitFor({ state: "detached" });
  await one.page.locator(".said.mind").getByText(`You said: ${words}`).waitFor();
  await done(one);
});

test("the composer says what comes of a message while a turn runs, as the conversation is set", async () => {
  const slowly = "tell me slowly about the long wall that faces the south, and leave out nothing of it at all";
  for (const policy of ["enqueue", "interrupt", "reject"]) await server.call("POST", "/threads", { label: `by-${policy}`, kind: "conversation", policy });
  const one = await Watched.open(browser, server.url, "#/t/by-enqueue");
  await say(one, slowly);
  await one.sees("Your message waits until this turn is over, and is answered in the next one.");
  await one.axe("a turn at work");
  await one.page.getByRole("button", { name: "Interrupt" }).click();
  await one.sees("The turn is stopped first, and your message is answered next.");
  await say(one, "now this");
  await one.sees("You said: now this");

  await one.go("#/t/by-interrupt");
  await one.page.getByLabel("Say something to by-interrupt").waitFor();
  await say(one, slowly);
  await one.sees("Your message stops this turn, as this conversation is set");
  assert.equal(await one.page.getByRole("button", { name: "Queue" }).count(), 0);
  await say(one, "and this");
  await one.sees("You said: and this");

  await one.go("#/t/by-reject");
  await one.page.getByLabel("Say something to by-reject").waitFor();
  await say(one, slowly);
  await one.sees("This conversation takes no message while a turn runs, as it is set");
  await box(one).fill("not now");
  assert.ok(await one.page.getByRole("button", { name: "Send", exact: true }).isDisabled());
  await box(one).press("Enter");
  assert.equal(await box(one).inputValue(), "not now");
  await one.page.getByRole("button", { name: "Interrupt" }).click();
  await box(one).press("Enter");
  await one.sees("You said: not now");
  await done(one);
});
