// A Node without a global WebSocket: HTTP works, and only `connect` asks for a class of sockets.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { promisify } from "node:util";
import { Server } from "./support.mjs";

const run = promisify(execFile);
const LIBRARY = new URL("../dist/index.js", import.meta.url).href;

/** What a program prints that has the library, in a Node without sockets. */
async function printed(program) {
  const whole = `import { Client } from "${LIBRARY}"; console.log(typeof WebSocket); ${program}`;
  const { stdout } = await run(process.execPath, ["--no-experimental-websocket", "--input-type=module", "--eval", whole]);
  return stdout.trim().split("\n");
}

test("without a global WebSocket a client has the whole HTTP API", async () => {
  const server = await new Server().start();
  try {
    const [, , snippet] = readFileSync(new URL("../README.md", import.meta.url), "utf8").split("```js\n");
    const lines = await printed(
      `${snippet.split("```")[0].replace("http://localhost:2953", server.url)}
       console.log(responses.length);
       for await (const page of client.history({ thread: "main", tags: ["input"] })) console.log(page.map(({ payload }) => payload.text).join());`,
    );
    assert.deepEqual(lines, ["undefined", "1", "hello"]);
  } finally {
    await server.stop();
  }
});

test("connect says what is missing, and the client stays usable", async () => {
  const server = await new Server().start();
  try {
    const lines = await printed(
      `const client = new Client({ url: "${server.url}" });
       try { client.connect(); } catch (error) { console.log(error.message); }
       console.log(client.state.kind);
       console.log((await client.api.listThreads()).items.length);`,
    );
    assert.deepEqual(lines, ["undefined", "there is no global WebSocket here: pass one as `webSocket`", "closed", "0"]);
  } finally {
    await server.stop();
  }
});
