// The client against a socket that does what a test says: order, holes, close codes, other epochs, older servers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, ClosedError, Drafts } from "../dist/index.js";

const EPOCH = "6f6f2c8a-3c1e-4a9f-9d3f-2b1a0c9d8e7f";

/** A network whose server is the test: `sockets` are the connections that were opened, the newest last. */
function network() {
  const sockets = [];
  class Fake {
    sent = [];
    closed;
    constructor(address) {
      this.address = address;
      sockets.push(this);
      queueMicrotask(() => this.onopen?.());
    }
    send(text) {
      const frame = JSON.parse(text);
      // Who has no token pings first, to hear whether one is wanted.
      if (frame.type !== "ping" || this.known) this.sent.push(frame);
    }
    close(code) {
      this.closed ??= code ?? 1005;
    }
    says(...frames) {
      for (const frame of frames) this.onmessage?.({ data: JSON.stringify(frame) });
    }
    hello(head = 0, epoch = EPOCH) {
      this.known = true;
      this.says({ type: "hello", protocol: "thinkd.v1", version: "0", space: "default", epoch, head, role: "member", limits: { frame_bytes: 1000 } });
    }
    /** The hello, and the acknowledgement of what was subscribed. */
    async begins(head = 0, epoch = EPOCH) {
      await sleep(0);
      this.hello(head, epoch);
      const { id } = this.last("subscribe");
      this.says({ type: "ack", id, status: "ok", events: [] });
      return id;
    }
    ends(code, reason = "") {
      this.onclose?.({ code, reason });
    }
    last(type) {
      return this.sent.findLast((frame) => frame.type === type);
    }
  }
  return { Fake, sockets, get now() { return sockets.at(-1); } };
}

function client(net, settings = {}) {
  return new Client({ url: "https://mind.example/base/", webSocket: net.Fake, fetch: () => assert.fail("no request is made"), backoff: { first: 1, most: 4 }, ...settings });
}

const event = (seq, tags = ["input", "type:message"], more = {}) => ({
  type: "event",
  event: { event_id: `00000000-0000-7000-8000-${String(seq).padStart(12, "0")}`, ts: "2026-11-21T04:25:00.000000Z", source: "user", modality: "text", payload: { text: `of ${seq}` }, meta: { tags }, thread: "main", seq, ...more },
});

async function reconnected(net, count) {
  for (let turn = 0; net.sockets.length < count && turn < 500; turn += 1) await sleep(1);
  assert.equal(net.sockets.length, count, "connections");
  await sleep(0);
}

test("credentials go first, and the address is that of the socket", async () => {
  const net = network();
  const one = client(net, { token: async () => "a-token" }).connect();
  await sleep(0);
  assert.equal(net.now.address, "wss://mind.example/base/ws");
  assert.deepEqual(net.now.sent, [{ type: "auth", token: "a-token" }]);
  one.close();
});

test("the cursor moves on with every frame, and a new connection resumes behind it", async () => {
  const net = network();
  const seen = [];
  const one = client(net);
  const following = one.subscribe({ thread: "main", tags: ["input"], after: 3 }, { event: ({ seq }, replay) => seen.push([seq, replay]) });
  one.connect();
  const id = await net.now.begins(9);
  assert.deepEqual(net.now.last("subscribe"), { type: "subscribe", thread: "main", tags: ["input"], after: 3, epoch: EPOCH, id });
  assert.equal(one.state.kind, "catching up");
  net.now.says({ ...event(4), replay: true }, { ...event(7), replay: true });
  net.now.says({ type: "caught_up", after: 9, id });
  assert.equal(one.state.kind, "live");
  assert.equal(following.cursor, 9);
  net.now.says(event(10), { type: "pong", after: 14 });
  assert.equal(following.cursor, 14);
  net.now.ends(1006);
  await reconnected(net, 2);
  const again = await net.now.begins(20);
  assert.equal(net.now.last("subscribe").after, 14);
  net.now.says({ ...event(10), replay: true }, { ...event(15), replay: true }, { type: "caught_up", after: 20, id: again });
  assert.deepEqual(seen, [[4, true], [7, true], [10, false], [15, true]], "what was handed over is not handed over again");
  one.close();
});

test("without a cursor the log is followed from now on, also over a loss before the first event", async () => {
  const net = network();
  const one = client(net);
  one.subscribe({}, {});
  one.connect();
  await net.now.begins(42);
  assert.equal(net.now.last("subscribe").after, 42);
  net.now.ends(1001);
  await reconnected(net, 2);
  await net.now.begins(50);
  assert.equal(net.now.last("subscribe").after, 42);
  one.close();
});

test("frames of the subscription before belong to nobody", async () => {
  const net = network();
  const [first, second] = [[], []];
  const one = client(net);
  one.subscribe({ after: 0 }, { event: ({ seq }) => first.push(seq) });
  one.connect();
  await net.now.begins();
  net.now.says(event(1));
  one.subscribe({ after: 5, thread: "other" }, { event: ({ seq }) => second.push(seq) });
  net.now.says(event(2));
  net.now.says({ type: "ack", id: net.now.last("subscribe").id, status: "ok", events: [] }, event(6));
  assert.deepEqual([first, second], [[1], [6]]);
  one.close();
});

test("another epoch is said before anything of it, and read anew", async () => {
  const net = network();
  const seen = [];
  const one = client(net);
  one.subscribe({ after: 0 }, { event: ({ seq }) => seen.push(seq), epoch: (change) => void seen.push(change), draft: ({ state }) => seen.push(state) });
  one.connect();
  await net.now.begins(2);
  net.now.says(event(1), event(2), { type: "delta", thread: "main", event_id: "e", at: 0, text: "Hel" });
  net.now.ends(1001);
  await reconnected(net, 2);
  const other = "11111111-3c1e-4a9f-9d3f-2b1a0c9d8e7f";
  await net.now.begins(1, other);
  assert.deepEqual(net.now.last("subscribe"), { type: "subscribe", after: 0, epoch: other, id: net.now.last("subscribe").id });
  net.now.says(event(1));
  assert.deepEqual(seen, [1, 2, "open", "open", "gone", { epoch: other, head: 1 }, 1]);
  one.close();
});

test("a cursor beyond the log's end is read anew, and a refused subscription is over", async () => {
  const net = network();
  const changes = [];
  let refused;
  const one = client(net);
  one.subscribe({ after: 99 }, { epoch: ({ head }) => void changes.push(head), refused: (error) => (refused = error.slug) });
  one.connect();
  await sleep(0);
  net.now.hello(7);
  const problem = (slug, status) => ({ type: "problem", id: net.now.last("subscribe").id, problem: { type: `/problems/${slug}`, title: "", status, detail: "" } });
  net.now.says(problem("cursor-ahead", 409));
  assert.deepEqual([changes, net.now.last("subscribe").after], [[7], 0]);
  net.now.says(problem("forbidden", 403));
  assert.equal(refused, "forbidden");
  assert.equal(one.cursor, undefined);
  one.close();
});

test("an older server that does not know debug is asked without", async () => {
  const net = network();
  const one = client(net);
  let refused;
  one.subscribe({ after: 0, debug: true }, { refused: (error) => (refused = error) });
  one.connect();
  await sleep(0);
  net.now.hello();
  net.now.says({ type: "problem", id: net.now.last("subscribe").id, problem: { type: "/problems/unknown-member", title: "", status: 400, detail: "" } });
  assert.equal("debug" in net.now.last("subscribe"), false);
  assert.equal(refused, undefined);
  one.close();
});

test("final close codes end it, passing ones do not", async () => {
  for (const [code, kind, reason] of [
    [4401, "closed", "unauthenticated"],
    [4403, "closed", "forbidden"],
    [1002, "closed", "protocol"],
    [1003, "closed", "protocol"],
    [1007, "closed", "protocol"],
    [1001, "waiting"],
    [1006, "waiting"],
    [1009, "waiting"],
    [1011, "waiting"],
    [4408, "waiting"],
    [4429, "waiting"],
  ]) {
    const net = network();
    const one = client(net).connect();
    await sleep(0);
    net.now.hello();
    net.now.ends(code, "why");
    assert.deepEqual([one.state.kind, one.state.reason], [kind, reason], String(code));
    one.close();
  }
});

test("a token that has ended is got anew, one that was never good is not tried twice", async () => {
  const net = network();
  let count = 0;
  const one = client(net, { token: () => `token ${(count += 1)}` }).connect();
  await sleep(0);
  net.now.hello();
  net.now.says({ type: "expiring", at: "2026-11-21T04:25:00Z" });
  await sleep(0);
  assert.equal(net.now.last("auth").token, "token 2");
  net.now.ends(4401);
  await reconnected(net, 2);
  assert.equal(net.now.last("auth").token, "token 3");
  net.now.ends(4401);
  assert.equal(one.state.kind, "closed");
  one.close();
});

test("a server that falls silent is left", async () => {
  const net = network();
  const one = client(net, { ping: 5, pong: 15 }).connect();
  await sleep(0);
  net.now.hello();
  for (let turn = 0; turn < 200 && net.sockets.length < 2; turn += 1) await sleep(1);
  assert.equal(net.sockets[0].last("ping")?.type, "ping");
  assert.equal(net.sockets.length, 2, "another connection");
  one.close();
});

test("what is not acknowledged goes again under its id, in order, until it is", async () => {
  const net = network();
  const one = client(net);
  const acks = ["a", "b"].map((text) => one.send("main", { text }));
  one.connect();
  await sleep(0);
  net.now.hello();
  const first = net.now.sent;
  assert.deepEqual(first.map((frame) => frame.text), ["a", "b"]);
  net.now.ends(1006);
  await reconnected(net, 2);
  net.now.hello();
  assert.deepEqual(net.now.sent, first, "the same frames, ids and event_ids with them");
  for (const { id } of first) net.now.says({ type: "ack", id, status: "duplicate", events: [{ event_id: "e", thread: "main", seq: 8 }] });
  assert.deepEqual((await Promise.all(acks)).map((ack) => ack.status), ["duplicate", "duplicate"]);
  assert.equal(one.head, 8);
  one.close();
});

test("what the log cannot take now goes again, with what was said behind it", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const net = network();
  const one = client(net);
  one.connect();
  await Promise.resolve();
  net.now.hello();
  const acks = ["a", "b"].map((text) => one.send("main", { text }));
  const ids = net.now.sent.map((frame) => frame.id);
  for (const id of ids) net.now.says({ type: "problem", id, problem: { type: "/problems/unavailable", title: "", status: 503, detail: "" } });
  const late = one.send("main", { text: "c" });
  assert.equal(net.now.sent.length, 2, "nothing overtakes what was refused");
  t.mock.timers.tick(2_500);
  assert.deepEqual(net.now.sent.slice(2).map((frame) => frame.text), ["a", "b", "c"]);
  for (const { id } of net.now.sent.slice(2)) net.now.says({ type: "ack", id, status: "queued", events: [] });
  await Promise.all([...acks, late]);
  one.close();
});

test("what is too big is refused here, or where the server closes over it", async () => {
  const net = network();
  const one = client(net).connect();
  await sleep(0);
  net.now.hello();
  await assert.rejects(one.send("main", { text: "x".repeat(1000) }), { slug: "too-large" });
  const sent = one.send("main", { text: "small" });
  net.now.ends(1009);
  await assert.rejects(sent, { slug: "too-large" });
  one.close();
});

test("closing rejects what waits, and aborting only that", async () => {
  const net = network();
  const one = client(net);
  const stop = new AbortController();
  const [kept, dropped] = [one.send("main", { text: "a" }), one.send("main", { text: "b" }, { signal: stop.signal })];
  stop.abort();
  await assert.rejects(dropped, { name: "AbortError" });
  assert.equal(one.waiting, 1);
  one.close();
  await assert.rejects(kept, ClosedError);
});

test("what waits is bounded", async () => {
  const one = client(network());
  const kept = Array.from({ length: 1000 }, (_, index) => one.send("main", { text: String(index) }));
  await assert.rejects(one.send("main", { text: "one more" }), { slug: "queue-full" });
  one.close();
  assert.ok((await Promise.allSettled(kept)).every((one) => one.status === "rejected"));
});

test("a handler that throws harms neither the connection nor the cursor", async (t) => {
  const net = network();
  const one = client(net);
  const seen = [];
  one.subscribe({ after: 0 }, { event: ({ seq }) => { seen.push(seq); if (seq === 1) throw new Error("a defect of the page"); } });
  one.connect();
  await net.now.begins();
  const outside = t.mock.method(globalThis, "queueMicrotask", () => undefined);
  net.now.says(event(1), event(2));
  assert.throws(outside.mock.calls[0].arguments[0], { message: "a defect of the page" }, "it is thrown where it is seen");
  assert.deepEqual([seen, one.cursor], [[1, 2], 2]);
  one.close();
});

test("pieces are joined by their place, and a hole is seen", () => {
  const drafts = new Drafts();
  const piece = (at, text) => drafts.delta({ type: "delta", thread: "main", event_id: "e", at, text });
  assert.equal(piece(0, "Zoë 👋").text, "Zoë 👋");
  assert.deepEqual([piece(5, "!").text, piece(9, "lost").hole], ["Zoë 👋!", true]);
  assert.equal(piece(9, "more").text, "Zoë 👋!", "nothing is shown behind a hole");
  assert.equal(piece(4, "🙂").text, "Zoë 🙂", "a piece that begins earlier replaces what was there");
  assert.deepEqual(drafts.broken().map((draft) => draft.hole), [true]);
  assert.equal(piece(5, "?").hole, false, "what goes on where it stood has no hole");
  assert.equal(drafts.end({ type: "delta_end", thread: "main", event_id: "e", outcome: "partial" }).state, "partial");
  const ended = event(3, ["turn", "ended", "turn:1"], { source: "internal" }).event;
  assert.deepEqual(drafts.event(ended).map((draft) => draft.state), ["gone"], "a turn that has ended writes nothing more");
  assert.deepEqual(drafts.event(ended), []);
});

test("drafts that nobody ends do not pile up", () => {
  const drafts = new Drafts();
  for (let index = 0; index < 1000; index += 1) drafts.delta({ type: "delta", thread: "main", event_id: String(index), at: 0, text: "x" });
  assert.ok(drafts.clear().length <= 256);
});
