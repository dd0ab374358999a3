// Missions in a browser, against the real server: seen, and acted on while they run.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import type { Task } from "../src/lib/missions.ts";
import { Watched, launch } from "./browser.ts";
import { WANTED, mission, stepOf, taskIn } from "./mission.ts";
import { endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

/** Answers of these tasks are held back until they are let go. */
const gates = new Map<string, { opened: Promise<void>; open: () => void }>();
function hold(...names: string[]): void {
  for (const name of names) {
    let open = () => {};
    const opened = new Promise<void>((done) => (open = done));
    gates.set(name, { opened, open });
  }
}
function letGo(): void {
  for (const { open } of gates.values()) open();
  gates.clear();
}

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;
before(async () => {
  browser = await launch();
  model = await endpoint(async (asked) => {
    if (stepOf(asked) === "solve") await gates.get(taskIn(asked))?.opened;
    return mission(asked, 10);
  });
  server = new Thinkd({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_MISSION__WIDTH: "2" });
  await server.start();
  const { id } = await server.call<{ id: string }>("POST", "/frameworks", { name: "heat loss by U value", purpose: "heat loss of a building", knowledge: ["Sum area times U."] });
  for (const [by, worked] of [[true, true], [true, true], [true, false], [false, false]]) await server.call("POST", `/frameworks/${id}/outcomes`, { with: by, worked, task: "the lean-to" });
});
after(async () => {
  letGo();
  await browser?.close();
  await server?.stop();
  await model?.close();
});

const begin = async (more: object = {}) => (await server.call<{ id: string }>("POST", "/threads", { kind: "mission", mission: WANTED, value: "low", ...more })).id;
const tasksOf = async (id: string) => (await server.call<{ items: Task[] }>("GET", `/threads/${id}/tasks?limit=100`)).items;
const statusOf = async (id: string) => (await server.call<{ status: string }>("GET", `/threads/${id}`)).status;

test("a mission is given in the page, and seen to its answer: list, graph, board, routes against outcome, check, thoughts", async () => {
  const one = await Watched.open(browser, server.url, "#/missions");
  await one.sees("No mission yet");
  await one.sees("2 of 3");
  await one.page.getByRole("button", { name: "Start a mission" }).click();
  await one.page.getByLabel("what is wanted").fill(WANTED);
  await one.page.getByLabel("what it is worth").selectOption("high");
  await one.axe("giving a mission");
  await one.page.getByRole("button", { name: "Start it" }).click();
  await one.page.getByRole("link", { name: /t6 Glazing choice/ }).waitFor();
  await one.sees("Which plants stay over winter?");
  await one.page.getByRole("link", { name: /t4 Which plants/ }).getByText("waits for you").waitFor();
  await one.page.getByLabel("Answer").fill("citrus");
  await one.page.getByRole("button", { name: "Answer" }).click();
  await one.sees("Build the frame first, then 16 mm twin-wall.");
  await one.sees("7 of 7 done");
  await one.page.getByRole("link", { name: /t6 Glazing choice/ }).click();
  const drawer = one.page.getByRole("complementary", { name: "Task t6" });
  await drawer.locator(".way", { hasText: /Ask the climate table.*80 %.*2 calls.*failed.*knows no 32 mm/ }).waitFor();
  await drawer.locator(".way", { hasText: /Compute both.*55 %.*2 calls.*passed/ }).waitFor();
  await drawer.getByText("It says what was found, and where.").first().waitFor();
  await drawer.getByText("t6 passes, by rubric").first().waitFor();
  await drawer.getByText("t6 tried Compute both, compare over ten winters (low)").waitFor();
  await one.page.getByRole("button", { name: "Board" }).click();
  await one.page.getByRole("region", { name: "Done" }).getByText("t6 Glazing choice").waitFor();
  assert.ok(one.page.url().endsWith("/task/t6?show=board"), one.page.url());
  one.clean();
  await one.close();
});

for (const [theme, width] of [["dark", 1440], ["light", 1440], ["dark", 390]] as const) {
  test(`missions, ${theme}, ${width} wide: axe finds nothing, and nothing is too wide`, async () => {
    const [{ id }] = (await server.call<{ items: [{ id: string }] }>("GET", "/threads?kind=mission&limit=1")).items;
    const one = await Watched.open(browser, server.url, "#/missions", { colorScheme: theme, viewport: { width, height: 900 }, hasTouch: width < 700 });
    for (const [hash, words] of [["#/missions", "Frameworks"], [`#/missions/${id}`, "t6 Glazing choice"], [`#/missions/${id}?show=board`, "t6 Glazing choice"], [`#/missions/${id}/task/t6`, "Ask the climate table"]] as const) {
      await one.go(hash);
      await one.sees(words);
      await one.axe(`${hash} (${theme}, ${width})`);
      assert.ok((await one.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `${hash} is too wide`);
    }
    one.clean();
    await one.close();
  });
}

test("while a mission runs a task is changed, is given one more that it needs, is moved and skipped; a circle is refused in words", async () => {
  hold("Coldest nights", "Wall and sun");
  const id = await begin();
  const one = await Watched.open(browser, server.url, `#/missions/${id}/task/t7`);
  one.quiet = true; // A refused circle is a 422 in the console of the page.
  const drawer = one.page.getByRole("complementary", { name: "Task t7" });
  await drawer.getByRole("button", { name: "Change it" }).click();
  await drawer.getByLabel("what is to be done").fill("List what to order, dearest first.");
  await drawer.getByRole("checkbox", { name: /t4/ }).check();
  await one.axe("changing a task");
  await drawer.getByRole("button", { name: "Save" }).click();
  await drawer.getByText("List what to order, dearest first.").waitFor();
  await drawer.getByRole("link", { name: /t4 Which plants/ }).waitFor();
  assert.deepEqual((await tasksOf(id)).find((task) => task.id === "t7")!.tasks_required, ["t3", "t4", "t6"]);
  // t7 needs t6: t6 cannot need t7.
  await one.go(`#/missions/${id}/task/t6`);
  const other = one.page.getByRole("complementary", { name: "Task t6" });
  await other.getByRole("button", { name: "Change it" }).click();
  await other.getByRole("checkbox", { name: /t7/ }).check();
  await other.getByRole("button", { name: "Save" }).click();
  await other.getByText(/t6 → t7 → t6|t7 → t6 → t7/).waitFor();
  await other.getByRole("button", { name: "Leave it" }).click();
  await other.getByRole("button", { name: "Earlier" }).click();
  await until(async () => {
    const rank = Object.fromEntries((await tasksOf(id)).map((task) => [task.id, task.rank]));
    return rank.t6! < rank.t5!;
  });
  await other.getByRole("button", { name: "Skip" }).click();
  await other.getByRole("button", { name: "Skip it and its parts" }).click();
  await one.page.getByRole("link", { name: /t6 Glazing choice/ }).getByText("skipped").waitFor();
  assert.equal((await tasksOf(id)).find((task) => task.id === "t6")!.reason, "skipped");
  letGo();
  await until(async () => (await statusOf(id)) === "done");
  await one.sees("The heater can wait.");
  assert.deepEqual(one.wrong, []);
  await one.close();
});

test("a mission is paused, rests, goes on, and is cancelled for good", async () => {
  hold("Coldest nights", "Wall and sun");
  const id = await begin();
  const one = await Watched.open(browser, server.url, `#/missions/${id}`);
  await one.page.getByRole("link", { name: /t1 Coldest nights/ }).getByText("in work").waitFor();
  await one.page.getByRole("button", { name: "Pause" }).click();
  await one.sees("paused");
  assert.equal(await statusOf(id), "waiting");
  await one.page.getByRole("button", { name: "Go on" }).click();
  await one.page.getByRole("button", { name: "Pause" }).waitFor();
  await one.page.getByRole("button", { name: "Cancel" }).click();
  await one.page.getByRole("button", { name: "Cancel it, for good" }).click();
  await one.page.locator(".bar").getByText("stopped").waitFor();
  assert.equal(await statusOf(id), "stopped");
  assert.equal(await one.page.getByRole("button", { name: "Pause" }).count(), 0);
  letGo();
  one.clean();
  await one.close();
});

/** Whether the committed contract knows missions whose plan is shown first. */
const contract = JSON.parse(readFileSync(new URL("../../openapi/openapi.json", import.meta.url), "utf8")) as { components: { schemas: { Plan?: { enum?: string[] } } } };
const plans = contract.components.schemas.Plan?.enum?.includes("ask") ?? false;
test("a mission whose plan is to be seen first waits for a yes, and begins with it", { skip: plans ? false : "the contract has no plan to ask for" }, async () => {
  const one = await Watched.open(browser, server.url, "#/missions");
  await one.page.getByRole("button", { name: "Start a mission" }).click();
  await one.page.getByLabel("what is wanted").fill(WANTED);
  await one.page.getByLabel("what it is worth").selectOption("low");
  await one.page.getByLabel(/show the plan first/).check();
  await one.page.getByRole("button", { name: "Start it" }).click();
  await one.sees("Its plan waits for a yes");
  await one.sees("waits for you");
  await one.axe("a plan that waits");
  await one.page.getByRole("link", { name: "Look at it" }).click();
  await one.sees("Coldest nights");
  const asked = new URL(one.page.url()).hash;
  await one.page.getByRole("button", { name: /^Approve/ }).click();
  // What was settled is left for the next one that waits, or for none: the page goes there by itself.
  await one.page.waitForURL((url) => url.hash !== asked);
  await one.go("#/missions");
  await one.page.getByRole("link", { name: /A greenhouse of 12/ }).first().click();
  await one.page.getByRole("link", { name: /t7 Order list/ }).waitFor();
  one.clean();
  await one.close();
});

test("a mission that is not there, and a task: each is said of itself alone", async () => {
  const id = await begin();
  await until(async () => (await tasksOf(id)).length > 0);
  const one = await Watched.open(browser, server.url, "#/missions/x");
  one.quiet = true;
  const alert = one.page.getByRole("alert");
  await alert.filter({ hasText: /\bx\b/ }).waitFor();
  await one.go(`#/missions/${id}`);
  await one.page.locator(".task-box").first().waitFor();
  assert.equal(await alert.count(), 0, "what is wrong with another one is not said of this one");
  await one.go("#/missions/y");
  await alert.filter({ hasText: /\by\b/ }).waitFor();
  await one.go(`#/missions/${id}/task/t99`);
  await one.sees("There is no task t99 in this mission.");
  await one.axe("a task that is not there");
  await server.call("POST", `/threads/${id}/cancel`);
  await one.close();
});
