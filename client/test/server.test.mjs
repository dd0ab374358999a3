// The client against the real server: what is said, followed, refused, and got back after a loss.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, ProblemError, UnreachableError, pages, uuid } from "../dist/index.js";
import { Door, Server, log, until } from "./support.mjs";

let server;
before(async () => {
  server = await new Server().start();
});
after(() => server.stop());

/** A client that collects what it is shown. */
function watching(following = { after: 0 }, url = server.url, settings = {}) {
  const client = new Client({ url, backoff: { first: 20, most: 200 }, ...settings });
  const seen = { events: [], drafts: [], work: [], statuses: [], caughtUp: 0 };
  const subscription = client.subscribe(following, {
    event: (event) => seen.events.push(event),
    draft: (draft) => seen.drafts.push(draft),
    work: (work) => seen.work.push(work),
    status: (status) => seen.statuses.push(status),
    caughtUp: () => (seen.caughtUp += 1),
  });
  client.connect();
  return { client, seen, subscription };
}

test("what is sent is acknowledged, answered in pieces, and comes as events in order", async () => {
  const { client, seen } = watching();
  const { events, status } = await client.send("main", { text: "What of this, Ada?" });
  assert.ok(["started", "queued"].includes(status));
  const reply = await until("the reply", () => seen.events.find((event) => event.meta.tags.includes("response")));
  const draft = seen.drafts.filter((one) => one.event_id === reply.event_id).at(-1);
  assert.equal(draft.text, reply.payload.text, "the pieces add up to the reply");
  assert.equal(draft.hole, false);
  await until("the end of the turn", () => seen.statuses.some((one) => one.status === "idle"));
  assert.ok(seen.events.some((event) => event.event_id === events[0].event_id));
  assert.deepEqual(seen.events.map((event) => event.seq), (await log(client)).map((event) => event.seq));
  assert.equal(client.cursor, client.head);
  client.close();
});

test("the same event_id is stored once, and one with other content is refused", async () => {
  const { client } = watching();
  const event_id = uuid();
  const first = await client.send("twice", { text: "once", event_id });
  const second = await client.send("twice", { text: "once", event_id });
  assert.equal(second.status, "duplicate");
  assert.deepEqual(second.events, first.events);
  await assert.rejects(client.send("twice", { text: "other", event_id }), (error) => error instanceof ProblemError && error.slug === "event-conflict");
  client.close();
});

test("debug events and work come where they are asked for", async () => {
  const { client, seen } = watching({ after: 0, thread: "inside", debug: true });
  await client.send("inside", { text: "hello" });
  await until("the end of the work", () => seen.work.some((one) => one.module === undefined && one.phase === "ended"));
  await until("the record of the call", () => seen.events.some((event) => event.meta.tags.includes("call:decision")));
  assert.deepEqual(
    seen.work.filter((one) => one.module === "decision").map((one) => one.phase),
    ["started", "ended"],
  );
  assert.equal(client.hello.role, "admin");
  client.close();
});

test("a picture is uploaded, said and shown", async () => {
  const { client, seen } = watching({ after: 0, thread: "pictures" });
  const png = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (char) => char.charCodeAt(0));
  const image = await client.upload(new Blob([png], { type: "image/png" }));
  await client.send("pictures", { text: "look", images: [image] });
  const event = await until("the picture", () => seen.events.find((one) => one.modality === "image"));
  const back = await client.api.getBlob(event.payload.blob);
  assert.deepEqual(new Uint8Array(await back.arrayBuffer()), png);
  client.close();
});

test("refusals are errors with the server's words", async () => {
  const { client } = watching();
  await assert.rejects(client.api.getThread("nobody"), (error) => error instanceof ProblemError && error.slug === "not-found" && error.status === 404);
  await assert.rejects(client.approve("0193b6c2-7c2e-7aaa-8000-0123456789ab"), (error) => error.slug === "not-found");
  await assert.rejects(client.send("main", { text: " " }), (error) => error.slug === "empty-input");
  await assert.rejects(client.send("main", { text: "x".repeat(9 << 20) }), (error) => error.slug === "too-large");
  const nobody = new Client({ url: "http://127.0.0.1:1" });
  await assert.rejects(nobody.api.listThreads(), UnreachableError);
  let refused;
  client.subscribe({ thread: "Not A Thread" }, { refused: (error) => (refused = error) });
  await until("the refusal", () => refused);
  assert.equal(refused.slug, "invalid-id");
  client.close();
});

test("lists come page by page, and an aborted request ends", async () => {
  const { client } = watching();
  for (const label of ["a", "b", "c"]) await client.api.createThread({ label, kind: "conversation" });
  const threads = [];
  for await (const page of pages((cursor) => client.api.listThreads({ limit: 1, ...cursor }))) threads.push(...page);
  assert.ok(threads.length >= 4);
  assert.equal(new Set(threads.map((thread) => thread.id)).size, threads.length);
  await assert.rejects(client.api.listThreads({}, { signal: AbortSignal.abort() }), { name: "AbortError" });
  client.close();
});

test("what is said without a connection waits, and goes once, in order", async () => {
  const door = new Door(() => server.port);
  const url = await door.listen();
  const { client, seen } = watching({ after: 0, thread: "patience" }, url);
  await until("the connection", () => client.state.kind === "live");
  door.cut();
  const acks = ["one", "two", "three"].map((text) => client.send("patience", { text }));
  assert.equal(client.waiting, 3);
  const seqs = (await Promise.all(acks)).map((ack) => ack.events[0].seq);
  assert.deepEqual(seqs, seqs.toSorted((a, b) => a - b));
  assert.equal(client.waiting, 0);
  const inputs = async () => (await log(client, { thread: "patience", tags: ["input"] })).map((event) => event.payload.text);
  assert.deepEqual(await inputs(), ["one", "two", "three"]);
  await until("the inputs", () => seen.events.filter((event) => event.meta.tags.includes("input")).length === 3);
  client.close();
  door.close();
});

test("a wrong key is final, and the right one goes on with what waits", async () => {
  const locked = await new Server({ THINKD_TOKEN: "the-token-of-this-server" }).start();
  const { client: nobody } = watching({ after: 0 }, locked.url);
  await until("the word that a key is wanted", () => nobody.state.kind === "closed");
  assert.equal(nobody.state.reason, "unauthenticated");
  const { client, seen } = watching({ after: 0 }, locked.url, { token: "another-token-than-that" });
  const ack = client.send("main", { text: "let me in" });
  await until("the refusal", () => client.state.kind === "closed");
  assert.equal(client.state.reason, "unauthenticated");
  assert.equal(client.waiting, 1);
  client.token = "the-token-of-this-server";
  client.connect();
  assert.equal((await ack).events.length, 1);
  await until("the input", () => seen.events.some((event) => event.meta.tags.includes("input")));
  client.close();
  await locked.stop();
});
