// One request over HTTP: address, credentials, query, body, and what comes back. Which requests there are is in api.ts.

import { readJson, writeJson } from "./json.js";
import { ProblemError, UnreachableError } from "./problem.js";
import type { Problem } from "./schemas.js";

/** What every request takes. */
export interface Options {
  /** Ends the request early. */
  signal?: AbortSignal;
}

/** How a response is handed back. */
export type As = "json" | "nothing" | "response";

/** Makes one request; rejects with `ProblemError` or `UnreachableError`. */
export type Request = (method: string, path: string, as: As, parts: Options & { query?: object; body?: unknown }) => Promise<unknown>;

/** The token in force, asked for at each request. */
export type Token = () => string | undefined | Promise<string | undefined>;

/** A function that makes requests to the server at `base`, which has no trailing slash. */
export function requester(base: string, token: Token, fetcher: typeof fetch): Request {
  return async (method, path, as, { query, body, signal }) => {
    const headers = new Headers({ accept: "application/json" });
    const secret = await token();
    if (secret !== undefined) headers.set("authorization", `Bearer ${secret}`);
    const init: RequestInit = { method, headers, ...(signal ? { signal } : {}) };
    if (body !== undefined) init.body = encoded(body, headers);
    const response = await asked(fetcher, base + path + search(query), init);
    if (!response.ok) throw await problem(response);
    if (as === "nothing") return undefined;
    return as === "json" ? readJson(await response.text()) : response;
  };
}

async function asked(fetcher: typeof fetch, address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetcher(address, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new UnreachableError(`no answer from ${new URL(address).origin}`, { cause: error });
  }
}

/** Bytes go as they are, everything else as JSON. */
function encoded(body: unknown, headers: Headers): BodyInit {
  if (body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body)) {
    headers.set("content-type", (body instanceof Blob && body.type) || "application/octet-stream");
    return body as BodyInit;
  }
  headers.set("content-type", "application/json");
  return writeJson(body);
}

/** A query: lists repeat their name, and what is absent is left out. */
function search(query: object | undefined): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) search.append(name, String(one));
    }
  }
  const text = search.toString();
  return text && `?${text}`;
}

async function problem(response: Response): Promise<Error> {
  const after = Number(response.headers.get("retry-after") ?? NaN);
  const seconds = Number.isFinite(after) ? after : undefined;
  try {
    const problem = readJson(await response.text()) as Problem;
    if (typeof problem.type === "string" && typeof problem.detail === "string") return new ProblemError(problem, seconds);
  } catch {
    // Not JSON: whatever stands between the server and us has answered.
  }
  return new UnreachableError(`${response.status} ${response.statusText}, which is no answer of thinkd`);
}
