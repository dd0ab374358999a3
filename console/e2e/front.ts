// A door before a server, for pages whose network is slow: it serves the console's files from a folder, compressed as the server does, and hands on everything else. The browser's own
// interception would go around its slow network.
import { readFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const TYPES: Record<string, string> = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml", woff2: "font/woff2" };

/** Opens a door; without a folder the server's own files are handed on. */
export async function front(url: string, folder: string | undefined): Promise<{ url: string; server: Server; close: () => void }> {
  const policy = (await fetch(`${url}/console/`)).headers.get("content-security-policy") ?? "";
  const { port } = new URL(url);
  const server = createServer((asked, answer) => {
    const path = (asked.url ?? "").split("?")[0]!;
    if (folder !== undefined && path.startsWith("/console/")) {
      const name = path.slice("/console/".length) || "index.html";
      const body = readFileSync(join(folder, name));
      const packed = !name.endsWith(".woff2");
      answer.writeHead(200, { "content-type": TYPES[name.split(".").at(-1)!] ?? "text/plain", "content-security-policy": policy, ...(packed ? { "content-encoding": "gzip" } : {}) });
      answer.end(packed ? gzipSync(body, { level: 9 }) : body);
      return;
    }
    const on = request({ port, host: "127.0.0.1", path: asked.url, method: asked.method, headers: { ...asked.headers, host: `127.0.0.1:${port}` } }, (told) => {
      answer.writeHead(told.statusCode ?? 502, told.headers);
      told.pipe(answer);
    });
    on.on("error", () => answer.destroy());
    asked.pipe(on);
  });
  server.on("upgrade", (asked, socket, head) => {
    const on = connect(Number(port), "127.0.0.1", () => {
      const headers = Object.entries({ ...asked.headers, host: `127.0.0.1:${port}`, ...(asked.headers.origin ? { origin: url } : {}) }).map(([name, value]) => `${name}: ${String(value)}`);
      on.write(`GET ${asked.url} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
      on.write(head);
      socket.pipe(on).pipe(socket);
    });
    on.on("error", () => socket.destroy());
    socket.on("error", () => on.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, close: () => (server.closeAllConnections(), server.close()) };
}
