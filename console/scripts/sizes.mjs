// What the console costs to load, compressed, against its budgets.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { files } from "./files.mjs";

const FIRST = 160_000;
const ALL = 600_000;
const dist = new URL("../dist", import.meta.url).pathname;
const size = (path) => (/\.woff2$/.test(path) ? readFileSync(path).length : gzipSync(readFileSync(path), { level: 9 }).length);
const all = files(dist).filter((path) => !path.endsWith("OFL.txt"));

/** What a first visit loads: the page, the styles, the fonts, and the script with all that it imports at once. */
function first() {
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    if (!path.endsWith(".js")) return;
    for (const [, name] of readFileSync(path, "utf8").matchAll(/(?:^|[;}\s])(?:import|export)(?:[^"'();]*?from)?\s*["'](\.\/[^"']+\.js)["']/g)) visit(join(path, "..", name));
  };
  for (const path of all) if (/(index\.(html|js)|\.css)$|hurry\.js$|\.woff2$|icon\.svg$|Chat\.js$/.test(path)) visit(path);
  return [...seen];
}

const sum = (paths) => paths.reduce((total, path) => total + size(path), 0);
for (const path of all) console.log(String(size(path)).padStart(8), relative(dist, path));
const [one, every] = [sum(first()), sum(all)];
console.log(`first load ${one} of ${FIRST} bytes, all ${every} of ${ALL}`);
for (const [what, bytes, most] of [["first load", one, FIRST], ["all", every, ALL]]) {
  if (bytes <= most) continue;
  console.error(`${what} is over its budget by ${bytes - most} bytes`);
  process.exitCode = 1;
}
