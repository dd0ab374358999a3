// One thread in four tongues at once: the native socket, server-sent events, OpenAI's chat completions and the console. Each one's view is computed from the log.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { type Answer, type Asked, endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

type Event = { seq: number; event_id: string; thread: string; payload: Record<string, unknown>; meta: { tags: string[] } };
type Line = [kind: string, words: string];
type Listener = { native: { heard: { socket: string[]; stream: string[] }; socket: WebSocket } };
type Message = { role: "user" | "assistant"; content: string };

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let server: Thinkd;

function decision({ said, prompt }: Asked): Answer {
  const since = prompt.slice(prompt.lastIndexOf(`: ${said}`));
  const reply = (text: string, between = 0): Answer => ({ calls: [{ name: "reply", arguments: { text } }], between });
  if (/write down/.test(said) && !/(call|result) state_put/.test(since)) return { calls: [{ name: "state_put", arguments: { key: "list", content: said, related_keys: [] } }] };
  if (/doomed/.test(said)) return { status: 400 };
  return reply(`You said: ${said}`, /slowly/.test(said) ? 400 : 0);
}

before(async () => {
  browser = await launch();
  model = await endpoint((asked) => (asked.voice ? { text: "PASS" } : decision(asked)));
  server = await new Thinkd({ THINKD_MODEL: "scripted", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_RUNTIME__DEFAULT_SUBMODULES: "false", THINKD_TOOLS__APPROVAL: '["state_put"]' }).start();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
});

/** All events of a thread that people may see, from the log. */
async function log(thread: string): Promise<Event[]> {
  const all: Event[] = [];
  for (let after = 0; ; ) {
    const { items } = await server.call<{ items: Event[] }>("GET", `/events?thread=${thread}&order=asc&limit=200&after=${after}`);
    if (items.length === 0) return all;
    all.push(...items);
    after = items.at(-1)!.seq;
  }
}

const has = (event: Event, ...tags: string[]) => tags.every((tag) => event.meta.tags.includes(tag));
const text = (event: Event) => String(event.payload.text ?? "");

/** The lines of a talk, as a person has to see them: computed from the events alone. */
function talk(events: Event[]): Line[] {
  const lines: Line[] = [];
  let replies = 0;
  for (const event of events) {
    if (has(event, "turn", "started")) replies = 0;
    if (has(event, "input")) lines.push(["you", text(event)]);
    else if (has(event, "response")) replies = lines.push(["mind", text(event) + (has(event, "partial") ? "\n\ncut off" : "")]);
    else if (has(event, "approval", "pending")) lines.push(["approval", ""]);
    else if (has(event, "turn", "ended") && event.payload.outcome === "failed") lines.push(["failed", ""]);
    else if (has(event, "turn", "ended") && replies === 0) lines.push(["quiet", ""]);
  }
  return lines;
}

/** The words of the turn that was about an input: the answer to it in a protocol that has one answer a message. */
function answerTo(events: Event[], words: string): string {
  const said = events.findLast((event) => has(event, "input") && text(event) === words)!;
  const turn = events.find((event) => has(event, "turn", "started") && (event.payload.batch as number[]).includes(said.seq))!.payload.turn;
  return events.filter((event) => has(event, "response") && event.payload.turn === turn).map(text).join("\n\n");
}

/** A page that follows a thread by the native socket and by server-sent events, and begins again after its last event when it is cut off. */
async function follow(page: Page, thread: string): Promise<void> {
  await page.evaluate((thread) => {
    const heard = { socket: [] as string[], stream: [] as string[], last: 0 };
    const native = {
      heard,
      socket: undefined as WebSocket | undefined,
      connect() {
        this.socket = new WebSocket(`ws://${location.host}/ws`);
        this.socket.onopen = () => this.socket!.send(JSON.stringify({ type: "subscribe", thread, after: heard.last }));
        this.socket.onmessage = ({ data }) => {
          const { type, event } = JSON.parse(String(data));
          if (type !== "event") return;
          heard.socket.push(event.event_id);
          heard.last = event.seq;
        };
        this.socket.onclose = () => setTimeout(() => this.connect(), 100);
      },
    };
    Object.assign(window, { native });
    native.connect();
    const stream = new EventSource(`/events/stream?thread=${thread}&after=0`);
    stream.onmessage = ({ data }) => heard.stream.push(JSON.parse(String(data)).event_id);
  }, thread);
}

/** A client of OpenAI's chat completions that keeps the messages itself, as such clients do. */
class Chat {
  messages: Message[] = [];
  thread = "";

  constructor(readonly model: string) {}

  /** Says something and reads the stream; one that breaks off is asked for again, as OpenAI's own client does. */
  async say(words: string): Promise<string> {
    this.messages.push({ role: "user", content: words });
    for (let retry = 0; ; retry += 1) {
      try {
        const content = await this.#ask(retry);
        this.messages.push({ role: "assistant", content });
        return content;
      } catch (error) {
        if (retry > 100) throw error;
        await new Promise((done) => setTimeout(done, 100));
      }
    }
  }

  async #ask(retry: number): Promise<string> {
    const headers = { "content-type": "application/json", "x-stainless-retry-count": String(retry) };
    const response = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", headers, body: JSON.stringify({ model: this.model, stream: true, messages: this.messages }) });
    assert.equal(response.status, 200, await response.clone().text());
    this.thread = response.headers.get("x-thinkd-thread")!;
    const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
    assert.equal(lines.at(-1), "data: [DONE]");
    const pieces = lines.slice(0, -1).map((line) => JSON.parse(line.slice(6)));
    const broken = pieces.find((piece) => piece.error);
    if (broken) throw new Error(JSON.stringify(broken));
    return pieces.map((piece) => piece.choices[0]?.delta.content ?? "").join("");
  }
}

/** The lines of the talk as they stand in the page. */
async function shown(one: Watched): Promise<Line[]> {
  return one.page.locator(".lines > .said").evaluateAll((all) =>
    all.map((line): [string, string] => {
      const kind = [...line.classList].find((name) => ["you", "mind", "question", "approval", "mission", "quiet", "failed"].includes(name)) ?? "";
      return [kind, ["you", "mind"].includes(kind) ? (line.querySelector(".tx") as HTMLElement).innerText.trim() : ""];
    }),
  );
}

/** Waits until each tongue has told all of the log. */
async function agree(one: Watched, native: Page, thread: string): Promise<void> {
  let differ = "";
  await until(async () => {
    const events = await log(thread);
    const ids = events.map((event) => event.event_id);
    const heard = await native.evaluate(() => (window as unknown as Listener).native.heard);
    const [said, lines] = [await shown(one), talk(events)];
    const wrong = { socket: heard.socket.join() !== ids.join(), stream: heard.stream.join() !== ids.join(), console: JSON.stringify(said) !== JSON.stringify(lines) };
    differ = JSON.stringify({ wrong, said, lines, ids: ids.length, socket: heard.socket.length, stream: heard.stream.length }, null, 1);
    return !Object.values(wrong).some(Boolean);
  }, 30_000).catch(() => assert.fail(`the tongues do not agree: ${differ}`));
}

test("ten turns of one thread in four tongues: each has what the log says", async () => {
  const one = await Watched.open(browser, server.url, "#/t/shared");
  const listener = await Watched.open(browser, server.url, "#/threads");
  one.quiet = listener.quiet = true; // the server is killed once
  await follow(listener.page, "shared");
  const chat = new Chat("thinkd/shared");
  const type = async (words: string) => {
    await one.page.getByLabel(/^Say something/).fill(words);
    await one.page.getByLabel(/^Say something/).press("Enter");
  };
  const ended = (turns: number) => until(async () => (await log("shared")).filter((event) => has(event, "turn", "ended")).length >= turns);
  const native = async (frame: object) => {
    await until(() => listener.page.evaluate(() => (window as unknown as Listener).native.socket.readyState === WebSocket.OPEN));
    await listener.page.evaluate((frame) => (window as unknown as Listener).native.socket.send(JSON.stringify(frame)), frame);
  };
  const approve = async () => {
    await one.page.getByRole("article", { name: "Approval", exact: true }).last().getByRole("button", { name: "Approve", exact: true }).click();
  };

  await native({ type: "message", id: crypto.randomUUID(), thread: "shared", text: "one" });
  await ended(1);
  assert.equal(await chat.say("two"), "You said: two");
  await type("three");
  await ended(3);
  // Words that others said stand between two of its own.
  assert.equal(await chat.say("four"), "You said: four");
  assert.equal(chat.thread, "shared");
  await agree(one, listener.page, "shared");

  // An approval that the console's words need, and one that the chat page's need: given in the console.
  await type("write down five");
  await approve();
  await ended(6);
  const waits = await chat.say("write down six");
  assert.match(waits, /state_put/);
  await approve();
  await ended(8);
  await agree(one, listener.page, "shared");

  // A failure, a cancel.
  await native({ type: "message", id: crypto.randomUUID(), thread: "shared", text: "doomed" });
  await ended(9);
  await type("slowly, and stopped");
  await one.page.locator(".said.mind[aria-busy=true]").waitFor();
  await server.call("POST", "/threads/shared/cancel");
  await ended(10);
  await agree(one, listener.page, "shared");

  // The server dies while a reply streams; the chat page asks again.
  const cut = chat.say("slowly, and cut off");
  await one.page.locator(".said.mind[aria-busy=true]").waitFor();
  await server.kill();
  await server.start();
  assert.equal(await cut, "You said: slowly, and cut off");
  await ended(11);
  await agree(one, listener.page, "shared");
  const events = await log("shared");
  for (const [index, message] of chat.messages.entries()) {
    if (message.role === "user" && message.content !== "write down six") assert.equal(chat.messages[index + 1]!.content, answerTo(events, message.content));
  }
  assert.equal(events.filter((event) => has(event, "input") && text(event) === "slowly, and cut off").length, 1);

  // A message is changed: a fork, in all tongues.
  const before = (await log("shared")).length;
  chat.messages.splice(2);
  assert.equal(await chat.say("another second"), "You said: another second");
  assert.notEqual(chat.thread, "shared");
  assert.equal((await log("shared")).length, before);
  await one.go(`#/t/${chat.thread}`);
  await listener.page.reload();
  await follow(listener.page, chat.thread);
  await agree(one, listener.page, chat.thread);
  const lines = talk(await log(chat.thread)).filter(([kind]) => kind === "you" || kind === "mind");
  // Another client said the first message.
  assert.deepEqual(lines.slice(2), chat.messages.map(({ role, content }) => [role === "user" ? "you" : "mind", content]));
  await one.close();
  await listener.close();
});
