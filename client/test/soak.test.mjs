// Connections are cut and the server is killed at random while several people talk: the transcript of the client is the log, no event comes
// twice, every message is stored once, and memory stays flat. SOAK says how many faults; a few tens by default.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "../dist/index.js";
import { Door, Server, log, until } from "./support.mjs";

const FAULTS = Number(process.env.SOAK ?? 40);
/** One fault of so many is the death of the server. */
const KILLS = 10;

/** Chances that are the same for the same seed. */
function chances(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const heap = () => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

test(`after ${FAULTS} faults the transcript is the log`, { timeout: 3_600_000 }, async (t) => {
  const chance = chances(Number(process.env.SEED ?? 2026));
  const server = await new Server({ THINKD_LIMITS__FRAMES_PER_SECOND: "2000" }).start();
  const door = new Door(() => server.port);
  const url = await door.listen();
  const client = new Client({ url, backoff: { first: 5, most: 100 }, ping: 2_000, pong: 5_000 });
  // What is kept of an event is little, so that memory shows what the client keeps.
  const transcript = [];
  let replies = 0;
  client.subscribe({ after: 0 }, {
    event: ({ seq, event_id, meta }) => {
      transcript.push(`${seq} ${event_id}`);
      if (meta.tags.includes("response")) replies += 1;
    },
  });
  client.connect();

  const acks = [];
  let early = 0;
  for (let fault = 0; fault < FAULTS; fault += 1) {
    for (let message = chance(3); message >= 0; message -= 1) {
      const text = `message ${acks.length}`;
      acks.push(client.send(`talk-${chance(4)}`, { text }).then((ack) => [text, ack.events[0].seq]));
    }
    // What people say may wait for a while, not for ever.
    if (client.waiting > 30) await until("what waits", () => client.waiting < 10);
    await sleep(chance(60));
    if (chance(KILLS) === 0) {
      await server.kill();
      await sleep(chance(50));
      await server.start();
    } else {
      door.cut();
    }
    if (fault === Math.floor(FAULTS / 4)) early = heap();
  }
  const stored = await Promise.all(acks);
  const late = heap();

  // All turns come to their end, and the client is told of it.
  let left = "";
  const ended = async () => {
    const threads = (await client.api.listThreads({})).items;
    const { head } = await client.api.metadata();
    const busy = threads.filter((thread) => thread.status !== "idle").map(({ id, status }) => `${id} ${status}`);
    left = `${busy.join(", ") || "no thread"} at work; the cursor is ${client.cursor} of ${head}, ${client.state.kind}`;
    return busy.length === 0 && client.cursor >= head;
  };
  await until("the end of all turns", ended).catch((error) => assert.fail(`${error.message}: ${left}`));
  const events = await log(client);
  await until("the last event", () => client.cursor >= events.at(-1).seq);
  assert.deepEqual(transcript, events.map(({ seq, event_id }) => `${seq} ${event_id}`), "the transcript is the log");
  const inputs = events.filter((event) => event.meta.tags.includes("input"));
  assert.deepEqual(inputs.map((event) => event.payload.text).toSorted(), stored.map(([text]) => text).toSorted(), "each message is stored once");
  for (const [text, seq] of stored) assert.equal(inputs.find((event) => event.seq === seq)?.payload.text, text, "where its acknowledgement says");
  assert.ok(replies > 0, "somebody answered");
  assert.equal(client.waiting, 0);
  // 100 bytes are what the transcript above keeps of an event.
  const grown = late - early - transcript.length * 100;
  t.diagnostic(`${events.length} events, ${stored.length} messages, ${replies} replies, heap grown by ${Math.round(grown / 1024)} KiB`);
  assert.ok(grown < 8 << 20, `memory grew by ${grown} bytes`);
  client.close();
  door.close();
  await server.stop();
});
