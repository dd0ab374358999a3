// A proxy that puts a path before the server, and takes it away again: the console and the documents work below it.
import { type IncomingMessage, type Server, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { Watched, launch } from "./browser.ts";
import { Thinkd } from "./server.ts";

const PATH = "/some/deep/path";

let browser: Browser;
let server: Thinkd;
let proxy: Server;
let place: string;

/** The same request to the server, without the path; none: it is for somebody else. */
function passed(asked: IncomingMessage) {
  if (!asked.url?.startsWith(`${PATH}/`)) return undefined;
  return request({ host: "127.0.0.1", port: server.port, method: asked.method, path: asked.url.slice(PATH.length), headers: { ...asked.headers, host: `127.0.0.1:${server.port}` } });
}

before(async () => {
  browser = await launch();
  server = await new Thinkd({}).start();
  proxy = createServer((asked, answer) => {
    const on = passed(asked);
    if (!on) return void answer.writeHead(404).end();
    on.on("response", (said) => said.pipe(answer.writeHead(said.statusCode ?? 502, said.headers)));
    on.on("error", () => answer.destroy());
    asked.pipe(on);
  });
  proxy.on("upgrade", (asked, socket) => {
    const on = passed(asked);
    if (!on) return void socket.destroy();
    on.on("upgrade", (said, upstream, first) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${said.rawHeaders.map((word, at) => (at % 2 ? `${word}\r\n` : `${word}: `)).join("")}\r\n`);
      socket.write(first);
      upstream.pipe(socket).pipe(upstream);
      for (const [one, other] of [[socket, upstream], [upstream, socket]] as const) one.on("error", () => other.destroy());
    });
    on.on("error", () => socket.destroy());
    on.end();
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  place = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${PATH}`;
});
after(async () => {
  await browser?.close();
  proxy?.closeAllConnections();
  proxy?.close();
  await server?.stop();
});

test("from the root of the path one comes to a console that talks", async () => {
  const one = await Watched.open(browser, place);
  await one.page.goto(`${place}/`);
  await one.page.waitForURL(`${place}/console/**`);
  await one.page.getByLabel("Say something to main").fill("hello from below");
  await one.page.keyboard.press("Enter");
  await one.sees(/You said: .hello from below./);
  one.clean();
  await one.close();
});

test("the documents are shown, and their lines for curl lead to this server", async () => {
  const one = await Watched.open(browser, place);
  await one.page.goto(`${place}/docs`);
  const livez = one.page.locator("details.operation").filter({ hasText: "/livez" });
  await livez.locator("summary").first().click();
  await livez.getByText(`curl '${place}/livez'`).waitFor();
  await one.page.goto(`${place}/docs/asyncapi`);
  await one.sees("subscribe");
  one.clean();
  await one.close();
});
