// A browser that watches itself: whatever goes wrong in a page, or goes to another host, is kept and asserted on.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, type Page, chromium } from "playwright-core";
import { PATIENCE } from "./server.ts";

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Debian's chromium; no browser is downloaded. */
export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", ...(process.env.CONSOLE_DIST ? ["--disable-features=LocalNetworkAccessChecks"] : [])] });
}

/** A page, and what went wrong in it. */
export class Watched {
  readonly page: Page;
  readonly wrong: string[] = [];
  readonly #origin: string;

  constructor(page: Page, origin: string) {
    this.page = page;
    this.#origin = origin;
    page.on("console", (message) => {
      if (message.type() === "error" && !this.quiet) this.wrong.push(`console: ${message.text()} ${message.location().url}`);
    });
    page.on("pageerror", (error) => this.wrong.push(`error: ${error.stack ?? String(error)}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(this.#origin) && !request.url().startsWith("blob:")) this.wrong.push(`a request elsewhere: ${request.url()}`);
    });
  }

  /** While a server is gone on purpose, its absence is no fault. */
  quiet = false;

  static async open(browser: Browser, origin: string, hash = "", options: BrowserContextOptions = {}, before: (page: Page) => Promise<void> = async () => undefined): Promise<Watched> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(PATIENCE);
    if (process.env.CONSOLE_DIST) await instead(context, origin, process.env.CONSOLE_DIST);
    const watched = new Watched(await context.newPage(), origin);
    await before(watched.page);
    await watched.page.goto(`${origin}/console/${hash}`);
    return watched;
  }

  async go(hash: string): Promise<void> {
    await this.page.evaluate((to) => (location.hash = to), hash);
  }

  /** Waits until these words are to be seen. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).filter({ visible: true }).first().waitFor();
  }

  /** What axe finds, as text; the script is given to the page by the driver, outside of its policy. */
  async axe(where: string): Promise<void> {
    const session = await this.page.context().newCDPSession(this.page);
    await session.send("Runtime.evaluate", { expression: AXE });
    const { result } = await session.send("Runtime.evaluate", { expression: `axe.run(document, { resultTypes: ["violations"] }).then((found) => JSON.stringify(found.violations.map((one) => ({ id: one.id, impact: one.impact, nodes: one.nodes.slice(0, 4).map((node) => node.target.join(" ") + ": " + (node.any[0]?.message ?? node.all[0]?.message ?? node.none[0]?.message ?? "")) }))))`, awaitPromise: true, returnByValue: true });
    await session.detach();
    const found = JSON.parse(String(result.value)) as unknown[];
    assert.deepEqual(found, [], `axe on ${where}: ${JSON.stringify(found, null, 1)}`);
  }

  /** Nothing went wrong. */
  clean(): void {
    assert.deepEqual(this.wrong, []);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

/** While the console is worked on: its files from a folder instead of those in the server, under the server's own policy. */
async function instead(context: BrowserContext, origin: string, folder: string): Promise<void> {
  const policy = (await fetch(`${origin}/console/`)).headers.get("content-security-policy") ?? "";
  const types: Record<string, string> = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml", woff2: "font/woff2" };
  await context.route(`${origin}/console/**`, async (route) => {
    const path = new URL(route.request().url()).pathname.replace(/^.*?\/console\//, "") || "index.html";
    await route.fulfill({ body: readFileSync(join(folder, path)), headers: { "content-type": types[path.split(".").at(-1)!] ?? "text/plain", "content-security-policy": policy } });
  });
}
