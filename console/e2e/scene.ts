// The scene of the pictures: the story of the greenhouse with a mission, statements and threads, acted once by `pictures.ts` and kept as a backup. From there it
// comes back the same to the byte, ids and times with it, so that two pictures of it can be compared.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { Browser, BrowserContextOptions } from "playwright-core";
import type { AnyEvent } from "../src/lib/events.ts";
import { Watched } from "./browser.ts";
import { WANTED } from "./mission.ts";
import type { Answer, Asked } from "./model.ts";
import { Thinkd, until } from "./server.ts";

const FILE = new URL("scene.backup.gz", import.meta.url).pathname;
/** What the scene is seen at: so long after its last event. */
const LATER = 20_000;

type Items<T> = { items: T[] };

/** What its servers are set to. Nobody is asked while it is looked at, and statements that came to nothing are not tried again. */
export const SETTINGS = { THINKD_MODEL: "qwen3:4b", OPENAI_BASE_URL: "http://127.0.0.1:9/v1", OPENAI_API_KEY: "x", THINKD_TURN__SUBMODULE_TIMEOUT_MS: "2500", THINKD_TOOLS__APPROVAL: '["state_put"]', THINKD_TEST_MEMORY__RETRY_MS: "31536000000" };

/** The claims of the scene: what follows from each, and the verdict of a model that looks for a counterexample. */
const CLAIMS = [
  { claim: "16 mm twin-wall has a U value of 1.9", edge: ["16 mm twin-wall", "has a U value of", "1.9"], follows: "The data sheet of a 16 mm twin-wall plate names a U value between 1.8 and 2.0.", answer: "holds", reason: "Data sheets of three makers name 1.8 to 2.0." },
  { claim: "Citrus dies below 7 °C", edge: ["citrus", "dies below", "7 °C"], follows: "A lemon tree that stood a night at 5 °C is dead.", answer: "refuted", reason: "Lemon trees outlive short frosts of 3 °C." },
  { claim: "A lean-to of 12 m² is free of permit", edge: ["a lean-to of 12 m²", "is", "free of permit"], follows: "The building office asks for no plan of a lean-to of 12 m².", answer: "unknown", reason: "It depends on the country, and none is named." },
] as const;

/** The answer to a question of a trial; none: it is another question. */
export function trial({ prompt, tools }: Asked): Answer | undefined {
  const claim = CLAIMS.find(({ claim, follows }) => prompt.includes(JSON.stringify(tools[0] === "derive" ? claim : follows)));
  const [subject, relation, object] = claim?.edge ?? [];
  const call = (name: string, args: Record<string, unknown>): Answer => ({ calls: [{ name, arguments: args }] });
  if (claim && tools[0] === "derive") {
    const prediction = { text: claim.follows, fails_if: "It is not so.", search: null, code: null, question: null, subject: null, relation: null, object: null };
    return call("derive", { is_claim: true, why: null, subject, relation, object, single_valued: true, valid_from: null, valid_to: null, predictions: [prediction] });
  }
  if (claim && tools[0] === "reflect") return call("reflect", { answer: claim.answer, reason: claim.reason, later_object: null, later_from: null });
}

/** Acts the scene on a new server. */
export async function act(server: Thinkd): Promise<void> {
  for (const name of ["memory", "warmth", "frugal", "botanist"]) await server.call("POST", "/submodules", { name, prompt: `You are ${name}. Say what a ${name} would say.` });
  await server.say("What does it cost to keep a small greenhouse frost-free with an electric heater?");
  await server.say("Is it free of permit?");
  await server.say("Which plants do you mean?");
  for (const { claim } of CLAIMS) {
    const { id } = await server.call<{ id: string }>("POST", "/world-model", { statement: claim });
    await until(async () => {
      const { verdicts, reason } = await server.call<{ verdicts: object[]; reason: string | null }>("GET", `/world-model/${id}`);
      return verdicts.length > 0 || reason;
    });
  }
  for (const label of ["suppliers", "heating"]) await server.call("POST", "/threads", { label, kind: "process", title: label, prompt: `Look after ${label}.` });
  await server.say("We have 3 by 4 m against the south wall and about €2,400. Can it stay above 5 °C all winter, and what would you build first?");
  const { id } = await server.call<{ id: string }>("POST", "/frameworks", { name: "heat loss by U value", purpose: "heat loss of a building", knowledge: ["Sum area times U."] });
  for (const [by, worked] of [[true, true], [true, true], [true, false], [false, false]]) await server.call("POST", `/frameworks/${id}/outcomes`, { with: by, worked, task: "the lean-to" });
  const greenhouse = (await server.call<{ id: string }>("POST", "/threads", { kind: "mission", mission: WANTED, value: "high" })).id;
  const talks = (await server.call<{ id: string }>("POST", "/threads", { kind: "mission", mission: "Order five talks of 30 to 90 minutes so that none clash.", value: "low" })).id;
  const asked = async () => (await server.call<Items<{ thread: string; question_id: string }>>("GET", "/questions")).items.find(({ thread }) => thread === greenhouse);
  await until(asked);
  await server.call("POST", `/questions/${(await asked())!.question_id}`, { text: "citrus" });
  await until(async () => (await server.call<Items<unknown>>("GET", `/events?thread=${greenhouse}.t6&tags=judged`)).items.length > 0);
  for (const mission of [greenhouse, talks]) await server.call("POST", `/threads/${mission}/pause`, {});
  let head = -1;
  await until(async () => {
    const before = head;
    await new Promise((done) => setTimeout(done, 1_500));
    head = (await newest(server)).seq;
    return head === before;
  });
}

const newest = async (server: Thinkd) => (await server.call<Items<AnyEvent>>("GET", "/events?limit=1&debug=true")).items[0]!;

/** Keeps what a server has as the scene. */
export function keep(server: Thinkd): void {
  const copy = join(server.folder, "scene.backup");
  server.run("backup", copy);
  writeFileSync(FILE, gzipSync(readFileSync(copy), { level: 9 }));
}

/** A server with the scene, in which nothing goes on. */
export async function scene(settings: Record<string, string> = {}): Promise<Thinkd> {
  const server = new Thinkd({ ...SETTINGS, ...settings });
  const copy = join(server.folder, "scene.backup");
  writeFileSync(copy, gunzipSync(readFileSync(FILE)));
  server.run("restore", copy);
  await server.start();
  // Pictures show what the check of the log said: a fast machine would be there before.
  await until(async () => (await server.call<{ checked: unknown }>("GET", "/readyz?full=true")).checked);
  return server;
}

/** A picture: its name in docs/console, its address, what is to be seen in it, and how wide and in which theme. */
export interface Shot {
  name: string;
  hash: string;
  shows: string | RegExp;
  options: BrowserContextOptions;
}

const DARK: BrowserContextOptions = {};
const LIGHT: BrowserContextOptions = { colorScheme: "light" };
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 844 }, hasTouch: true };

/** All pictures of the scene. */
export async function shots(server: Thinkd): Promise<Shot[]> {
  const late = (await server.call<Items<AnyEvent>>("GET", "/events?tags=late&limit=1")).items[0]!.seq;
  const calls = (await server.call<Items<AnyEvent>>("GET", "/events?tags=call:submodule:memory&debug=true&limit=1")).items;
  const missions = (await server.call<Items<{ id: string; mission?: { text: string } | null }>>("GET", "/threads?limit=500")).items.filter(({ mission }) => mission);
  const greenhouse = missions.map(({ id }) => id).sort()[0]!;
  const shot = (name: string, hash: string, shows: Shot["shows"], options = DARK): Shot => ({ name, hash, shows, options });
  return [
    shot("chat", "#/t/main", "I would build in this order"),
    shot("chat-light", "#/t/main", "I would build in this order", LIGHT),
    shot("chat-phone", "#/t/main", "I would build in this order", PHONE),
    shot("live", `#/t/main/turn/4?at=${late}`, "Decided with"),
    shot("live-light", "#/t/main/turn/4", "Decided with", LIGHT),
    shot("live-phone", "#/t/main/turn/4", "Decided with", PHONE),
    shot("log", `#/log/${late}`, "botanist, late"),
    shot("threads", "#/t/main/about", "Used so far"),
    shot("inbox", "#/inbox", "What runs"),
    shot("voices", "#/voices/botanist?span=30 d", "Last words"),
    shot("pipelines", "#/pipelines", "summary"),
    shot("missions", `#/missions/${greenhouse}/task/t6`, "Compute both"),
    shot("missions-board", `#/missions/${greenhouse}?show=board`, "To come", LIGHT),
    shot("missions-list", "#/missions", "heat loss by U value"),
    shot("missions-phone", `#/missions/${greenhouse}`, "Glazing choice", PHONE),
    shot("world", "#/world", "16 mm twin-wall"),
    shot("usage", "#/usage", "Who asked"),
    shot("prompt", `#/call/${calls[0]!.event_id}`, "rebuilt byte for byte"),
    shot("help", "#/help", "Textures of the timeline"),
  ];
}

/** Opens a page on the scene, as pictures with these options want it; time stands still in it. */
export async function still(browser: Browser, server: Thinkd, options: BrowserContextOptions): Promise<Watched> {
  const now = Date.parse((await newest(server)).ts) + LATER;
  const one = await Watched.open(browser, server.url, "", { colorScheme: "dark", timezoneId: "UTC", locale: "en-US", ...options }, (page) => page.clock.setFixedTime(now));
  await one.sees(/up to date/);
  return one;
}

/** Goes to what a picture is of. */
export async function show(one: Watched, shot: Shot): Promise<void> {
  await one.go(shot.hash);
  await one.sees(shot.shows);
  await one.page.evaluate(() => document.fonts.ready.then(() => undefined));
}
