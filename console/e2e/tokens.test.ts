// Tokens that end while the page is open: said before, and another one is taken without losing what the page has.
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { Thinkd } from "./server.ts";

const ISSUER = "https://login.example";
/** Milliseconds before its end that the server speaks of it. */
const BEFORE = 12_000;
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token that ends in so many seconds. */
function token(seconds: number, space = "default"): string {
  const head = part({ alg: "EdDSA", typ: "JWT", kid: "k" });
  const body = part({ iss: ISSUER, aud: "thinkd", sub: "ada", space, role: "member", exp: Math.floor(Date.now() / 1000) + seconds });
  return `${head}.${body}.${sign(null, Buffer.from(`${head}.${body}`), privateKey).toString("base64url")}`;
}

let browser: Browser;
let issuer: Server;
let server: Thinkd;
before(async () => {
  browser = await launch();
  const keys = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "EdDSA", use: "sig" }] });
  issuer = createServer((_, response) => response.writeHead(200, { "content-type": "application/json" }).end(keys));
  await new Promise<void>((done) => issuer.listen(0, "127.0.0.1", done));
  const { port } = issuer.address() as AddressInfo;
  server = new Thinkd({ THINKD_JWT__ISSUER: ISSUER, THINKD_JWT__AUDIENCE: "thinkd", THINKD_JWT__JWKS_URL: `http://127.0.0.1:${port}/`, THINKD_TEST_JWT__LEEWAY_S: "0", THINKD_TEST_JWT__EXPIRING_MS: String(BEFORE) });
  await server.start();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  issuer?.close();
});

async function opened(seconds: number): Promise<Watched> {
  const one = await Watched.open(browser, server.url, "#/t/main");
  one.quiet = true; // Without a token the first requests are refused.
  await one.sees("This server asks for a key");
  await one.page.getByRole("textbox", { name: "Key", exact: true }).fill(token(seconds));
  await one.page.getByRole("button", { name: "Open" }).click();
  await one.page.getByLabel("Say something to main").fill("half a sentence");
  return one;
}
const draft = (one: Watched) => one.page.getByLabel("Say something to main").inputValue();

test("that a token is about to end is said, and with another one the same connection goes on beyond that", async () => {
  const one = await opened(BEFORE / 1000 + 2);
  await one.sees(/The key of this page ends at/);
  const end = Date.now() + BEFORE;
  await one.axe("a token that is about to end");
  const sockets: string[] = [];
  one.page.on("websocket", (socket) => sockets.push(socket.url()));
  await one.page.getByRole("button", { name: "Give another one" }).click();
  await one.page.getByRole("textbox", { name: "Key", exact: true }).fill("of nobody");
  await one.page.getByRole("button", { name: "Go on with it" }).click();
  await one.page.getByRole("button", { name: "Give another one" }).click();
  await one.sees("unauthenticated");
  await one.page.getByRole("textbox", { name: "Key", exact: true }).fill(token(3_600));
  await one.page.getByRole("button", { name: "Go on with it" }).click();
  await one.page.getByText(/The key of this page ends at/).waitFor({ state: "detached" });
  await one.page.waitForTimeout(Math.max(0, end - Date.now()) + 1_500);
  await one.sees("up to date");
  assert.equal(await draft(one), "half a sentence");
  await one.page.getByLabel("Say something to main").press("Enter");
  await one.sees(/half a sentence/);
  await one.page.locator(".said.mind").first().waitFor();
  assert.deepEqual(sockets, [], "the connection is the same one");
  await one.close();
});

test("a token that has ended is asked for again, and the page goes on where it was; one of another space shows nothing of this one", async () => {
  const one = await opened(4);
  await one.sees("The key has ended, or is not taken any more");
  await one.page.getByRole("textbox", { name: "Key", exact: true }).fill(token(3_600));
  await one.page.getByRole("button", { name: "Go on" }).click();
  await one.sees("up to date");
  assert.equal(await draft(one), "half a sentence");
  await one.close();

  const two = await opened(4);
  await two.sees("half a sentence");
  await two.sees("The key has ended, or is not taken any more");
  await two.page.getByRole("textbox", { name: "Key", exact: true }).fill(token(3_600, "elsewhere"));
  await two.page.getByRole("button", { name: "Go on" }).click();
  await two.sees("Nothing has been said in main yet");
  await two.sees("up to date");
  assert.equal(await two.page.locator(".said.you").count(), 0);
  await two.close();
});
