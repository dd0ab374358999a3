// What the tests share: a real server that can be killed and started again, a door in front of it that drops connections, and waiting.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const ROOT = new URL("../../", import.meta.url).pathname;
const BINARY = process.env.THINKD_BIN ?? join(process.env.CARGO_TARGET_DIR ?? join(ROOT, "target"), "debug/thinkd");
const PATIENCE = 60_000;

/** Waits until `holds` returns something, and returns it. */
export async function until(what, holds) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await sleep(5)) {
    const value = await holds();
    if (value) return value;
  }
  throw new Error(`${what} did not come within ${PATIENCE} ms`);
}

/** A server on a database of its own. */
export class Server {
  #folder = mkdtempSync(join(tmpdir(), "thinkd-client-"));
  #env;
  #process;
  port = 0;

  constructor(env = {}) {
    this.#env = { PATH: process.env.PATH, HOME: this.#folder, THINKD_RUNTIME__DEFAULT_SUBMODULES: "false", THINKD_TEST_RUNTIME__LEASE_MS: "1000", ...env };
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async start() {
    const env = { ...this.#env, THINKD_LISTEN: `127.0.0.1:${this.port}` };
    const child = spawn(BINARY, [], { cwd: this.#folder, env, stdio: ["ignore", "pipe", "pipe"] });
    this.#process = child;
    let output = "";
    const hear = (chunk) => (output += chunk);
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    const found = await until("the server's address", () => {
      if (child.exitCode !== null) throw new Error(`the server ended instead of listening:\n${output}`);
      return /http:\/\/127\.0\.0\.1:(\d+)/.exec(output);
    });
    this.port = Number(found[1]);
    return this;
  }

  /** kill -9. */
  async kill() {
    const child = this.#process;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  async stop() {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A door in front of a server: all connections through it can be cut, in the middle of a frame as well. */
export class Door {
  #open = new Set();
  #server;

  constructor(port) {
    this.#server = createServer((near) => {
      const far = connect(port(), "127.0.0.1");
      const both = [near, far];
      this.#open.add(both);
      for (const [from, to] of [both, [far, near]]) {
        from.on("data", (chunk) => to.write(chunk));
        from.on("error", () => undefined);
        from.on("close", () => {
          to.destroy();
          this.#open.delete(both);
        });
      }
    });
  }

  async listen() {
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  cut() {
    for (const [near, far] of this.#open) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
  }

  close() {
    this.cut();
    this.#server.close();
  }
}

/** All public events of a server's log, in order. */
export async function log(client, query = {}) {
  const events = [];
  for await (const page of client.history({ order: "asc", limit: 500, ...query })) events.push(...page);
  return events;
}
