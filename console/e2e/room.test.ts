// The second day of a person: ten requests that are alike, the focus after an act, chats that are put away, titles by the model, facts that are taught and corrected, answers in forms.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { type Answer, type Asked, endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

type Items<T> = { items: T[] };

const SCHEMA = { type: "object", properties: { name: { type: "string", description: "of the guest" }, guests: { type: "integer" }, vegetarian: { type: "boolean" }, room: { type: "string", enum: ["garden", "street"] }, note: { type: "string" } }, required: ["name", "guests", "vegetarian", "room"] };

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
let titles = 0;
/** Words that were acted upon: results of calls wake turns of their own. */
const filed = new Set<string>();

function decision({ said, prompt }: Asked): Answer {
  const since = prompt.slice(prompt.lastIndexOf(`: ${said}`));
  const did = (tool: string) => new RegExp(`(call|result) ${tool}`).test(since);
  const put = (i: number) => ({ name: "state_put", arguments: { key: `permit-${i}`, content: `Ask for part ${i} of the permit`, related_keys: [] } });
  const many = /file (\d+)/.exec(said);
  if (many && !filed.has(said) && filed.add(said)) return { calls: Array.from({ length: Number(many[1]) }, (_, i) => put(i + 1)) };
  if (/book a table/.test(said) && !did("ask_user")) return { calls: [{ name: "ask_user", arguments: { question: "For whom is the table?", choices: null, schema: JSON.stringify(SCHEMA), who: null, expires_s: null } }] };
  return { calls: [{ name: "reply", arguments: { text: `You said: ${said}` } }], between: /slowly/.test(said) ? 350 : 0 };
}

const settings = (more: Record<string, string> = {}) => ({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_RUNTIME__DEFAULT_SUBMODULES: "false", THINKD_TOOLS__APPROVAL: '["state_put"]', ...more });

before(async () => {
  browser = await launch();
  model = await endpoint((asked) => {
    if (/Write a title/.test(asked.prompt)) {
      titles += 1;
      return { text: `Title ${titles} of the model` };
    }
    return asked.voice ? { text: "PASS" } : decision(asked);
  });
  server = await new Thinkd(settings()).start();
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
const button = (one: Watched, name: string | RegExp) => one.page.getByRole("button", { name, exact: typeof name === "string" });
const status = (one: Watched, text: string | RegExp) => one.page.getByRole("status").getByText(text).waitFor();
/** Waits until an element of this selector has the focus. */
const focused = (one: Watched, selector: string) => one.page.waitForFunction((selector) => document.activeElement?.matches(selector), selector).catch(async () => assert.fail(`${selector} has not the focus: ${await one.page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200))}`));
const approvals = () => server.call<Items<{ approval_id: string; thread: string }>>("GET", "/approvals?limit=500");
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

test("ten calls that are alike are approved at once in the chat, and rejected at once in the inbox, after one look at all", async () => {
  const one = await Watched.open(browser, server.url, "#/t/permits");
  await say(one, "file 10, please");
  await button(one, "All 10 of state_put").click();
  const dialog = one.page.getByRole("dialog", { name: "All 10 calls of state_put" });
  await dialog.getByText("Ask for part 10 of the permit").waitFor();
  assert.equal(await dialog.getByRole("listitem").count(), 10);
  await one.axe("ten calls to approve");
  await one.page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal((await approvals()).items.length, 10, "to leave them settles nothing");
  await button(one, "All 10 of state_put").click();
  await dialog.getByRole("button", { name: "Approve all 10" }).click();
  await status(one, "You approved 10 calls of state_put.");
  await one.page.getByText("You approved it. It ran.").nth(9).waitFor();
  await focused(one, "textarea.box");
  assert.equal((await server.call<{ content: string }>("GET", "/state/permit-10")).content, "Ask for part 10 of the permit");

  await server.say("file 10 more", "permits-of-bo");
  await one.go("#/inbox");
  await button(one, "Decide on all of these").click();
  await dialog.getByLabel("Reason for all").fill("not this year");
  // One of them is settled elsewhere while the list is read: the others are, too, and the one is told of.
  one.quiet = true;
  await server.call("POST", `/approvals/${(await approvals()).items[0]!.approval_id}`, { verdict: "reject" });
  await dialog.getByRole("button", { name: "Reject all 10" }).click();
  await dialog.getByText("1 call could not be rejected").waitFor();
  await one.axe("one call that could not be rejected");
  await dialog.getByRole("button", { name: "Close" }).click();
  await status(one, "You rejected 9 calls of state_put; 1 could not be.");
  await focused(one, ".empty");
  assert.equal((await approvals()).items.length, 0);
  const denied = (await server.call<Items<{ payload: { reason?: string } }>>("GET", "/events?tags=denied&limit=50")).items;
  assert.equal(denied.filter(({ payload }) => payload.reason === "not this year").length, 9);
  one.clean();
  await one.close();
});

test("ten calls on a phone: the list fits, and its buttons are in the page", async () => {
  await server.say("file 10, again", "phone");
  const one = await Watched.open(browser, server.url, "#/t/phone", { ...PHONE, colorScheme: "dark" });
  await button(one, "All 10 of state_put").click();
  const approve = one.page.getByRole("dialog").getByRole("button", { name: "Approve all 10" });
  await approve.waitFor();
  const place = (await approve.boundingBox())!;
  assert.ok(place.x >= 0 && place.x + place.width <= 390 && place.y + place.height <= 844, JSON.stringify(place));
  assert.ok((await one.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
  await one.axe("ten calls on a phone, in the dark");
  await approve.click();
  await status(one, "You approved 10 calls of state_put.");
  one.clean();
  await one.close();
});

test("the focus stays in the page after each act: the next card, the box, the item that is shown next, the row that was open", async () => {
  const one = await Watched.open(browser, server.url, "#/t/hands");
  await say(one, "file 2, please");
  const card = (n: number) => one.page.getByRole("article", { name: "Approval" }).nth(n);
  await card(1).getByRole("button", { name: "Approve" }).waitFor();
  const act = async (name: RegExp | string) => {
    await button(one, name).first().focus();
    await one.page.keyboard.press("Enter");
  };
  await card(0).getByRole("button", { name: "Approve" }).focus();
  await one.page.keyboard.press("Enter");
  await card(0).getByText("You approved it.").waitFor();
  await one.page.waitForFunction(() => document.activeElement === document.querySelectorAll(".request")[1]);
  await card(1).getByRole("button", { name: "Reject" }).focus();
  await one.page.keyboard.press("Enter");
  await card(1).getByText("You rejected it.").waitFor();
  await focused(one, "textarea.box");

  await act("More about this chat");
  await act("Rename");
  await one.page.keyboard.type("Work of hands");
  await one.page.keyboard.press("Enter");
  await one.page.getByRole("heading", { level: 2, name: "Work of hands" }).waitFor();
  await focused(one, ".more-acts");
  await one.page.keyboard.press("Enter");
  await act("Archive");
  await one.sees("in the archive");
  await one.page.waitForFunction(() => document.activeElement?.textContent === "Take out of the archive");
  await one.page.keyboard.press("Enter");
  await one.page.waitForFunction(() => document.activeElement?.textContent === "Archive");

  await say(one, "tell me slowly of the long wall that faces the south");
  await act(/^Stop/);
  await one.sees("Stopped. What was said until then is stored.");
  await focused(one, "textarea.box");
  await act("Close");
  await focused(one, "textarea.box");

  await server.say("file 2 more", "hands");
  await one.go("#/inbox");
  await act(/^Approve/);
  await status(one, "You approved state_put.");
  await focused(one, "article.one");
  await act(/^Reject/);
  await status(one, "You rejected state_put.");
  await focused(one, ".empty");

  const { id } = await server.call<{ id: string }>("POST", "/world-model", { statement: "The user has two hands." });
  await one.go(`#/world/${id}`);
  await one.page.getByLabel("Why it is to be withdrawn").fill("a jest");
  await one.page.keyboard.press("Enter");
  await status(one, "You withdrew the statement. It is not relied on any more.");
  await one.page.waitForFunction(() => document.activeElement?.closest(".drawer"));

  await one.go("#/threads");
  await one.page.getByRole("link", { name: "Work of hands" }).focus();
  await one.page.keyboard.press("Enter");
  await act("Close");
  await one.page.waitForFunction(() => document.activeElement?.textContent === "Work of hands");
  one.clean();
  await one.close();
});

test("a chat that is put away or has ended, and a key that may look, have no acts that the server would refuse, and say why", async () => {
  await server.say("hello there", "kept");
  const one = await Watched.open(browser, server.url, "#/t/kept");
  await button(one, "Ask again").waitFor();
  const refused = async (why: RegExp) => {
    await one.page.getByRole("note").getByText(why).waitFor();
    for (const name of [/^Ask again/, /^Edit message/]) assert.equal(await button(one, name).count(), 0, String(name));
  };
  await server.call("PATCH", "/threads/kept", { archived: true });
  await refused(/^This chat is in the archive/);
  await one.axe("a chat in the archive");
  await server.call("PATCH", "/threads/kept", { archived: false });
  await button(one, "Ask again").waitFor();

  await server.call("POST", "/threads/kept/end", {});
  await refused(/^This chat has ended/);
  assert.equal(await box(one).count(), 0);
  await one.axe("a chat that has ended");
  await one.page.locator(".compose").getByRole("button", { name: "New chat" }).click();
  await one.page.waitForURL(/#\/t\/chat-/);
  one.clean();
  await one.close();

  const other = new Thinkd(settings());
  writeFileSync(`${other.folder}/thinkd.toml`, ["member", "viewer"].map((role) => `[[keys]]\nkey = "${role}-0123456789abcdef0123"\nspace = "default"\nrole = "${role}"\n`).join(""));
  await other.start();
  try {
    await fetch(`${other.url}/threads/main/messages?wait=60`, { method: "POST", headers: { authorization: "Bearer member-0123456789abcdef0123", "content-type": "application/json" }, body: JSON.stringify({ text: "hello" }) });
    const two = await Watched.open(browser, other.url, "#/t/main", {}, async (page) => void (await page.addInitScript(() => sessionStorage.setItem("thinkd.token", "viewer-0123456789abcdef0123"))));
    await two.page.getByRole("note").getByText(/needs the role member/).waitFor();
    for (const name of [/^Ask again/, /^Edit message/]) assert.equal(await button(two, name).count(), 0);
    two.clean();
    await two.close();
  } finally {
    await other.stop();
  }
});

test("new chats get a title of the model where the person wants it: after the first reply, counted, and not by default", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main");
  const begin = async (words: string) => {
    await button(one, "New chat").first().click();
    await one.page.waitForFunction(() => /A new chat/.test(document.querySelector(".talk")?.textContent ?? ""));
    await say(one, words);
    await one.sees(`You said: ${words}`);
  };
  const before = titles;
  await begin("the first of all");
  await one.page.getByRole("heading", { level: 2, name: "the first of all" }).waitFor();
  assert.equal(titles, before, "nobody asked for it");

  await button(one, "More about this chat").click();
  const want = one.page.getByRole("switch", { name: "Title new chats by the model" });
  await want.click();
  await one.axe("the switch of titles");
  await one.page.reload();
  await begin("the second of all");
  await one.page.getByRole("heading", { level: 2, name: `Title ${before + 1} of the model` }).waitFor();
  const calls = (await server.call<Items<{ seq: number; meta: { tags: string[] }; ts: string }>>("GET", "/events?debug=true&limit=500&order=desc")).items;
  const titled = calls.findIndex(({ meta }) => meta.tags.includes("call:core"));
  assert.ok(titled >= 0, "the call is recorded, and so counted");
  assert.ok(calls.slice(titled).some(({ meta }) => meta.tags.includes("response")), "the reply was there before");
  await say(one, "and more of it");
  await one.sees("You said: and more of it");
  assert.equal(titles, before + 1, "once");
  one.clean();
  await one.close();
});

test("a fact is taught, recalled in the chat, and corrected where it was recalled or in the world model, in plain words", async () => {
  const one = await Watched.open(browser, server.url, "#/world");
  await one.page.getByLabel("Teach it a fact").fill("The user likes plums.");
  await button(one, "Teach it").click();
  await status(one, "“The user likes plums.” is known now, on your word.");
  await one.page.getByRole("complementary", { name: "Statement" }).getByText("known", { exact: true }).first().waitFor();
  await one.go("#/t/fruit");
  await say(one, "which plums does the user like?");
  await button(one, "1 fact recalled").click();
  await button(one, "Correct this").click();
  await one.axe("a fact that is corrected in the chat");
  await one.page.getByLabel("What is so instead?").fill("The user likes figs.");
  await button(one, "Correct it").click();
  await one.page.getByText("is to be replaced by").waitFor();
  await button(one, "Yes, correct it").click();
  await status(one, "“The user likes plums.” is withdrawn. “The user likes figs.” is known now, on your word.");
  await one.page.locator(".facts-list").getByText("withdrawn").waitFor();
  const held = async () => (await server.call<Items<{ text: string; status: string }>>("GET", "/world-model?status=surviving")).items.map(({ text }) => text);
  assert.deepEqual(await held(), ["The user likes figs."]);

  await one.go("#/world");
  await one.page.getByRole("link", { name: "The user likes figs." }).click();
  await button(one, "Correct this").click();
  await one.page.getByLabel("What is so instead?").fill("The user likes dates.");
  await button(one, "Correct it").click();
  await one.axe("a correction to confirm");
  await button(one, "Yes, correct it").click();
  await status(one, /“The user likes dates.” is known now, on your word\.$/);
  await one.page.getByRole("complementary", { name: "Statement" }).getByText("The user likes dates.").first().waitFor();
  assert.deepEqual(await held(), ["The user likes dates."]);
  await button(one, "Correct this").click();
  await one.page.getByLabel("What is so instead?").fill("");
  await button(one, "Correct it").click();
  await button(one, "Yes, correct it").click();
  await status(one, "“The user likes dates.” is withdrawn, and not relied on any more.");
  assert.deepEqual(await held(), []);
  one.clean();
  await one.close();
});

test("a question that asks for values is a form, in the chat and in the inbox; what is missing is said before anything is sent", async () => {
  const one = await Watched.open(browser, server.url, "#/t/table");
  await say(one, "book a table");
  const card = one.page.getByRole("article", { name: "Question" });
  await card.getByLabel("name").fill("Ada");
  assert.equal(await card.getByText('"properties"').count(), 0);
  await card.getByLabel("guests").fill("three");
  await card.getByLabel("vegetarian").selectOption({ label: "yes" });
  await card.getByRole("button", { name: "Answer" }).click();
  await card.getByText("room is missing").waitFor();
  await card.getByLabel("room").selectOption("garden");
  await card.getByRole("button", { name: "Answer" }).click();
  await card.getByText("guests has to be a number").waitFor();
  await one.axe("a question as a form");
  await card.getByLabel("guests").fill("3");
  await card.getByRole("button", { name: "Answer" }).click();
  await card.getByText("You answered:").waitFor();
  const answer = (await server.call<Items<{ payload: { value?: unknown } }>>("GET", "/events?tags=answer&thread=table&limit=1")).items[0]!;
  assert.deepEqual(answer.payload.value, { name: "Ada", guests: 3, vegetarian: true, room: "garden" });

  await server.say("book a table again", "table");
  await one.go("#/inbox");
  const form = one.page.locator("article.one");
  await form.getByLabel("name").fill("Bo");
  await form.getByLabel("guests").fill("1");
  await form.getByLabel("vegetarian").selectOption({ label: "no" });
  await form.getByLabel("room").selectOption("street");
  await one.axe("a form in the inbox");
  await form.getByRole("button", { name: "Answer" }).click();
  await status(one, /^You answered:/);
  one.clean();
  await one.close();
});

test("a message that is sent from far above is gone to, and a reply that was stopped says how far it was kept", async () => {
  for (let n = 0; n < 12; n += 1) await server.say(`line ${n} of many, and as long as it has to be for a page that scrolls`, "scrolled");
  const one = await Watched.open(browser, server.url, "#/t/scrolled", { viewport: { width: 1280, height: 600 } });
  await one.sees("You said: line 11");
  await one.page.locator(".talk .scroll").evaluate((scroller) => (scroller.scrollTop = -scroller.scrollHeight));
  await button(one, "go to the end").waitFor();
  await say(one, "tell me slowly of the long wall that faces the south, and of all that ever grew before it");
  await one.page.waitForFunction(() => document.querySelector(".talk .scroll")!.scrollTop > -10);
  await one.page.waitForFunction(() => /tell me slowly/.test(document.querySelector<HTMLElement>(".said[aria-busy=true] .tx")?.innerText ?? ""));
  await button(one, /^Stop/).click();
  await one.sees("Stopped. What was said until then is stored.");
  await one.page.locator(".thoughts").getByText(/stopped, kept as far as it came/).waitFor();
  await one.go("#/t/scrolled/turn/13");
  await one.page.locator(".facts").getByText(/stopped, kept as far as it came/).waitFor();
  assert.equal(await one.page.locator(".facts").getByText("stored whole").count(), 0);
  one.clean();
  await one.close();
});

test("a worker that a person stopped is stopped, and not one that cannot go on", async () => {
  await server.call("POST", "/threads", { label: "worker", kind: "process", prompt: "Work slowly." });
  await server.call("POST", "/threads/worker/messages", { text: "go on slowly" });
  const thread = () => server.call<{ status: string; reason: string | null }>("GET", "/threads/worker");
  await until(async () => (await thread()).status === "thinking");
  await server.call("POST", "/threads/worker/cancel", {});
  await until(async () => (await thread()).reason);
  const one = await Watched.open(browser, server.url, "#/threads");
  await one.page.getByRole("row", { name: /worker.*stopped.*its last turn was stopped/ }).waitFor();
  assert.equal(await one.page.getByText(/cannot go on/).count(), 0);
  one.clean();
  await one.close();
});

test("on a phone the thoughts stand above the box, and Send stays free", async () => {
  await server.say("hello", "small");
  const one = await Watched.open(browser, server.url, "#/t/small", PHONE);
  await button(one, /^\d+ thoughts$/).click();
  const sheet = one.page.locator(".beside.sheet");
  await sheet.getByText("characters, stored whole").waitFor();
  await box(one).fill("written beside the thoughts");
  const [over, send] = [(await sheet.boundingBox())!, (await button(one, "Send").boundingBox())!];
  assert.ok(over.y + over.height <= send.y + 1, `${JSON.stringify(over)} over ${JSON.stringify(send)}`);
  await one.axe("thoughts on a phone");
  await button(one, "Send").click();
  await one.sees("You said: written beside the thoughts");
  one.clean();
  await one.close();
});

test("a name that is cut has the whole of it as a title; chats go by their first words at the top, too, with the id on hover", async () => {
  const words = "Tell me of the suppliers of twin-wall polycarbonate in the northern valley and of all that they ask for a plate of sixteen millimetres";
  const one = await Watched.open(browser, server.url, "#/t/main");
  await button(one, "New chat").first().click();
  await one.page.waitForURL(/#\/t\/chat-/);
  const id = decodeURIComponent(one.page.url().split("#/t/")[1]!);
  await say(one, words);
  await one.sees(`You said: ${words}`);
  assert.equal(await one.page.locator(".chat-row[aria-current] .ti").getAttribute("title"), words);
  assert.equal(await one.page.locator(".chat-bar h2").getAttribute("title"), `${words} (${id})`);
  const crumb = one.page.locator(".crumb");
  await crumb.getByText(/^Tell me of the suppliers/).waitFor();
  assert.equal(await crumb.getAttribute("title"), id);
  assert.ok(!(await one.page.locator(".app").innerText()).includes(id), "no id in the place of a title");
  const last = one.page.locator(".chat-row[aria-current] .la .ell").first();
  await last.hover();
  assert.match((await last.getAttribute("title"))!, /^You said: Tell me of the suppliers/);
  one.clean();
  await one.close();
});
