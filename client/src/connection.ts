// One socket at a time, kept alive: opening, credentials, pings, and the next try. What frames mean is in client.ts.

import { final, pause, type Backoff, type Final } from "./closing.js";
import type { Hello, ServerFrame } from "./frames.js";
import type { Token } from "./http.js";
import { readJson, writeJson } from "./json.js";
import { Signal, guarded } from "./signal.js";

/** What a connection is doing. */
export type State =
  | { kind: "closed"; reason: "not started" | "closed" | Final; detail: string }
  /** `attempt` counts from 1 since the last time that the server answered. */
  | { kind: "connecting"; attempt: number }
  /** No server; the next try comes at `at` (milliseconds, as Date.now). */
  | { kind: "waiting"; attempt: number; at: number; code: number; detail: string }
  /** The server has answered, and replays what was missed: `head - cursor` events are to go, at most. */
  | { kind: "catching up" }
  | { kind: "live" };

/** The part of a WebSocket that is used: browsers', Node's from 22.4 on, and that of the package `ws`. */
export interface Socket {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  onopen: unknown;
  onmessage: unknown;
  onclose: unknown;
  onerror: unknown;
}

/** Makes a socket. */
export type SocketClass = new (address: string) => Socket;

/** Whom a connection tells. */
export interface Ends {
  /** The server knows who we are: subscribe, and send what waits. Says whether something is replayed. */
  hello(hello: Hello): boolean;
  frame(frame: Exclude<ServerFrame, Hello>): void;
  /** The socket is gone; whatever was not answered is not going to be. */
  lost(code: number): void;
}

/** What a connection needs. */
export interface Needs {
  address: string;
  /** Absent where only HTTP is used. */
  socket: SocketClass | undefined;
  token: Token;
  /** Whether `token` may bring another one the next time. */
  renewable(): boolean;
  backoff: Backoff;
  /** Milliseconds between pings, and how long a pong may take. */
  ping: number;
  pong: number;
}

/** A connection that stays below this many milliseconds counts as a failed try. */
const STEADY = 5_000;

/** A connection that comes back. */
export class Connection {
  readonly states = new Signal<State>();
  #state: State = { kind: "closed", reason: "not started", detail: "" };
  #socket: Socket | undefined;
  #known = false;
  #attempt = 0;
  #since = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #pinging: ReturnType<typeof setInterval> | undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  readonly #needs: Needs;
  readonly #ends: Ends;

  constructor(needs: Needs, ends: Ends) {
    this.#needs = needs;
    this.#ends = ends;
  }

  get state(): State {
    return this.#state;
  }

  /** Starts, or starts again. */
  open(): void {
    if (this.#state.kind !== "closed") return;
    this.#attempt = 0;
    this.#try();
  }

  /** Ends for good, until `open`. */
  close(): void {
    this.#drop(1000);
    this.#set({ kind: "closed", reason: "closed", detail: "the client was closed" });
  }

  /** Does at once what is waited for: the next try, or a ping that shows whether the socket still lives. */
  wake(): void {
    if (this.#state.kind === "waiting") this.#try();
    else if (this.#known) this.#ping();
  }

  /** Sends a frame, if the server knows who we are. */
  send(frame: object): boolean {
    if (!this.#known || !this.#socket) return false;
    this.#socket.send(writeJson(frame));
    return true;
  }

  /** The replay is over. */
  caughtUp(): void {
    if (this.#state.kind === "catching up") this.#set({ kind: "live" });
  }

  /** A new replay has begun. */
  catchingUp(): void {
    if (this.#state.kind === "live") this.#set({ kind: "catching up" });
  }

  /** Gives the socket up and tries again later, as if it had been lost. */
  again(code: number, detail: string): void {
    if (this.#socket) this.#lost(code, detail);
  }

  #set(state: State): void {
    this.#state = state;
    this.states.emit(state);
  }

  #try(): void {
    const { address, socket: SocketOf } = this.#needs;
    if (!SocketOf) throw new Error("there is no global WebSocket here: pass one as `webSocket`");
    clearTimeout(this.#retry);
    this.#attempt += 1;
    this.#set({ kind: "connecting", attempt: this.#attempt });
    let socket: Socket;
    try {
      socket = new SocketOf(address);
    } catch (error) {
      this.#wait(1006, String(error));
      return;
    }
    this.#socket = socket;
    const mine = (): boolean => this.#socket === socket;
    socket.onopen = () => mine() && void this.#introduce(socket);
    socket.onmessage = ({ data }: { data: unknown }) => mine() && this.#read(String(data));
    socket.onclose = ({ code, reason }: { code: number; reason: string }) => mine() && this.#lost(code, String(reason));
    socket.onerror = () => undefined; // a close follows
    this.#listen("the server did not answer in time");
  }

  async #introduce(socket: Socket): Promise<void> {
    try {
      const token = await this.#needs.token();
      // Without a token the server is made to say at once whether it wants one.
      if (this.#socket === socket) socket.send(JSON.stringify(token === undefined ? { type: "ping" } : { type: "auth", token }));
    } catch (error) {
      if (this.#socket === socket) this.#lost(1006, `there is no token: ${String(error)}`);
    }
  }

  /** Gives the server some time to say something, unless it has some already. */
  #listen(otherwise: string): void {
    this.#silence ??= setTimeout(() => this.#lost(1006, otherwise), this.#needs.pong);
  }

  #heard(): void {
    clearTimeout(this.#silence);
    this.#silence = undefined;
  }

  #read(text: string): void {
    this.#heard();
    let frame: ServerFrame;
    try {
      frame = readJson(text) as ServerFrame;
    } catch {
      this.#lost(1006, "what answered is no thinkd");
      return;
    }
    if (frame.type === "hello") this.#greeted(frame);
    else guarded(() => this.#ends.frame(frame));
  }

  #greeted(hello: Hello): void {
    this.#known = true;
    this.#since = Date.now();
    this.#pinging = setInterval(() => this.#ping(), this.#needs.ping);
    const replays = guarded(() => this.#ends.hello(hello)) ?? false;
    if (this.#known) this.#set({ kind: replays ? "catching up" : "live" });
  }

  #ping(): void {
    this.send({ type: "ping" });
    this.#listen("the server fell silent");
  }

  #lost(code: number, detail: string): void {
    const steady = this.#known && Date.now() - this.#since > STEADY;
    // A token that was good has ended: another one may be got. One that was never good is not tried twice.
    const renew = code === 4401 && this.#known && this.#needs.renewable();
    this.#drop(code);
    const reason = renew ? undefined : final(code);
    this.#ends.lost(code);
    if (reason) {
      this.#set({ kind: "closed", reason, detail: detail || `closed with ${code}` });
      return;
    }
    if (steady) this.#attempt = 0;
    this.#wait(code, detail);
  }

  #wait(code: number, detail: string): void {
    if (this.#state.kind === "closed") return;
    const ms = pause(this.#needs.backoff, Math.max(this.#attempt, 1), code);
    this.#set({ kind: "waiting", attempt: this.#attempt, at: Date.now() + ms, code, detail });
    if (this.#state.kind === "waiting") this.#retry = setTimeout(() => this.#try(), ms);
  }

  #drop(code: number): void {
    clearTimeout(this.#retry);
    this.#heard();
    clearInterval(this.#pinging);
    const socket = this.#socket;
    this.#socket = undefined;
    this.#known = false;
    if (!socket) return;
    socket.onmessage = socket.onopen = socket.onclose = null;
    try {
      socket.close(code === 1000 ? 1000 : undefined);
    } catch {
      // It never opened.
    }
  }
}
