// The program in the README is a frontend: it shows what is said and sends what is typed, and it has 20 lines.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Server, until } from "./support.mjs";

test("the frontend of the README talks with a server", async () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const program = /```js\n([^]*?)```/.exec(readme)[1];
  const lines = program.split("\n").filter((line) => line.trim() !== "");
  assert.ok(lines.length <= 20, `${lines.length} lines`);

  // Beside the package, so that its name is found as from a project that depends on it.
  const path = fileURLToPath(new URL("./readme-program.tmp.mjs", import.meta.url));
  writeFileSync(path, program.replace('"thinkd-client"', '"../dist/index.js"'));
  const server = await new Server({ THINKD_TOKEN: "the-token-of-this-server" }).start();
  const env = { ...process.env, THINKD_URL: server.url, THINKD_TOKEN: "the-token-of-this-server" };
  const child = spawn(process.execPath, ["--experimental-websocket", "--no-warnings", path], { env });
  try {
    let said = "";
    let told = "";
    child.stdout.on("data", (chunk) => (said += chunk));
    child.stderr.on("data", (chunk) => (told += chunk));
    child.stdin.write("hello from the README\n");
    await until("the reply", () => /^reply: .+$/m.test(said));
    assert.match(said, /^you: hello from the README$/m);
    assert.match(told, /^stored as #\d+$/m);
    assert.match(told, /^\(live\)$/m);
  } finally {
    child.kill();
    await server.stop();
    rmSync(path);
  }
});
