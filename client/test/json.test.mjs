// Numbers that JavaScript would round: read, handed over and sent back digit by digit, over HTTP and over the socket.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "../dist/index.js";
import * as client from "../dist/index.js";

const { Exact, asWritten, readJson, writeJson } = client;

/** Of each: whether JavaScript holds it. */
const NUMBERS = [
  ["9007199254740991", true], ["9007199254740992", true], ["9007199254740993", false], ["-9007199254740993", false],
  ["9223372036854775807", false], ["-9223372036854775808", false], ["18446744073709551615", false], ["18446744073709551616", false],
  ["123456789012345678901234567890", false], ["1e400", false], ["-1E+400", false], ["1e-400", false], ["1e16", true], ["1.0", true],
  ["-0", true], ["-0.0", true], ["0e5", true], ["0.1", true], ["0.10", true], ["0.100000000000000000000000000000", true],
  ["0.100000000000000005551115123126", false], ["0.30000000000000004", true], ["1.7976931348623157e308", true], ["5e-324", true], ["2.50E-3", true],
];

/** Everywhere that a number can stand. */
const PLACES = [(it) => it, (it) => `[${it}]`, (it) => `{"a":${it}}`, (it) => `{"a":[[${it},{"b":${it}}],"x"],"c":${it}}`];

/** A client whose server answers these texts; `sent` are the bodies of its requests. */
function answering(text) {
  const sent = [];
  const fetcher = async (_address, { body }) => (sent.push(body), new Response(text, { headers: { "content-type": "application/json" } }));
  return { client: new Client({ url: "http://localhost:1", fetch: fetcher, webSocket: class {} }), sent };
}

test("a response has the digits of its numbers, and a body sends them back", async () => {
  const args = '{"id":9007199254740993,"deep":[{"n":[-9223372036854775807,1e400]}],"ratio":0.100000000000000005551115123126,"one":1.0,"big":1e16,"minus":-0,"text":"9007199254740993"}';
  const { client, sent } = answering(`{"items":[{"arguments":${args}}],"seq":3}`);
  const { items, seq } = await client.api.listApprovals();
  const [{ arguments: read }] = items;
  assert.equal(seq, 3);
  assert.equal(String(read.id), "9007199254740993");
  assert.deepEqual(read.deep[0].n.map(String), ["-9223372036854775807", "1e400"]);
  assert.equal(String(read.ratio), "0.100000000000000005551115123126");
  await client.approve("a", { arguments: read });
  assert.equal(sent[1], `{"verdict":"edit","arguments":${args}}`);
  await client.approve("a", { arguments: { ...read, text: "other" } });
  assert.match(sent[2], /"id":9007199254740993,/, "also out of an object that was made anew");
});

test("an event of the socket has the digits of its numbers", async () => {
  const sockets = [];
  class Fake {
    constructor() {
      sockets.push(this);
      queueMicrotask(() => this.onopen?.());
    }
    send(text) {
      if (text.includes("subscribe")) this.sent = text;
    }
    close() {}
  }
  const events = [];
  const client = new Client({ url: "http://localhost:1", webSocket: Fake });
  client.subscribe({ after: 0 }, { event: (event) => events.push(event) });
  client.connect();
  await sleep(0);
  const [socket] = sockets;
  const says = (text) => socket.onmessage({ data: text });
  says('{"type":"hello","protocol":"thinkd.v1","version":"0","space":"default","epoch":"e","head":1,"role":"member","limits":{"frame_bytes":1000}}');
  says(`{"type":"ack","id":"${JSON.parse(socket.sent).id}","status":"ok","events":[]}`);
  says('{"type":"event","event":{"seq":1,"event_id":"e","payload":{"output":{"ids":[18446744073709551615]},"cost":0.25},"meta":{"tags":["result"]}}}');
  client.close();
  assert.equal(String(events[0].payload.output.ids[0]), "18446744073709551615");
  assert.equal(events[0].payload.cost, 0.25);
  assert.equal(events[0].seq, 1);
});

test("a number is one of JavaScript where that is the same number, and comes out as it went in", () => {
  for (const [digits, isHeld] of NUMBERS) {
    const read = readJson(digits);
    assert.equal(typeof read === "number", isHeld, digits);
    if (isHeld) assert.ok(Object.is(read, Number(digits)), digits);
    else assert.ok(read instanceof Exact && read.digits === digits, digits);
    for (const place of PLACES.slice(1)) assert.equal(writeJson(readJson(place(digits))), place(digits));
    assert.equal(String(asWritten(readJson(`{"a":${digits}}`), "a")), digits);
  }
});

test("what is not a number is read and written as JSON.parse and JSON.stringify do", () => {
  const odd = ['{"__proto__":{"x":1.0},"a":1,"a":2.0}', '{"b":"1.0, 9007199254740993","c\\"\\\\":[ ],"d":{ }}', ' [1.0 ,\n null,true , false,"\\\\" ,"\\u00e9\\n" ]\t', '"1.0"', '{"2":1.0,"1":[]}'];
  for (const text of odd) {
    assert.deepEqual(readJson(text), JSON.parse(text), text);
    const plain = JSON.parse(text);
    for (const indent of [0, 1, 2]) assert.equal(writeJson(plain, indent), JSON.stringify(plain, null, indent), text);
  }
  const living = { at: new Date(0), none: undefined, run() {}, list: [undefined, , NaN], big: 12345678901234567890n, not: null };
  assert.equal(writeJson(living), '{"at":"1970-01-01T00:00:00.000Z","list":[null,null,null],"big":12345678901234567890,"not":null}');
  for (const text of ["", "{", "[1.0,]", "01", "+1", "1.", ".5", "NaN", '{"a":9007199254740993', "[1e400 2]"]) assert.throws(() => readJson(text), SyntaxError, text);
  for (const text of ["", "1]", "0x10", "Infinity", " 1"]) assert.throws(() => new Exact(text), SyntaxError, text);
});

test("a number that was changed is what it is now", () => {
  const read = readJson('{"a":1.0,"b":[1e16]}');
  read.a = 2;
  read.b[0] = 5;
  assert.equal(writeJson(read), '{"a":2,"b":[5]}');
});

test("under JSON.stringify no digit is lost either", () => {
  const text = JSON.stringify(readJson('{"a":9007199254740993}'));
  assert.ok(['{"a":9007199254740993}', '{"a":"9007199254740993"}'].includes(text), text);
});

test("a long text is read in a time that is in proportion to it", () => {
  const long = `{"a":1.0,"b":"${"x\\\\\\\"".repeat(500_000)}","c":[${"9007199254740993,".repeat(100_000)}1]}`;
  const begun = performance.now();
  assert.equal(writeJson(readJson(long)), long);
  assert.ok(performance.now() - begun < 5_000);
});
