// Pictures of the views for the documentation: npm run pictures [FOLDER [NAMES]]. With `anew` in the place of FOLDER the scene is acted once more first, and kept as
// e2e/scene.backup.gz: ids and times are others then. With NAMES only those that begin so. `looks.test.ts` compares the console with these pictures.
import { mkdirSync } from "node:fs";
import { Watched, launch } from "./browser.ts";
import { mission, stepOf } from "./mission.ts";
import { endpoint } from "./model.ts";
import { SETTINGS, act, keep, scene, shots, show, still, trial } from "./scene.ts";
import { Thinkd } from "./server.ts";
import { story } from "./story.ts";

const anew = process.argv[2] === "anew";
const folder = anew || process.argv[2] === undefined ? new URL("../../docs/console", import.meta.url).pathname : process.argv[2];
const names = process.argv[3] ?? "";
mkdirSync(folder, { recursive: true });
const told = story(1);
const model = await endpoint(async (asked) => {
  // The glazing is being compared until the mission rests.
  if (stepOf(asked) === "solve" && /Route: .*Compute both/.test(asked.prompt)) await new Promise(() => {});
  return trial(asked) ?? (stepOf(asked) ? mission(asked, 100) : told(asked));
});
const speaks = { ...SETTINGS, OPENAI_BASE_URL: model.url };
const browser = await launch();
const servers: Thinkd[] = [];
try {
  if (anew) {
    const first = await new Thinkd(speaks).start();
    servers.push(first);
    await act(first);
    keep(first);
  }
  const server = await scene();
  servers.push(server);
  for (const shot of (await shots(server)).filter(({ name }) => name.startsWith(names))) {
    const one = await still(browser, server, shot.options);
    await show(one, shot);
    await one.page.waitForTimeout(900);
    await one.page.screenshot({ path: `${folder}/${shot.name}.png` });
    one.clean();
    await one.close();
  }
  if (!names) {
    const lively = await scene(speaks);
    servers.push(lively);
    await live(lively);
  }
} finally {
  await browser.close();
  for (const server of servers) await server.stop();
  await model.close();
}

/** While something is written. */
async function live(server: Thinkd): Promise<void> {
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
