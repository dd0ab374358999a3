// A page while a mind is busy: 200 events a second stream in, and every view is looked at in turn. How long its tasks are, and whether its memory stays.
import { loadavg } from "node:os";
import type { Page } from "playwright-core";
import type { Watched } from "./browser.ts";
import { heap } from "./measure.ts";
import type { Thinkd } from "./server.ts";

/** Every 100 ms so many inputs that only wake, and every fifth time a message to one of twenty threads: some 200 events a second. */
const WAKES = 3;
const THREADS = 20;
const VIEWS = ["#/log", "#/t/busy-1", "#/live", "#/live?span=5m", "#/threads", "#/voices", "#/usage"];
/** Seconds on each view, and between two looks at the memory. */
const STAY = 20;
const LOOK = 300;

/** A server that is kept busy. */
interface Busy {
  /** While it is so, nothing new is asked for. */
  rests: boolean;
  /** Ends it; says how many events were written a second, rests included. */
  stop(): Promise<number>;
}

/** Has the server write events until it is told to stop. */
function busy(server: Thinkd): Busy {
  const head = async () => (await server.call<{ items: { seq: number }[] }>("GET", "/events?limit=1&debug=true")).items[0]?.seq ?? 0;
  let on = true;
  const run = async () => {
    const [from, begun] = [await head(), Date.now()];
    for (let tick = 0; on; tick += 1) {
      const next = Date.now() + 100;
      while (self.rests && on) await new Promise((done) => setTimeout(done, 100));
      const said = tick % 5 ? [] : [server.call("POST", `/threads/busy-${(tick / 5) % THREADS}/messages`, { text: `what of ${tick}?` })];
      await Promise.all([...said, ...Array.from({ length: WAKES }, (_, i) => server.call("POST", "/threads/aside/messages", { type: "sensory", text: `seen ${tick} ${i}` }))]);
      await new Promise((done) => setTimeout(done, Math.max(0, next - Date.now())));
    }
    return ((await head()) - from) / ((Date.now() - begun) / 1000);
  };
  const self: Busy = {
    rests: false,
    stop: () => {
      on = false;
      return done;
    },
  };
  const done = run();
  return self;
}

/** Tasks of a page's main thread over some seconds: by the clock, and by what the processor worked on them. */
async function tasks(page: Page, seconds: number): Promise<{ wall: number; cpu: number; long: number }> {
  const session = await page.context().newCDPSession(page);
  const events: { name: string; ph: string; tid: number; pid: number; dur?: number; tdur?: number }[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as typeof events)));
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["devtools.timeline", "disabled-by-default-devtools.timeline"] } });
  await page.waitForTimeout(seconds * 1000);
  const ended = new Promise((done) => session.once("Tracing.tracingComplete", done));
  await session.send("Tracing.end");
  await ended;
  await session.detach();
  const whole = events.filter(({ ph }) => ph === "X");
  // The main thread is the one that runs scripts.
  const script = whole.find(({ name }) => name === "FunctionCall");
  const own = whole.filter(({ name, tid, pid }) => name === "RunTask" && tid === script?.tid && pid === script.pid);
  const most = (of: "dur" | "tdur") => own.reduce((longest, task) => Math.max(longest, (task[of] ?? 0) / 1000), 0);
  return { wall: most("dur"), cpu: most("tdur"), long: own.filter(({ dur = 0 }) => dur > 50_000).length };
}

/** Streams for so many minutes. */
export async function stream(one: Watched, server: Thinkd, minutes: number): Promise<void> {
  const work = busy(server);
  const begun = Date.now();
  const since = () => (Date.now() - begun) / 1000;
  let early: number | undefined;
  let now = 0;
  for (let i = 0, look = LOOK; since() < minutes * 60; i += 1) {
    const view = VIEWS[i % VIEWS.length]!;
    await one.go(view);
    await one.page.waitForTimeout(1_000);
    const { wall, cpu, long } = await tasks(one.page, STAY);
    console.log(`${(since() / 60).toFixed(1)} min, ${view}: longest task ${wall.toFixed(0)} ms, of the processor ${cpu.toFixed(0)} ms; ${long} above 50 ms in ${STAY} s; load ${loadavg()[0]!.toFixed(1)}`);
    if (since() < look && since() < minutes * 60) continue;
    look += LOOK;
    // What waits to be taken in is not what the page keeps.
    work.rests = true;
    await one.go("#/log");
    await one.page.waitForTimeout(10_000);
    await one.sees("live, no gap");
    now = await heap(one.page);
    work.rests = false;
    early ??= now;
    console.log(`${(since() / 60).toFixed(1)} min: heap ${(now / 1e6).toFixed(2)} MB, ${((now / early - 1) * 100).toFixed(1)} % more than at first`);
  }
  console.log(`${(await work.stop()).toFixed(0)} events a second for ${(since() / 60).toFixed(1)} minutes`);
  await one.sees("live, no gap");
}
