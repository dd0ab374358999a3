// Lists the files of console/dist in files.rs, and keeps a compressed copy of those that get shorter in gz/. With --check it compares.
// A copy counts as fresh when it unpacks to the file: what zlib makes of the same bytes differs from machine to machine.

import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "../../../console/dist");
const check = process.argv.includes("--check");
const stale = [];

const listed = (folder) => (existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : []).filter((entry) => entry.isFile());
const names = (folder) => listed(folder).map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1)).sort();

function write(path, bytes) {
  if (check) return stale.push(path);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
}

function compressed(name) {
  const plain = readFileSync(join(dist, name));
  const path = join(here, "gz", `${name}.gz`);
  if (/\.(woff2|png|ico)$/.test(name)) return false;
  if (existsSync(path) && gunzipSync(readFileSync(path)).equals(plain)) return true;
  const shorter = gzipSync(plain, { level: 9 });
  if (shorter.length + 256 >= plain.length) return false;
  write(path, shorter);
  return true;
}

const files = names(dist);
const copies = files.filter(compressed);
for (const name of names(join(here, "gz"))) {
  if (copies.includes(name.slice(0, -3))) continue;
  if (check) stale.push(name);
  else rmSync(join(here, "gz", name));
}
const line = (name) => {
  const isGzip = copies.includes(name);
  const bytes = isGzip ? `gz/${name}.gz` : `../../../console/dist/${name}`;
  return `    ("${name}", include_bytes!("${bytes}"), ${isGzip}),\n`;
};
const text = `//! Generated: \`node server/edge/console/refresh.mjs\`, behind each build of the console. Not to be edited.

/// The files of \`console/dist\`.
#[rustfmt::skip]
pub(super) const FILES: &[super::Source] = &[
${files.map(line).join("")}];
`;
const list = join(here, "files.rs");
if (!existsSync(list) || readFileSync(list, "utf8") !== text) write(list, text);
if (stale.length > 0) console.error(`stale: ${stale.join(", ")}; run node server/edge/console/refresh.mjs`);
process.exit(stale.length > 0 ? 1 : 0);
