// Builds the console twice, elsewhere: both have to be what is committed in dist/, to the byte.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { files } from "./files.mjs";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`the console is built with Node 20.19 or newer; this one is ${process.versions.node}`);
  process.exit(1);
}
const root = new URL("..", import.meta.url).pathname;
const contents = (folder) => new Map(files(folder).map((path) => [relative(folder, path), readFileSync(path).toString("base64")]));
const committed = contents(join(root, "dist"));
let stale = false;
for (const time of [1, 2]) {
  const folder = mkdtempSync(join(tmpdir(), "thinkd-console-"));
  execFileSync("npx", ["vite", "build", "--outDir", folder, "--emptyOutDir", "--logLevel", "error"], { cwd: root, stdio: "inherit" });
  const built = contents(folder);
  for (const name of new Set([...committed.keys(), ...built.keys()])) {
    if (committed.get(name) === built.get(name)) continue;
    console.error(`build ${time}: dist/${name} ${built.has(name) ? (committed.has(name) ? "differs" : "is not committed") : "is not built any more"}`);
    stale = true;
  }
  rmSync(folder, { recursive: true });
}
if (stale) {
  console.error("console/dist is stale: src/ has changed, or the client in ../client/src, or what it is generated from. All anew: .ci/generate; this alone: cd console && npm ci && npm run build");
  process.exit(1);
}
console.log(`console/dist is fresh: ${committed.size} files, built twice`);
