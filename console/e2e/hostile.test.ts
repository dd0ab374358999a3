// Hostile text in every field, tokens and roles: what is planted runs nowhere, and who may only look cannot act.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { stepOf } from "./mission.ts";
import { type Answer, type Asked, endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

const PLANT = `<img src=x onerror="window.planted=1"><script>window.planted=1</script><svg onload="window.planted=1"></svg>`;
const MORE = `${PLANT} [click](javascript:window.planted=1) **[x](data:text/html,<script>window.planted=1</script>)** \u202eright to left\u0000\u001b[31m`;

const STEPS: Record<string, Record<string, unknown>> = {
  decompose: { tasks: [1, 2].map((n) => ({ name: `${n} ${PLANT}`, description: `${n} ${MORE}`, requires: n === 2 ? [1] : [], value: null, brought_by: [PLANT] })) },
  consider: { split: false, split_why: PLANT, split_estimate: 0, question: null, routes: [{ name: PLANT, how: MORE, estimate: 0.5 }], check: "rubric", program: null, query: null, rubric: MORE },
  solve: { thought: MORE, answer: MORE, program: null },
  judge: { passes: true, why: MORE },
  answer: { answer: MORE },
};

/** Everything that a model can write is planted. */
function planted(asked: Asked): Answer {
  const step = stepOf(asked);
  if (step) return { calls: [{ name: step, arguments: STEPS[step]! }] };
  if (asked.voice) return { text: `${asked.voice}: ${MORE}` };
  if (/remember/.test(asked.said) && !/call state_put/.test(asked.prompt)) return { calls: [{ name: "state_put", arguments: { key: "k", content: PLANT, related_keys: [PLANT] } }] };
  if (/ask me/.test(asked.said) && !/call ask_user/.test(asked.prompt)) return { calls: [{ name: "ask_user", arguments: { question: PLANT, choices: [PLANT, "b"], schema: null, who: null, expires_s: null } }] };
  if (/search/.test(asked.said) && !/call state_search/.test(asked.prompt)) return { calls: [{ name: "state_search", arguments: { query: PLANT, limit: 3 } }] };
  return { calls: [{ name: "reply", arguments: { text: MORE } }] };
}

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
let mission: string;
before(async () => {
  browser = await launch();
  model = await endpoint(planted);
  server = new Thinkd({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_TOOLS__APPROVAL: '["state_put"]' });
  await server.start();
  await server.call("POST", "/submodules", { name: "owl", prompt: `You are owl. ${MORE.replaceAll("\u0000", "")}` });
  for (const text of [`remember ${PLANT}`, `ask me ${PLANT}`, `search ${PLANT}`, "x".repeat(60_000)]) await server.say(text);
  await server.call("POST", "/threads", { label: "victim", kind: "process", title: PLANT.slice(0, 60), prompt: PLANT });
  await server.call("POST", "/world-model", { statement: PLANT, quote: PLANT });
  mission = (await server.call<{ id: string }>("POST", "/threads", { kind: "mission", mission: PLANT })).id;
  await server.call("POST", "/frameworks", { name: PLANT.slice(0, 60), purpose: PLANT, knowledge: [PLANT] });
  await until(async () => (await server.call<{ status: string }>("GET", `/threads/${mission}`)).status === "done");
  await server.call("POST", "/schedules", { name: "plant", note: PLANT.slice(0, 100), when: { kind: "daily", time: "07:30", zone: "Europe/Berlin" } });
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
});

test("a script planted in every text field runs nowhere", async () => {
  const one = await Watched.open(browser, server.url, "#/t/main");
  await one.sees(/right to left/);
  const log = await server.call<{ items: { seq: number; event_id: string; meta: { tags: string[] } }[] }>("GET", "/events?limit=500&order=asc");
  const calls = await server.call<{ items: { event_id: string }[] }>("GET", "/events?limit=3&tags=debug");
  const statement = (await server.call<{ items: { id: string }[] }>("GET", "/world-model")).items[0]!;
  const gates = [...(await server.call<{ items: { approval_id: string }[] }>("GET", "/approvals")).items.map((item) => item.approval_id), ...(await server.call<{ items: { question_id: string }[] }>("GET", "/questions")).items.map((item) => item.question_id)];
  assert.equal(gates.length, 2);
  const places = ["#/t/main", "#/live", "#/live?span=5m", "#/live?span=1h", "#/threads", "#/t/victim/about", "#/pipelines", "#/missions", `#/missions/${mission}/task/t2`, `#/missions/${mission}/task/t1?show=board`, `#/missions/${encodeURIComponent(PLANT)}`, "#/voices/owl", "#/usage", "#/inbox?show=schedules", "#/log?raw=1", `#/log?q=${encodeURIComponent("<img src=x onerror=window.planted=1>")}`, `#/log?thread=${encodeURIComponent(PLANT)}`, `#/world/${statement.id}`, `#/world?mood=victim&around=${encodeURIComponent(PLANT)}`, `#/recall?q=${encodeURIComponent(PLANT)}`, `#/${PLANT}`, `#/t/${encodeURIComponent(PLANT)}`, ...gates.map((id) => `#/inbox/${id}`), ...calls.items.map(({ event_id: id }) => `#/call/${id}`), ...log.items.slice(-12).map(({ seq }) => `#/log/${seq}`)];
  // A thread or a text that is none is refused by the server, and the console shows that.
  one.quiet = true;
  for (const place of places) {
    await one.go(place);
    await one.page.waitForTimeout(250);
    assert.equal(await one.page.evaluate(() => (window as { planted?: number }).planted), undefined, place);
    assert.equal(await one.page.locator("main img[src=x], main script, main [onerror], main [onload]").count(), 0, place);
  }
  assert.deepEqual(one.wrong.filter((what) => !what.startsWith("console:")), []);
  await one.close();
});

test("the control: without the console's care the same text does run", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.setContent(`<main>${PLANT}</main>`);
  await page.waitForFunction(() => (window as { planted?: number }).planted === 1);
  await context.close();
});

test("a token is asked for, kept out of the address, and gone with the page unless it is to be kept", async () => {
  const locked = new Thinkd({ THINKD_TOKEN: "open sesame 0123456789abcdef" });
  await locked.start();
  try {
    const one = await Watched.open(browser, locked.url, "#/t/main");
    one.quiet = true;
    await one.sees("This server asks for a key");
    await one.axe("the prompt for a token");
    await one.page.getByRole("textbox", { name: "Key", exact: true }).fill("wrong");
    await one.page.keyboard.press("Enter");
    await one.sees("This server asks for a key");
    await one.page.getByRole("textbox", { name: "Key", exact: true }).fill("open sesame 0123456789abcdef");
    await one.page.keyboard.press("Enter");
    await one.sees("up to date");
    await one.sees("Nothing has been said in main yet");
    assert.ok(!one.page.url().includes("sesame"));
    assert.equal(await one.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]).includes("sesame")), false);
    await one.page.reload();
    await one.sees("This server asks for a key");
    await one.page.getByRole("textbox", { name: "Key", exact: true }).fill("open sesame 0123456789abcdef");
    await one.page.getByText("keep it until this tab is closed").click();
    await one.page.getByRole("button", { name: "Open" }).click();
    await one.sees("up to date");
    await one.page.reload();
    await one.sees("up to date");
    await one.close();
  } finally {
    await locked.stop();
  }
});

test("who may only look sees no button that acts", async () => {
  const { writeFileSync } = await import("node:fs");
  const shared = new Thinkd({});
  writeFileSync(`${shared.folder}/thinkd.toml`, `[[keys]]\nkey = "viewer-0123456789abcdef0123"\nspace = "default"\nrole = "viewer"\n[[keys]]\nkey = "member-0123456789abcdef0123"\nspace = "default"\nrole = "member"\n`);
  await shared.start();
  try {
    const headers = { "content-type": "application/json", authorization: "Bearer member-0123456789abcdef0123" };
    assert.ok((await fetch(`${shared.url}/threads/main/messages?wait=60`, { method: "POST", headers, body: '{"text":"of a member"}' })).ok);
    const one = await Watched.open(browser, shared.url, "#/t/main");
    one.quiet = true;
    await one.sees("This server asks for a key");
    await one.page.getByRole("textbox", { name: "Key", exact: true }).fill("viewer-0123456789abcdef0123");
    await one.page.keyboard.press("Enter");
    await one.sees("This key may look, and not speak");
    await one.page.locator(".said.mind .turnline").first().waitFor();
    assert.equal(await one.page.getByRole("button", { name: /^Edit|^Ask again/ }).count(), 0);
    await one.go("#/threads");
    await one.sees("waits for");
    assert.equal(await one.page.getByRole("button", { name: "New thread" }).count(), 0);
    await one.go("#/voices");
    await one.page.waitForTimeout(300);
    assert.equal(await one.page.getByRole("button", { name: "Add a submodule" }).count(), 0);
    await one.close();
  } finally {
    await shared.stop();
  }
});

test("another log behind the same address: the page says so, and shows nothing of the old one", async () => {
  const { rmSync, readdirSync } = await import("node:fs");
  const restored = new Thinkd({});
  await restored.start();
  try {
    await restored.say("only in the old log");
    const one = await Watched.open(browser, restored.url, "#/t/main");
    one.quiet = true;
    await one.sees("only in the old log");
    await restored.kill();
    for (const name of readdirSync(restored.folder)) rmSync(`${restored.folder}/${name}`, { recursive: true });
    await restored.start();
    await one.sees("The log is another one than before");
    await one.sees("Nothing has been said in main yet");
    assert.equal(await one.page.getByText("only in the old log").count(), 0);
    await restored.say("only in the new log");
    await one.sees("only in the new log");
    await one.sees("up to date");
    await one.close();
  } finally {
    await restored.stop();
  }
});
