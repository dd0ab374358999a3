// What is said and not yet acknowledged: in order, under ids that stay, so that each is stored once however often it is sent.

import type { Connection } from "./connection.js";
import { writeJson } from "./json.js";
import { ClosedError, ProblemError, refusal } from "./problem.js";
import type { Ack, Problem } from "./schemas.js";

/** What waits for its answer. */
interface Waiting {
  frame: { id: string } & Record<string, unknown>;
  bytes: number;
  sent: boolean;
  resolve(ack: Ack): void;
  reject(error: unknown): void;
}

/** How many messages may wait, and how many characters. */
const MOST = 1_000;
const MOST_CHARACTERS = 64 << 20;
/** Milliseconds until what the server could not write is sent again. */
const AGAIN = 1_000;

/** The messages of a client that are under way. */
export class Outbox {
  readonly #waiting = new Map<string, Waiting>();
  readonly #connection: () => Connection;
  #characters = 0;
  #last = 0;
  #limit = Number.POSITIVE_INFINITY;
  #again: ReturnType<typeof setTimeout> | undefined;

  constructor(connection: () => Connection) {
    this.#connection = connection;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Sends a frame now, or once there is a connection. */
  send(frame: Record<string, unknown>, signal?: AbortSignal): Promise<Ack> {
    return new Promise<Ack>((resolve, reject) => {
      signal?.throwIfAborted();
      const id = `m${(this.#last += 1)}`;
      const whole = { ...frame, id };
      const bytes = new TextEncoder().encode(writeJson(whole)).length;
      if (this.#waiting.size >= MOST || this.#characters + bytes > MOST_CHARACTERS) {
        throw refusal("queue-full", 429, "Too much waits", "the client holds as much as it may until the server is back");
      }
      this.#characters += bytes;
      this.#waiting.set(id, { frame: whole, bytes, sent: false, resolve, reject });
      signal?.addEventListener("abort", () => this.#take(id)?.reject(signal.reason), { once: true });
      this.#flush();
    });
  }

  /** The server is there: everything that waits goes, in order. */
  hello(limit: number): void {
    this.#limit = limit;
    this.#resend();
  }

  /** The connection is lost. One that the server found too big must not go again. */
  lost(code: number): void {
    clearTimeout(this.#again);
    this.#again = undefined;
    for (const [id, one] of this.#waiting) {
      if (code === 1009 && one.sent) this.#take(id)?.reject(refusal("too-large", 413, "This is too large", "the server closed the connection over it"));
      one.sent = false;
    }
  }

  /** The client is closed. */
  close(why: string): void {
    clearTimeout(this.#again);
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(new ClosedError(why));
  }

  /** An acknowledgement; says whether it was one of ours. */
  ack(ack: Ack): boolean {
    const one = this.#take(ack.id ?? "");
    one?.resolve(ack);
    return one !== undefined;
  }

  /** A refusal; says whether it was of one of ours. */
  problem(id: string, problem: Problem): boolean {
    if (!this.#waiting.has(id)) return false;
    const error = new ProblemError(problem);
    // The log cannot be written now: the same again, and what was said behind it after it.
    if (error.slug === "unavailable") this.#again ??= setTimeout(() => this.#resend(), AGAIN * (1 + Math.random()));
    else this.#take(id)?.reject(error);
    return true;
  }

  #take(id: string): Waiting | undefined {
    const one = this.#waiting.get(id);
    if (one && this.#waiting.delete(id)) this.#characters -= one.bytes;
    return one;
  }

  #resend(): void {
    this.#again = undefined;
    for (const one of this.#waiting.values()) one.sent = false;
    this.#flush();
  }

  #flush(): void {
    if (this.#again !== undefined) return;
    for (const [id, one] of this.#waiting) {
      if (one.sent) continue;
      if (one.bytes > this.#limit) {
        this.#take(id)?.reject(refusal("too-large", 413, "This is too large", `a frame has at most ${this.#limit} bytes; this one has ${one.bytes}`));
        continue;
      }
      if (!this.#connection().send(one.frame)) return;
      one.sent = true;
    }
  }
}
