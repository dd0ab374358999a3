// What a page costs: when it is painted first, its longest task, its memory.
import type { Page } from "playwright-core";

/** Figures of a page since it began, or since they were taken last; milliseconds and bytes. */
export interface Cost {
  firstPaint: number;
  longestTask: number;
  /** After garbage was collected. */
  heap: number;
  nodes: number;
}

/** Has a page note its long tasks, from its next load on. */
export async function watch(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const longest = { ms: 0 };
    (window as unknown as { longest: typeof longest }).longest = longest;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (longest.ms = Math.max(longest.ms, entry.duration)))).observe({ type: "longtask", buffered: true });
  });
}

/** Figures of the browser itself, after garbage was collected. */
async function metrics(page: Page): Promise<(name: string) => number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await session.send("Performance.enable");
  const { metrics } = await session.send("Performance.getMetrics");
  await session.detach();
  return (name) => metrics.find((metric) => metric.name === name)?.value ?? 0;
}

/** The page's memory in bytes, after garbage was collected. */
export const heap = async (page: Page): Promise<number> => (await metrics(page))("JSHeapUsedSize");

/** What it came to. */
export async function cost(page: Page): Promise<Cost> {
  const of = await metrics(page);
  const [firstPaint, longestTask] = await page.evaluate(() => {
    const longest = (window as unknown as { longest: { ms: number } }).longest;
    const ms = longest.ms;
    longest.ms = 0;
    return [performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0, ms] as const;
  });
  return { firstPaint, longestTask, heap: of("JSHeapUsedSize"), nodes: of("Nodes") };
}

/** One line of figures. */
export function told(what: string, { firstPaint, longestTask, heap, nodes }: Cost): string {
  return `${what}: first paint ${firstPaint.toFixed(0)} ms, longest task ${longestTask.toFixed(0)} ms, heap ${(heap / 1e6).toFixed(1)} MB, ${nodes} nodes`;
}

/** Scrolls the log down, as fast as it goes, until so many events are in the window or it is at its beginning; says how many there are. */
export async function scrollDown(page: Page, events: number): Promise<number> {
  const status = () => page.locator("footer.status span").first().innerText();
  const count = (text: string) => Number(text.replace(/ events.*/s, "").replaceAll(",", ""));
  for (;;) {
    const before = await status();
    if (count(before) >= events || before.includes("all that match")) return count(before);
    await page.locator(".log").evaluate((element) => (element.scrollTop = element.scrollHeight));
    await page.waitForFunction((text) => document.querySelector<HTMLElement>("footer.status span")!.innerText !== text, before);
  }
}
