// Pictures of the views for the documentation: npm run pictures [FOLDER [NAMES]]. The same story each time; times and ids differ. With NAMES only those
// that begin so.
import { mkdirSync } from "node:fs";
import { Watched, launch } from "./browser.ts";
import { WANTED, mission, stepOf } from "./mission.ts";
import { endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";
import { story } from "./story.ts";

const folder = process.argv[2] ?? new URL("../../docs/console", import.meta.url).pathname;
const names = process.argv[3] ?? "";
mkdirSync(folder, { recursive: true });
const told = story(1);
const model = await endpoint(async (asked) => {
  // The glazing is being compared for as long as pictures are taken.
  if (stepOf(asked) === "solve" && /Route: .*Compute both/.test(asked.prompt)) await new Promise(() => {});
  return stepOf(asked) ? mission(asked, 100) : told(asked);
});
const server = new Thinkd({ THINKD_MODEL: "qwen3:4b", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_TURN__SUBMODULE_TIMEOUT_MS: "2500", THINKD_TOOLS__APPROVAL: '["state_put"]' });
const browser = await launch();
try {
  await server.start();
  for (const name of ["frugal", "botanist"]) await server.call("POST", "/submodules", { name, prompt: `You are ${name}. Say what a ${name} would say.` });
  await server.say("What does it cost to keep a small greenhouse frost-free with an electric heater?");
  await server.say("Is it free of permit?");
  await server.say("Which plants do you mean?");
  for (const statement of ["16 mm twin-wall has a U value of 1.9", "Citrus dies below 7 °C", "A lean-to of 12 m² is free of permit"]) await server.call("POST", "/world-model", { statement });
  for (const label of ["suppliers", "heating"]) await server.call("POST", "/threads", { label, kind: "process", title: label, prompt: `Look after ${label}.` });
  await server.say("We have 3 by 4 m against the south wall and about €2,400. Can it stay above 5 °C all winter, and what would you build first?");
  const late = (await server.call<{ items: { seq: number }[] }>("GET", "/events?tags=late&limit=1")).items[0]!.seq;
  const call = (await server.call<{ items: { event_id: string; payload: { module?: string } }[] }>("GET", "/events?tags=debug&limit=60")).items.find((event) => event.payload.module === "submodule:memory")!.event_id;
  const { id } = await server.call<{ id: string }>("POST", "/frameworks", { name: "heat loss by U value", purpose: "heat loss of a building", knowledge: ["Sum area times U."] });
  for (const [by, worked] of [[true, true], [true, true], [true, false], [false, false]]) await server.call("POST", `/frameworks/${id}/outcomes`, { with: by, worked, task: "the lean-to" });
  const greenhouse = (await server.call<{ id: string }>("POST", "/threads", { kind: "mission", mission: WANTED, value: "high" })).id;
  await server.call("POST", "/threads", { kind: "mission", mission: "Order five talks of 30 to 90 minutes so that none clash.", value: "low" });
  await until(async () => (await server.call<{ items: { thread: string }[] }>("GET", "/questions")).items.some(({ thread }) => thread === greenhouse));
  const asked = (await server.call<{ items: { thread: string; question_id: string }[] }>("GET", "/questions")).items.find(({ thread }) => thread === greenhouse)!;
  await server.call("POST", `/questions/${asked.question_id}`, { text: "citrus" });
  await until(async () => (await server.call<{ items: unknown[] }>("GET", `/events?thread=${greenhouse}.t6&tags=judged`)).items.length > 0);
  const all: [string, string, Parameters<typeof Watched.open>[3]][] = [
    ["chat", "#/t/main", {}],
    ["chat-light", "#/t/main", { colorScheme: "light" }],
    ["chat-phone", "#/t/main", { viewport: { width: 390, height: 844 }, hasTouch: true }],
    ["live", `#/t/main/turn/4?at=${late}`, {}],
    ["live-light", "#/t/main/turn/4", { colorScheme: "light" }],
    ["live-phone", "#/t/main/turn/4", { viewport: { width: 390, height: 844 }, hasTouch: true }],
    ["log", `#/log/${late}`, {}],
    ["threads", "#/t/main/about", {}],
    ["inbox", "#/inbox", {}],
    ["voices", "#/voices/botanist", {}],
    ["pipelines", "#/pipelines", {}],
    ["missions", `#/missions/${greenhouse}/task/t6`, {}],
    ["missions-board", `#/missions/${greenhouse}?show=board`, { colorScheme: "light" }],
    ["missions-list", "#/missions", {}],
    ["missions-phone", `#/missions/${greenhouse}`, { viewport: { width: 390, height: 844 }, hasTouch: true }],
    ["world", "#/world", {}],
    ["usage", "#/usage", {}],
    ["prompt", `#/call/${call}`, {}],
    ["help", "#/help", {}],
  ];
  for (const [name, hash, options] of all.filter(([name]) => name.startsWith(names))) {
    const one = await Watched.open(browser, server.url, hash, { colorScheme: "dark", ...options });
    await one.sees(/live, no gap/);
    await one.page.waitForTimeout(900);
    await one.page.screenshot({ path: `${folder}/${name}.png` });
    one.clean();
    await one.close();
  }
  if (!names) await live();
} finally {
  await browser.close();
  await server.stop();
  await model.close();
}

/** While something is written. */
async function live(): Promise<void> {
  const one = await Watched.open(browser, server.url, "#/t/main", { colorScheme: "dark" });
  await one.page.getByLabel("Say something to main").fill("And slowly, from April on: could the greenhouse do without any heating in winter?");
  await one.page.keyboard.press("Enter");
  await one.page.locator(".said[aria-busy=true] .caret").waitFor({ state: "attached" });
  await one.page.waitForTimeout(2_500);
  await one.page.screenshot({ path: `${folder}/chat-live.png` });
  await one.go("#/live");
  await one.sees("at work");
  await one.page.waitForTimeout(600);
  await one.page.screenshot({ path: `${folder}/live-now.png` });
  await one.close();
}
