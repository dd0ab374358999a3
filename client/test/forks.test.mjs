// Forks: a message is changed, an answer is asked for again, and a follower reads the fork as one thread.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, ProblemError, uuid } from "../dist/index.js";
import { Server, log, until } from "./support.mjs";

let server, client;
before(async () => {
  server = await new Server().start();
  client = new Client({ url: server.url }).connect();
});
after(async () => {
  client.close();
  await server.stop();
});

const has = (tag) => (event) => event.meta.tags.includes(tag);
const texts = (events, tag = "input") => events.filter(has(tag)).map((event) => event.payload.text);

/** Waits until the turn about what was stored has ended. */
function ended({ events }) {
  const { thread, seq } = events.at(-1);
  return until(`the answer to #${seq}`, async () => (await log(client, { thread, tags: ["ended"] })).some((event) => event.payload.handled >= seq));
}

/** Says these texts in a thread, each after the answer to the one before, and returns the log. */
async function talk(thread, ...said) {
  for (const text of said) {
    await ended(await client.send(thread, { text }));
  }
  return log(client, { thread });
}

test("a message is changed in a fork, which has the past before it and goes on by itself", async () => {
  const events = await talk("changed", "one", "two", "three");
  const [, two] = events.filter(has("input"));
  const fork = await client.edit("changed", two, { text: "two, but otherwise" });
  assert.equal(fork.from, "changed");
  assert.equal(fork.at, events.filter(has("ended"))[0].seq);
  assert.equal(fork.events.length, 1);
  await ended(fork);
  const read = await log(client, { thread: fork.thread });
  assert.deepEqual(texts(read), ["one", "two, but otherwise"]);
  assert.deepEqual(read.filter(has("started")).map((event) => [event.thread, event.payload.turn]), [["changed", 1], [fork.thread, 2]]);
  assert.deepEqual(await log(client, { thread: "changed" }), events, "the thread that was forked is as before");
  const [origin, other] = [await client.api.getThread("changed"), await client.api.getThread(fork.thread)];
  assert.deepEqual(origin.forks, [{ thread: fork.thread, at: fork.at }]);
  assert.deepEqual(other.forked_from, { thread: "changed", at: fork.at });
  assert.deepEqual((await client.api.listThreads({ forked_from: "changed" })).items.map(({ id }) => id), [fork.thread]);
});

test("the id of a message does as well, and a follower of the fork is shown its past", async () => {
  const [first] = (await talk("followed", "one", "two")).filter(has("input"));
  const fork = await client.edit("followed", first.event_id, { text: "first of all" });
  assert.equal(fork.at, 0);
  const { thread } = await client.fork("followed", { thread: "followed-on", message: { text: "three" } });
  assert.equal(thread, "followed-on");
  const follower = new Client({ url: server.url });
  const seen = [];
  follower.subscribe({ thread, after: 0 }, { event: (event) => seen.push(event) });
  follower.connect();
  await until("the last reply", () => texts(seen, "response").length === 3);
  assert.deepEqual(texts(seen), ["one", "two", "three"]);
  assert.deepEqual(seen.filter(has("input")).map((event) => event.thread), ["followed", "followed", thread]);
  follower.close();
});

test("another answer is asked for: to the same words and pictures, in the fork of a fork, too", async () => {
  const png = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (char) => char.charCodeAt(0));
  const image = await client.upload(new Blob([png], { type: "image/png" }));
  await talk("again", "hello");
  await ended(await client.send("again", { text: "look", images: [image, image] }));
  const events = await talk("again", "and then?");
  const [, reply, last] = events.filter(has("response"));
  const content = (parts) => parts.map(({ payload: { text, blob, mime } }) => [text, blob, mime]);
  const parts = events.filter(has("input")).slice(1, 4);

  const first = await client.regenerate("again", reply);
  assert.equal(first.events.length, 3);
  await ended(first);
  const read = await log(client, { thread: first.thread });
  const own = read.filter((event) => event.thread === first.thread);
  assert.deepEqual(content(own.filter(has("input"))), content(parts));
  assert.deepEqual(texts(read), ["hello", ...content(parts).map(([text]) => text)], "the message is there once");

  // From the fork, and from a part of the message in the place of the reply.
  const second = await client.regenerate(first.thread, own.find(has("response")));
  const third = await client.regenerate("again", parts[0]);
  const fourth = await client.regenerate(first.thread, read.find(has("response")));
  assert.deepEqual([second, third].map(({ from, at }) => [from, at]), [["again", first.at], ["again", first.at]]);
  assert.equal(fourth.at, 0);
  const { forks } = await client.api.getThread("again");
  assert.deepEqual(new Set(forks.filter(({ at }) => at === first.at).map(({ thread }) => thread)), new Set([first, second, third].map(({ thread }) => thread)));
  const pictures = await client.edit("again", parts[0], { text: "see" });
  assert.equal(pictures.at, first.at, "a message with several parts goes as a whole");
  await ended(pictures);
  assert.deepEqual(texts(await log(client, { thread: pictures.thread })), ["hello", "see"]);
  assert.ok(last.seq > first.at);
});

test("forks that cannot be are refused in words", async () => {
  await assert.rejects(client.fork("nobody"), (error) => error instanceof ProblemError && error.status === 404);
  await assert.rejects(client.edit("changed", uuid(), { text: "what?" }), (error) => error instanceof ProblemError && error.slug === "not-found");
  await client.trigger("woken", "morning");
  const reply = await until("what came of it", async () => (await log(client, { thread: "woken" })).find(has("ended")));
  await assert.rejects(client.regenerate("woken", reply), /answers no message/);
});
