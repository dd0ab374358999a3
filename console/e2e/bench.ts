// What the console costs: npm run bench -- [EVENTS [MINUTES]]. On a log of so many events: first paint, the longest task and memory of the views that read it. Then, while
// events stream in for so many minutes: the longest task of each view, and memory every five minutes. Not a part of the checks.
import { launch, Watched } from "./browser.ts";
import { cost, scrollDown, told, watch } from "./measure.ts";
import { stream } from "./stream.ts";
import { seqName } from "../src/lib/format.ts";
import { Thinkd, until } from "./server.ts";

const events = Number(process.argv[2] ?? 1_000_000);
const minutes = Number(process.argv[3] ?? 3);
/** Pages that are opened with nothing of the console in the browser's cache. */
const EMPTY = 12;

const browser = await launch();
const server = new Thinkd({ THINKD_LIMITS__FRAMES_PER_SECOND: "2000" });
try {
  const begun = Date.now();
  server.fill(events);
  await server.start();
  await until(() => server.call("GET", "/events?q=number&limit=1").catch(() => undefined), 1_800_000);
  console.log(`${events} events written and indexed in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
  const paints: number[] = [];
  for (let n = 0; n < EMPTY; n += 1) {
    const fresh = await Watched.open(browser, server.url, "#/t/main", {}, (page) => watch(page));
    await fresh.sees("here is what I think of plan");
    paints.push((await cost(fresh.page)).firstPaint);
    await fresh.close();
  }
  const [first, ...others] = paints.map((ms) => ms.toFixed(0));
  console.log(`first paint with an empty cache (goal 300 ms): ${first} ms in a browser that has just started, then ${others.sort((a, b) => Number(a) - Number(b)).join(", ")} ms`);
  const one = await Watched.open(browser, server.url, "#/help");
  await watch(one.page);
  /** From an address to what it shows. */
  const open = async (hash: string, shows: string) => {
    await one.page.goto("about:blank");
    const from = Date.now();
    await one.page.goto(`${server.url}/console/${hash}`);
    await one.sees(shows);
    const ms = Date.now() - from;
    console.log(`${told(hash, await cost(one.page))}; there after ${ms} ms`);
  };
  const last = seqName(events);
  await open("#/t/main", "here is what I think of plan");
  await open("#/log", last);
  await open(`#/log/${events / 2}`, seqName(events / 2));
  await open("#/log?q=plan+number+321", "here is what I think of plan number 321");
  await open("#/t/main/turn/3", "Decided with");
  await open("#/usage", "Who asked");
  await open("#/log", last);
  const n = await scrollDown(one.page, 20_000);
  console.log(told(`#/log, ${n} events further down`, await cost(one.page)));

  await open("#/log", last);
  await stream(one, server, minutes);
} finally {
  await browser.close();
  await server.stop();
}
