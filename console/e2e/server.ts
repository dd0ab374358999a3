// A real server for a test: its own folder, its own port, the scripted endpoint, and nothing of the machine's settings.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AddressInfo } from "node:net";

const binary = process.env.THINKD_BIN ?? "../target/debug/thinkd";

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, "127.0.0.1", done));
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  return port;
}

/** How long anything is waited for: a machine that does much else is slow, and nothing that passes waits so long. */
export const PATIENCE = Number(process.env.PATIENCE ?? 60_000);

/** Waits until something is so. */
export async function until(holds: () => Promise<unknown>, ms = PATIENCE): Promise<void> {
  for (const end = Date.now() + ms; Date.now() < end; await new Promise((done) => setTimeout(done, 30))) if (await holds()) return;
  throw new Error(`it was not so within ${ms} ms: ${holds.toString()}`);
}

/** A running server. */
export class Thinkd {
  readonly folder = mkdtempSync(join(tmpdir(), "thinkd-e2e-"));
  port = 0;
  #child: ChildProcess | undefined;
  #output = "";
  readonly #settings: Record<string, string>;

  constructor(settings: Record<string, string>) {
    this.#settings = settings;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts it, or starts it again on the same port and folder. */
  async start(): Promise<this> {
    if (this.port === 0) this.port = await freePort();
    const kept = Object.entries(process.env).filter(([name]) => !/^(THINKD_|OPENAI_|DATABASE_URL$)/.test(name));
    const env = { ...Object.fromEntries(kept), THINKD_LISTEN: `127.0.0.1:${this.port}`, ...this.#settings };
    this.#child = spawn(binary, [], { cwd: this.folder, env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on("data", (piece: Buffer) => (this.#output += piece.toString()));
    const child = this.#child;
    child.on("error", (error) => (this.#output += String(error)));
    try {
      await until(async () => child.exitCode !== null || (await fetch(`${this.url}/readyz`).then((response) => response.ok, () => false)));
    } catch {
      throw new Error(`the server is not ready:\n${this.#output}`);
    }
    if (child.exitCode !== null) throw new Error(`the server ended:\n${this.#output}`);
    return this;
  }

  /** Fills the log of one that was never started with so many events. */
  fill(events: number): void {
    this.run("migrate");
    execFileSync("python3", [new URL("fill.py", import.meta.url).pathname, "thinkd.db", String(events)], { cwd: this.folder, stdio: "ignore" });
  }

  /** Fills the log of one that was never started with too much of everything. */
  crowd(): void {
    this.run("migrate");
    execFileSync("python3", [new URL("crowd.py", import.meta.url).pathname, "thinkd.db"], { cwd: this.folder, stdio: "ignore" });
    this.run("rebuild");
  }

  /** Runs a command of the program on its database. */
  run(...command: string[]): void {
    execFileSync(binary, command, { cwd: this.folder, env: { PATH: process.env.PATH }, stdio: "ignore" });
  }

  /** Ends it without asking, as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.kill("SIGKILL");
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** One request, as JSON. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const init: RequestInit = { method, headers: { "content-type": "application/json" } };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await fetch(this.url + path, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** Says something and waits for the end of the turn. */
  say(text: string, thread = "main"): Promise<unknown> {
    return this.call("POST", `/threads/${thread}/messages?wait=60`, { text });
  }
}
