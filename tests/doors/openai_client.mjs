// OpenAI's own client for Node, and the Vercel AI SDK, as they come from the registry.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.DOOR_MODULES}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { default: OpenAI } = await load("openai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { generateText, jsonSchema, stepCountIs, streamText, tool } = await load("ai");

const url = process.env.DOOR_URL;
const get = async (path) => (await fetch(`${url}${path}`)).json();
const inputs = async (thread) => (await get(`/events?thread=${thread}&tags=input&order=asc`)).items.map((event) => event.payload.text);
const threadsOf = async (words) => (await get("/threads?lines=true&limit=100")).items.filter((row) => row.first?.text === words).map((row) => row.id);
const user = (content) => ({ role: "user", content });
const assistant = (content) => ({ role: "assistant", content });

const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
const ask = async (messages) => (await client.chat.completions.create({ model: "thinkd", messages })).choices[0].message.content;
const talk = [user("js one")];
talk.push(assistant(await ask(talk)), user("js two"));
assert.equal(talk[1].content, "ok: js one");
let streamed = "";
for await (const piece of await client.chat.completions.create({ model: "thinkd", messages: talk, stream: true })) streamed += piece.choices[0]?.delta.content ?? "";
assert.equal(streamed, "ok: js two");
const [thread] = await threadsOf("js one");
assert.deepEqual(await inputs(thread), ["js one", "js two"]);
assert.equal(await ask(talk), "ok: js two");
assert.equal((await threadsOf("js one")).length, 2, "a regenerated answer is a fork");

// Stop.
const stream = await client.chat.completions.create({ model: "thinkd", messages: [user("slow js")], stream: true });
for await (const piece of stream) if (piece.choices[0]?.delta.content) break;
stream.controller.abort();
const [stopped] = await threadsOf("slow js");
for (let tries = 0; tries < 400; tries++) {
  const ended = (await get(`/events?thread=${stopped}&tags=ended`)).items;
  if (ended[0]?.payload.outcome === "cancelled") break;
  assert.ok(tries < 399, "the turn goes on");
  await new Promise((done) => setTimeout(done, 50));
}
await assert.rejects(client.chat.completions.create({ model: "gpt-4o", messages: talk }), OpenAI.NotFoundError);
await assert.rejects(ask([user("fail js")]), OpenAI.APIError);
assert.equal((await threadsOf("fail js")).length, 1, "a failed turn is not had twice");

// The AI SDK.
const sdk = createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" }).chat("thinkd");
const first = await generateText({ model: sdk, messages: [user("ai one")] });
assert.equal(first.text, "ok: ai one");
assert.ok(first.usage.inputTokens >= 11);
const messages = [user("ai one"), assistant(first.text), user("ai two")];
let text = "";
for await (const piece of streamText({ model: sdk, messages }).textStream) text += piece;
assert.equal(text, "ok: ai two");
const [other] = await threadsOf("ai one");
assert.deepEqual(await inputs(other), ["ai one", "ai two"]);
await assert.rejects(generateText({ model: sdk, messages: [user("fail ai")], maxRetries: 2 }));
assert.equal((await threadsOf("fail ai")).length, 1, "a failed turn is not had twice");
// Tools that the SDK runs between two requests, in a loop of its own.
const weather = tool({
  description: "Says the weather of a city.",
  inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false }),
  execute: async ({ city }) => `${city} 4`,
});
const looped = await generateText({ model: sdk, messages: [user("ai weather Bern Rome")], tools: { weather }, stopWhen: stepCountIs(4) });
assert.equal(looped.text, "ok: Bern 4, Rome 4");
assert.equal(looped.steps.length, 2);
const streamedLoop = streamText({ model: sdk, messages: [user("ai streamed weather Oslo")], tools: { weather }, stopWhen: stepCountIs(4) });
let loopText = "";
for await (const piece of streamedLoop.textStream) loopText += piece;
assert.equal(loopText, "ok: Oslo 4");
const [looping] = await threadsOf("ai weather Bern Rome");
assert.deepEqual(await inputs(looping), ["ai weather Bern Rome"]);

// Responses, by OpenAI's client.
const one = await client.responses.create({ model: "thinkd", input: "jr one" });
assert.equal(one.output_text, "ok: jr one");
assert.equal((await client.responses.retrieve(one.id)).output_text, "ok: jr one");
let words = "";
for await (const event of await client.responses.create({ model: "thinkd", input: "jr two", previous_response_id: one.id, stream: true }))
  if (event.type === "response.output_text.delta") words += event.delta;
assert.equal(words, "ok: jr two");
const [tree] = await threadsOf("jr one");
assert.deepEqual(await inputs(tree), ["jr one", "jr two"]);
await client.responses.create({ model: "thinkd", input: "jr deux", previous_response_id: one.id });
assert.equal((await threadsOf("jr one")).length, 2, "a branch is a fork");
assert.equal((await client.responses.inputItems.list(one.id)).data[0].content[0].text, "jr one");
let [id, last, seen] = ["", 0, ""];
for await (const event of await client.responses.create({ model: "thinkd", input: "slow jr", background: true, stream: true })) {
  last = event.sequence_number;
  if (event.type === "response.created") id = event.response.id;
  if (event.type === "response.output_text.delta") seen += event.delta;
  if (seen.length > 20) break;
}
let end;
for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: last })) {
  if (event.type === "response.output_text.delta") seen += event.delta;
  end = event;
}
assert.equal(end.type, "response.completed");
assert.equal(end.response.output[0].content[0].text, seen);
const slow = await client.responses.create({ model: "thinkd", input: "slow jr again", background: true });
assert.equal((await client.responses.cancel(slow.id)).status, "cancelled");
await assert.rejects(client.responses.retrieve("resp_1"), OpenAI.NotFoundError);
await assert.rejects(client.responses.create({ model: "thinkd", input: "fail jr" }), OpenAI.APIError);
assert.equal((await threadsOf("fail jr")).length, 1, "a failed turn is not had twice");

// And by the AI SDK: it names the answers of the conversation by their ids.
const answers = createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" }).responses("thinkd");
const began = await generateText({ model: answers, messages: [user("ar one")] });
assert.equal(began.text, "ok: ar one");
assert.ok(began.usage.inputTokens >= 11);
let came = "";
for await (const piece of streamText({ model: answers, messages: [user("ar one"), ...began.response.messages, user("ar two")] }).textStream) came += piece;
assert.equal(came, "ok: ar two");
const [kept] = await threadsOf("ar one");
assert.deepEqual(await inputs(kept), ["ar one", "ar two"]);
const behind = { openai: { previousResponseId: began.providerMetadata.openai.responseId } };
assert.equal((await generateText({ model: answers, prompt: "ar deux", providerOptions: behind })).text, "ok: ar deux");
assert.equal((await threadsOf("ar one")).length, 2);
await assert.rejects(generateText({ model: answers, messages: [user("fail ar")], maxRetries: 2 }));
assert.equal((await threadsOf("fail ar")).length, 1, "a failed turn is not had twice");
// Functions that the SDK runs in a loop of its own, and by the ids of their items.
const looks = await generateText({ model: answers, messages: [user("ar weather Bern Rome")], tools: { weather }, stopWhen: stepCountIs(4) });
assert.equal(looks.text, "ok: Bern 4, Rome 4");
const talked = [user("ar weather Bern Rome"), ...looks.response.messages, user("ar thanks")];
assert.equal((await generateText({ model: answers, messages: talked, tools: { weather } })).text, "ok: ar thanks");
const [looked] = await threadsOf("ar weather Bern Rome");
assert.deepEqual(await inputs(looked), ["ar weather Bern Rome", "ar thanks"]);
let found = "";
for await (const piece of streamText({ model: answers, messages: [user("ar streamed weather Oslo")], tools: { weather }, stopWhen: stepCountIs(4) }).textStream) found += piece;
assert.equal(found, "ok: Oslo 4");
const version = (name) => JSON.parse(readFileSync(`${process.env.DOOR_MODULES}/node_modules/${name}/package.json`, "utf8")).version;
console.log("openai for Node", version("openai"), "and the AI SDK", version("ai"), "on Node", process.versions.node);
