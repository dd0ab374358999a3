// Numbers that JavaScript would round, in the browser: what is seen of a waiting call is what runs, digit by digit.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { endpoint } from "./model.ts";
import { Thinkd, until } from "./server.ts";

/** Each with what runs of it: as the server writes it. */
const NUMBERS: [written: string, runs: string][] = [
  ["9007199254740993", "9007199254740993"],
  ["-9223372036854775807", "-9223372036854775807"],
  ["18446744073709551615", "18446744073709551615"],
  ["1e16", "1e+16"],
  ["-0.0", "-0.0"],
  ["0.100000000000000000000000000000", "0.1"],
];
const REFUSED = ["1e400", "0.100000000000000005551115123126", "18446744073709551616"];
const argumentsOf = (number: string) => `{"to":"bob","n":${number},"list":[[{"id":${number}}]]}`;
const KIND = '"kind":{"enum":[9007199254740993,1.0],"minimum":-9007199254740993},';
const SCHEMA = `{"type":"object","properties":{"to":{"type":"string"},"n":{"type":"number"},${KIND}"list":{}}}`;

let browser: Browser;
let model: Awaited<ReturnType<typeof endpoint>>;
let tools: Server;
let server: Thinkd;
/** What ran: the bodies of calls, as text. */
const ran: string[] = [];

/** A server of tools over HTTP whose messages are texts, so that no digit is lost in it. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const piece of request) body += String(piece);
  if (request.method !== "POST") return void response.writeHead(405).end();
  const { id, method } = JSON.parse(body) as { id?: number; method: string };
  const say = (result: string) => response.writeHead(200, { "content-type": "application/json" }).end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
  const tool = (name: string) => `{"name":"${name}","description":"Does it.","inputSchema":${name === "set" ? SCHEMA.replace(KIND, "") : SCHEMA}}`;
  if (id === undefined) response.writeHead(202).end();
  else if (method === "initialize") say('{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}');
  else if (method === "tools/list") say(`{"tools":[${tool("set")},${tool("see")}]}`);
  else if (method === "tools/call") {
    ran.push(body);
    say('{"content":[],"structuredContent":{"id":9007199254740993,"far":[-9223372036854775807],"one":1.0}}');
  } else say("{}");
}

before(async () => {
  browser = await launch();
  tools = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(tools, "listening");
  model = await endpoint((asked) => {
    if (asked.voice) return { text: "PASS" };
    const since = asked.prompt.slice(asked.prompt.lastIndexOf(`: ${asked.said}`));
    const [, tool = "", number = ""] = /^(set|see) (\S+)$/.exec(asked.said) ?? [];
    if (tool && !/mcp__n__/.test(since)) return { calls: [{ name: `mcp__n__${tool}`, arguments: argumentsOf(number) }] };
    return { calls: [{ name: "reply", arguments: { text: "So it is." } }] };
  });
  const { port } = tools.address() as AddressInfo;
  server = new Thinkd({ THINKD_MODEL: "m", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x", THINKD_TOOLS__APPROVAL: '["mcp__n__set"]', THINKD_TOOLS__MCP: `{n={url="http://127.0.0.1:${port}/mcp"}}` });
  await server.start();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await model?.close();
  tools?.closeAllConnections();
  tools?.close();
});

test("a waiting call shows the numbers that run, and editing another field leaves them alone", async () => {
  for (const [written, runs] of NUMBERS) {
    await server.say(`set ${written}`);
    const one = await Watched.open(browser, server.url, "#/inbox");
    await one.sees("What runs");
    const values = one.page.locator(".args .value");
    await one.sees(`"id": ${runs}`);
    assert.deepEqual((await values.allInnerTexts()).map((text) => text.replace(/\s/g, "")).sort(), ["bob", runs, `[[{"id":${runs}}]]`].sort(), written);
    await one.page.getByRole("button", { name: "as JSON" }).click();
    await one.sees(`"n": ${runs},`);
    await one.page.getByRole("button", { name: "as JSON" }).click();
    await one.page.keyboard.press("e");
    await one.page.getByLabel("to", { exact: true }).fill("anne");
    await one.sees("1 field changed by you");
    await one.page.getByRole("button", { name: /Approve as changed/ }).click();
    await until(async () => ran.length > 0);
    const heard = ran.pop()!;
    for (const part of [`"n":${runs}`, `{"id":${runs}}`, '"to":"anne"']) assert.ok(heard.includes(part), `${part} in ${heard}`);
    await one.sees("Nothing waits for you");
    one.clean();
    await one.close();
  }
});

test("a number that is typed is what runs, and one that cannot is refused with advice", async () => {
  await server.say("set 1");
  const one = await Watched.open(browser, server.url, "#/inbox");
  one.quiet = true; // a refusal is an error of the network, too
  await one.sees("What runs");
  const focused = await one.page.evaluate(async () => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "e", bubbles: true }));
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    return document.activeElement?.id;
  });
  assert.match(focused ?? "", /^c\d+-/, "a key or a click that follows finds the focus where it stays");
  for (const number of REFUSED) {
    await one.page.getByLabel("n", { exact: true }).fill(number);
    await one.page.getByRole("button", { name: /Approve as changed/ }).click();
    await one.sees(`the number ${number} cannot be kept`);
  }
  await one.page.getByLabel("n", { exact: true }).fill("9007199254740995");
  await one.page.getByRole("button", { name: /Approve as changed/ }).click();
  await until(async () => ran.length > 0);
  assert.ok(ran.pop()!.includes('"n":9007199254740995'));
  await one.close();
});

test("a call that cannot be shown exactly does not wait; one that needs nobody runs", async () => {
  for (const number of REFUSED) {
    await server.say(`set ${number}`);
    const one = await Watched.open(browser, server.url, "#/inbox");
    await one.sees("Nothing waits for you");
    await one.go("#/log");
    await one.sees(`the number ${number} cannot be kept digit by digit: write it as text`);
    one.clean();
    await one.close();
  }
  assert.equal(ran.length, 0);
  await server.say(`see ${REFUSED[1]!}`);
  assert.ok(ran.pop()!.includes('"n":0.1,'));
});

test("the log, and what was asked of the model, have the digits of results and schemas", async () => {
  await server.say("see 18446744073709551615");
  ran.pop();
  const { items } = await server.call<{ items: { seq: number; event_id: string; payload: { module?: string } }[] }>("GET", "/events?limit=50&order=desc&debug=true&tags=result");
  const [result] = items.filter((event) => JSON.stringify(event).includes("mcp__n__see"));
  const one = await Watched.open(browser, server.url, `#/log/${result!.seq}`);
  await one.page.getByRole("button", { name: "raw", exact: true }).last().click();
  await one.sees(/"id": 9007199254740993,/);
  await one.sees(/-9223372036854775807/);
  await one.sees(/"one": 1\.0/);
  const calls = await server.call<{ items: { event_id: string }[] }>("GET", "/events?limit=50&order=desc&debug=true&tags=call:decision");
  assert.ok(calls.items.length > 0);
  await one.go(`#/call/${calls.items[0]!.event_id}`);
  await one.page.getByRole("button", { name: /sent/i }).first().click();
  await one.sees(/9007199254740993/);
  assert.ok(!(await one.page.locator("body").innerText()).includes("9007199254740992"));
  one.clean();
  await one.close();
});
