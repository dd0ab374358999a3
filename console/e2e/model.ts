// A scripted endpoint that speaks as OpenAI's chat completions do: what each voice and the decision say, and how long they take. It is no part of the console.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What an endpoint answers with. */
export interface Answer {
  text?: string;
  /** Arguments that are a text are it, as a model may write what no value of JavaScript has. */
  calls?: { name: string; arguments: Record<string, unknown> | string }[];
  /** Milliseconds before the first piece, and between pieces. */
  after?: number;
  between?: number;
  /** An HTTP status instead of an answer. */
  status?: number;
}

/** A request as a script sees it. */
export interface Asked {
  /** The voice that is asked, by the names a script knows; empty: the decision, or something else. */
  voice: string;
  followUp: boolean;
  /** The last thing a user said. */
  said: string;
  /** The whole prompt as text. */
  prompt: string;
  tools: string[];
}

interface Body {
  messages: { role: string; content: string | { text?: string }[] }[];
  tools?: { function: { name: string } }[];
  stream?: boolean;
  model: string;
}

/** Starts an endpoint; `script` answers each request. */
export async function endpoint(script: (asked: Asked) => Answer | Promise<Answer>): Promise<{ url: string; close(): Promise<void>; server: Server }> {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (piece: Buffer) => (text += piece.toString()));
    request.on("end", () => void answer(JSON.parse(text) as Body, script, response));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    server,
    close: () => new Promise((done) => {
      server.closeAllConnections();
      server.close(() => done());
    }),
  };
}

function read(body: Body): Asked {
  const text = (content: Body["messages"][number]["content"]) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n"));
  const prompt = body.messages.map((message) => text(message.content)).join("\n\n");
  const said = [...prompt.matchAll(/^#\d+ \[[^\]]*\] user[^:]*: (.*)$/gm)].at(-1)?.[1] ?? "";
  const voice = /Your role:\nYou are (?:the )?(\w+)/.exec(prompt)?.[1] ?? "";
  return { voice, followUp: /has been made: .*Follow up/.test(prompt), said, prompt, tools: (body.tools ?? []).map((tool) => tool.function.name) };
}

// A test that is over does not wait for what it held back.
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms).unref());

async function answer(body: Body, script: (asked: Asked) => Answer | Promise<Answer>, response: ServerResponse): Promise<void> {
  const { text = "", calls = [], after = 0, between = 0, status } = await script(read(body));
  await pause(after);
  if (status) {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "too many requests" } }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: object, finish: string | null = null) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
  for (const piece of pieces(text)) {
    send({ content: piece });
    if (between) await pause(between);
  }
  for (const [index, call] of calls.entries()) {
    send({ tool_calls: [{ index, id: `call_${index}`, type: "function", function: { name: call.name, arguments: "" } }] });
    for (const piece of pieces(typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments))) {
      send({ tool_calls: [{ index, function: { arguments: piece } }] });
      if (between) await pause(between);
    }
  }
  send({}, calls.length ? "tool_calls" : "stop");
  const length = JSON.stringify(body).length;
  response.write(`data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: Math.round(length / 4), completion_tokens: Math.round(text.length / 4) + 20, prompt_tokens_details: { cached_tokens: Math.round(length / 6) } } })}\n\n`);
  response.end("data: [DONE]\n\n");
}

function pieces(text: string): string[] {
  return text.match(/[\s\S]{1,16}/g) ?? [];
}
