// The line of the README installs the package in an empty project, from a clone in which nothing was built.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL("..", import.meta.url));

test("the line of the README installs the client from a clone", () => {
  const line = /^\$ (npm pack .*)$/m.exec(readFileSync(join(HERE, "README.md"), "utf8"))?.[1];
  assert.match(line ?? "", / \.\/thinkd\/client /);
  const folder = mkdtempSync(join(tmpdir(), "thinkd-install-"));
  try {
    const project = join(folder, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "type": "module" }');
    cpSync(HERE, join(project, "thinkd/client"), {
      recursive: true,
      filter: (path) => !["node_modules", "dist"].some((name) => path === join(HERE, name)),
    });
    // As typed in a shell: without the settings that npm hands to this test.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(config_local|config_prefix|lifecycle|package|command)/.test(name)));
    execFileSync("sh", ["-c", line], { cwd: project, env, stdio: ["ignore", "pipe", "inherit"] });
    rmSync(join(project, "thinkd"), { recursive: true });
    const program = 'import { Client } from "thinkd-client"; console.log(new Client({ url: "http://localhost:1" }).state.kind)';
    writeFileSync(join(project, "program.js"), program);
    const said = execFileSync(process.execPath, ["--no-experimental-websocket", "program.js"], { cwd: project, encoding: "utf8" });
    assert.equal(said, "closed\n");
    assert.match(readFileSync(join(project, "node_modules/thinkd-client/dist/index.d.ts"), "utf8"), /Client/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
