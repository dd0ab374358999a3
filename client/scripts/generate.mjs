// Writes src/events.ts and src/api.ts from the server's own documents; with --check it compares instead.
// What a client needs beyond them (socket, cursor, drafts) is written by hand in the other files of src/.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { endpoints } from "./endpoints.mjs";
import { interfaces } from "./schemas.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (path) => readFileSync(root + path, "utf8");

const openapi = JSON.parse(read("openapi/openapi.json"));
const head = (from) => `// Generated from ${from} by \`npm run generate\`. Not to be edited.\n`;

const files = {
  "client/src/events.ts": head("docs/events.d.ts") + read("docs/events.d.ts"),
  "client/src/schemas.ts": head("openapi/openapi.json") + interfaces(openapi),
  "client/src/api.ts": head("openapi/openapi.json") + endpoints(openapi),
};

let stale = 0;
for (const [path, text] of Object.entries(files)) {
  if (!process.argv.includes("--check")) {
    writeFileSync(root + path, text);
  } else if (read(path) !== text) {
    console.error(`${path} is stale: run \`npm run generate\` in client/`);
    stale = 1;
  }
}
process.exit(stale);
