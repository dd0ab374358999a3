// A page while a mind is busy: 200 events a second stream in, and every view is looked at in turn. How long its tasks are, and whether its memory stays.
import { loadavg } from "node:os";
import type { Page } from "playwright-core";
import type { Watched } from "./browser.ts";
import { heap } from "./measure.ts";
import type { Thinkd } from "./server.ts";

/** Events a second that are to be stored. */
const RATE = 200;
/** How often the head of the log is looked at, in milliseconds: one that is behind is given a message for each turn of some so many events, and so many at once at most. */
const TICK = 50;
const TURN = 30;
const AT_ONCE = 4;
const THREADS = 20;
const VIEWS = ["#/log", "#/t/busy-1", "#/live", "#/live?span=5m", "#/live?span=1h", "#/threads", "#/voices", "#/usage"];
/** Seconds on each view, and between two looks at the memory. */
const STAY = 20;
const LOOK = 300;

/** A server that is kept busy. */
interface Busy {
  /** While it is so, nothing new is asked for. */
  rests: boolean;
  /** How many events a second were stored since this was asked last, without rests. */
  rate(): number;
  stop(): Promise<void>;
}

/** Has the server write so many events a second until it is told to stop. A message makes a turn of some thirty events, and how long a turn takes is the server's to say: so what
 * was stored sets the pace, and not what was said. */
function busy(server: Thinkd): Busy {
  const head = async () => (await server.call<{ items: { seq: number }[] }>("GET", "/events?limit=1&debug=true")).items[0]?.seq ?? 0;
  let on = true;
  let [stored, worked] = [0, 0];
  const run = async () => {
    let [last, moment, due] = [await head(), Date.now(), 0];
    for (let said = 0; on; ) {
      await new Promise((done) => setTimeout(done, TICK));
      const [now, at] = [await head(), Date.now()];
      const [more, ms] = [now - last, at - moment];
      [last, moment] = [now, at];
      if (self.rests) continue;
      stored += more;
      worked += ms;
      // A server that was held up for a while does not have to catch up on more than a second.
      due = Math.min(due + (RATE * ms) / 1000 - more, RATE);
      if (due < 0) continue;
      const messages = Array.from({ length: Math.min(AT_ONCE, 1 + Math.floor(due / TURN)) }, () => (said += 1));
      await Promise.all(messages.map((n) => server.call("POST", `/threads/busy-${n % THREADS}/messages`, { text: `what of ${n}?` })));
    }
  };
  const self: Busy = {
    rests: false,
    rate: () => {
      const rate = (stored / worked) * 1000;
      [stored, worked] = [0, 0];
      return rate;
    },
    stop: () => {
      on = false;
      return done;
    },
  };
  const done = run();
  return self;
}

interface Traced {
  name: string;
  ph: string;
  tid: number;
  pid: number;
  ts: number;
  dur?: number;
  tdur?: number;
}

/** What a task of a page's main thread came to, in milliseconds. */
interface Task {
  wall: number;
  cpu: number;
  /** What it did, the longest first. */
  did: string;
}

/** The tasks of a page's main thread over some seconds: the longest by the clock, the longest by what the processor worked on it, and how many took longer than 50 ms. */
async function tasks(page: Page, seconds: number): Promise<{ wall: Task; cpu: Task; long: number }> {
  const session = await page.context().newCDPSession(page);
  const events: Traced[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as Traced[])));
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["devtools.timeline", "disabled-by-default-devtools.timeline"] } });
  await page.waitForTimeout(seconds * 1000);
  const ended = new Promise((done) => session.once("Tracing.tracingComplete", done));
  await session.send("Tracing.end");
  await ended;
  await session.detach();
  // The page's main thread is the one that runs scripts longest: the browser has others.
  const scripts = new Map<string, number>();
  const thread = ({ pid, tid }: Traced) => `${pid} ${tid}`;
  for (const event of events) if (event.name === "FunctionCall") scripts.set(thread(event), (scripts.get(thread(event)) ?? 0) + (event.dur ?? 0));
  const main = [...scripts].sort((a, b) => b[1] - a[1])[0]?.[0];
  const own = events.filter((event) => event.ph === "X" && thread(event) === main);
  const all = own.filter(({ name }) => name === "RunTask");
  const longest = (of: "dur" | "tdur") => taskOf(all.reduce((most, task) => ((task[of] ?? 0) > (most[of] ?? 0) ? task : most)), own);
  return { wall: longest("dur"), cpu: longest("tdur"), long: all.filter(({ dur = 0 }) => dur > 50_000).length };
}

/** The figures of a task, and the parts of the trace in it: each without the parts inside of it. */
function taskOf(task: Traced, own: readonly Traced[]): Task {
  const end = ({ ts, dur = 0 }: Traced) => ts + dur;
  const inside = own.filter((part) => part !== task && part.ts >= task.ts && end(part) <= end(task)).sort((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0));
  const sums = new Map<string, number>();
  const open: Traced[] = [];
  for (const part of inside) {
    while (open.length > 0 && end(open.at(-1)!) <= part.ts) open.pop();
    const outer = open.at(-1);
    if (outer) sums.set(outer.name, (sums.get(outer.name) ?? 0) - (part.dur ?? 0));
    sums.set(part.name, (sums.get(part.name) ?? 0) + (part.dur ?? 0));
    open.push(part);
  }
  const did = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 4).map(([name, us]) => `${name} ${(us / 1000).toFixed(0)}`).join(", ");
  return { wall: (task.dur ?? 0) / 1000, cpu: (task.tdur ?? 0) / 1000, did };
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
    work.rate();
    const { wall, cpu, long } = await tasks(one.page, STAY);
    console.log(`${(since() / 60).toFixed(1)} min, ${view}: longest task ${wall.wall.toFixed(0)} ms (${wall.did}), of the processor ${cpu.cpu.toFixed(0)} ms (${cpu.did}); ${long} above 50 ms in ${STAY} s; ${work.rate().toFixed(0)} events a second; load ${loadavg()[0]!.toFixed(1)}`);
    if (since() < look && since() < minutes * 60) continue;
    look += LOOK;
    // What waits to be taken in is not what the page keeps.
    work.rests = true;
    await one.go("#/log");
    await one.page.waitForTimeout(10_000);
    await one.sees("up to date");
    now = await heap(one.page);
    work.rests = false;
    early ??= now;
    console.log(`${(since() / 60).toFixed(1)} min: heap ${(now / 1e6).toFixed(2)} MB, ${((now / early - 1) * 100).toFixed(1)} % more than at first`);
  }
  await work.stop();
  await one.sees("up to date");
}
