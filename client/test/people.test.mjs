// What a mind asks of people: calls that wait are approved, edited, rejected or answered, and questions get their answer.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { Client } from "../dist/index.js";
import { Server, until } from "./support.mjs";

/** A model that does what the person asks for: `call <tool> <arguments as JSON>`; else it replies. */
function model() {
  return createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      // The newest call that was asked for, as long as nothing came of it.
      const prompt = JSON.stringify(JSON.parse(body).messages);
      const asked = [...prompt.matchAll(/call (\w+) '(.*?)'/g)].at(-1);
      const done = asked && prompt.lastIndexOf(`[${"result"}`) > asked.index;
      const fresh = asked && !seen.has(asked[0]) && !done;
      if (fresh) seen.add(asked[0]);
      const [name, args] = fresh ? [asked[1], JSON.parse(`"${asked[2]}"`)] : ["reply", JSON.stringify({ text: "so" })];
      const message = { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name, arguments: args } }] };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "r", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } }));
    });
  });
}
const seen = new Set();

let server, endpoint, client;
const events = [];
before(async () => {
  endpoint = model();
  await new Promise((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  server = await new Server({
    THINKD_MODEL: "m",
    THINKD_MODELS__LOW__STREAM: "false",
    OPENAI_BASE_URL: `http://127.0.0.1:${endpoint.address().port}/v1`,
    OPENAI_API_KEY: "none",
    THINKD_TOOLS__APPROVAL: '["state_put"]',
  }).start();
  client = new Client({ url: server.url });
  client.subscribe({ after: 0 }, { event: (event) => events.push(event) });
  client.connect();
});
after(async () => {
  client.close();
  endpoint.closeAllConnections();
  endpoint.close();
  await server.stop();
});

/** Has the mind call a tool, and returns what waits for a person then. */
async function asks(list, tool, args) {
  await client.send("main", { text: `call ${tool} '${JSON.stringify(args)}'` });
  return until(`what waits of ${tool}`, async () => (await list()).items[0]);
}

const put = (key) => asks(() => client.api.listApprovals(), "state_put", { key, content: "proposed", related_keys: [] });
const verdict = (id) => until("the verdict", () => events.find((event) => event.payload.approval_id === id && event.meta.tags.includes("approval") && !event.meta.tags.includes("pending")));

test("a call is edited, and runs with what the person wrote", async () => {
  const waits = await put("edited");
  assert.equal(waits.tool, "state_put");
  const decided = await client.approve(waits.approval_id, { arguments: { key: "edited", content: "corrected", related_keys: [] }, reason: "better so" });
  assert.equal(decided.status, "granted");
  await verdict(waits.approval_id);
  const entry = await until("the note", () => client.api.getState("edited").catch(() => undefined));
  assert.equal(entry.content, "corrected");
  await assert.rejects(client.approve(waits.approval_id), { slug: "already-settled" });
});

test("a call is approved, rejected, or its result is given", async () => {
  const approved = await put("approved");
  assert.equal((await client.approve(approved.approval_id)).status, "granted");
  await until("the note", () => client.api.getState("approved").catch(() => undefined));
  const rejected = await put("rejected");
  assert.equal((await client.reject(rejected.approval_id, "not now")).status, "denied");
  const responded = await put("responded");
  assert.equal((await client.respond(responded.approval_id, "It stands there already.")).status, "answered");
  await verdict(responded.approval_id);
  for (const key of ["rejected", "responded"]) await assert.rejects(client.api.getState(key), { slug: "not-found" });
});

test("a question gets its answer", async () => {
  const waits = await asks(() => client.api.listQuestions(), "ask_user", { question: "Which one?", choices: null, schema: null, who: null, expires_s: null });
  await client.answer(waits.question_id, "the blue one");
  await until("the answer in the log", () => events.find((event) => event.payload.question_id === waits.question_id && event.payload.text?.includes("the blue one")));
  assert.deepEqual((await client.api.listQuestions()).items, []);
});
