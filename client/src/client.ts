// The client: one connection, one subscription, what is said, and the HTTP API.

import { Api } from "./api.js";
import type { Backoff } from "./closing.js";
import { Connection, type SocketClass, type State } from "./connection.js";
import type { AnyEvent } from "./events.js";
import { lastPart, messageOf, saidOf } from "./forks.js";
import type { Hello, Said, ServerFrame } from "./frames.js";
import { requester, type Options } from "./http.js";
import { Outbox } from "./outbox.js";
import { pages } from "./pages.js";
import { ProblemError } from "./problem.js";
import type { Ack, Cancelled, Decided, ForkThread, Forked, Media, Problem } from "./schemas.js";
import { Signal, guarded } from "./signal.js";
import { Subscription, type Following, type Handlers } from "./subscription.js";
import { uuid } from "./uuid.js";

/** How a client finds its server, and who it is. */
export interface Settings {
  /** Where the server is: `http://localhost:2953`. On a page of the server itself: `location.origin`. */
  url: string;
  /** A key or token, or a function that gets one. It is asked for at each connection and request, and when the last one is about to end. */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /** The class of WebSockets, where there is no global one. HTTP needs none. */
  webSocket?: SocketClass;
  /** The function `fetch`, where there is no global one. */
  fetch?: typeof fetch;
  /** Milliseconds between tries: 250 to 15,000, when absent. */
  backoff?: Backoff;
  /** Milliseconds between pings (25,000), and how long the server may be silent after one (10,000). */
  ping?: number;
  pong?: number;
}

/** A client of one space. */
export class Client {
  /** Every documented HTTP operation, with its types. */
  readonly api: Api;
  /** The key or token, as in the settings. A connection that was closed as `unauthenticated` goes on with another one after `connect`. */
  token: Settings["token"];
  readonly #connection: Connection;
  readonly #outbox: Outbox;
  readonly #problems = new Signal<ProblemError>();
  readonly #expiries = new Signal<string>();
  #hello: Hello | undefined;
  #head = 0;
  #subscription: Subscription | undefined;
  #count = 0;

  constructor(settings: Settings) {
    const base = settings.url.replace(/^ws/, "http").replace(/\/+$/, "");
    const socket = settings.webSocket ?? (globalThis.WebSocket as unknown as SocketClass | undefined);
    this.token = settings.token;
    const token = async () => (typeof this.token === "function" ? this.token() : this.token);
    this.api = new Api(requester(base, token, settings.fetch ?? globalThis.fetch.bind(globalThis)));
    const { backoff = { first: 250, most: 15_000 }, ping = 25_000, pong = 10_000 } = settings;
    this.#outbox = new Outbox(() => this.#connection);
    this.#connection = new Connection(
      { address: `${base.replace(/^http/, "ws")}/ws`, socket, token, renewable: () => typeof this.token === "function", backoff, ping, pong },
      { hello: (hello) => this.#greeted(hello), frame: (frame) => this.#take(frame), lost: (code) => this.#lost(code) },
    );
  }

  /** Connects, and stays connected until `close` or a final refusal. Throws where there is no class of WebSockets. */
  connect(): this {
    this.#connection.open();
    return this;
  }

  /** Disconnects. What was not acknowledged is rejected with `ClosedError`. */
  close(): void {
    this.#connection.close();
    this.#lost(1000);
    this.#outbox.close("the client was closed");
  }

  /** For a page that was asleep, or is back in a network: tries at once, or finds out whether the socket still lives. */
  wake(): void {
    this.#connection.wake();
  }

  /** What the connection is doing. */
  get state(): State {
    return this.#connection.state;
  }

  /** Tells of each change of `state`, and of the state now; the function that comes back ends that. */
  onState(listener: (state: State) => void): () => void {
    guarded(() => listener(this.state));
    return this.#connection.states.listen(listener);
  }

  /** Tells of what goes wrong at the server without anybody having asked, such as a thread that cannot go on now. */
  onProblem(listener: (error: ProblemError) => void): () => void {
    return this.#problems.listen(listener);
  }

  /** Tells when a token that is no function is about to end: set another one, and call `renew`. */
  onExpiring(listener: (at: string) => void): () => void {
    return this.#expiries.listen(listener);
  }

  /** Shows the server the token of now, so that the connection outlives the one before. */
  async renew(): Promise<void> {
    const token = typeof this.token === "function" ? await this.token() : this.token;
    if (token !== undefined) this.#connection.send({ type: "auth", token, id: `a${(this.#count += 1)}` });
  }

  /** What the server said of itself when it was last reached. */
  get hello(): Hello | undefined {
    return this.#hello;
  }

  /** The greatest `seq` that this client knows to exist. */
  get head(): number {
    return this.#head;
  }

  /** The cursor of the subscription: everything up to it was handed over, or is not asked for. */
  get cursor(): number | undefined {
    return this.#subscription?.cursor;
  }

  /** How many messages are said and not acknowledged. */
  get waiting(): number {
    return this.#outbox.size;
  }

  /** Follows the log, across reconnections, without gaps and duplicates. A client has one subscription; another one takes its place. */
  subscribe(following: Following, handlers: Handlers): { readonly cursor: number | undefined; readonly epoch: string | undefined; close(): void } {
    this.#subscription?.lost();
    const subscription = new Subscription(`s${(this.#count += 1)}`, following, handlers);
    this.#subscription = subscription;
    if (this.#hello) this.#follow(this.#hello);
    return {
      get cursor() {
        return subscription.cursor;
      },
      get epoch() {
        return subscription.epoch;
      },
      close: () => this.#unsubscribe(subscription),
    };
  }

  /** Says something in a thread. The promise has the acknowledgement, after the commit; what is said without a connection goes with the next one, once. */
  send(thread: string, said: Said, options: Options = {}): Promise<Ack> {
    return this.#outbox.send({ type: "message", thread, ...said, event_id: said.event_id ?? uuid() }, options.signal);
  }

  /** Lets the mind perceive something, to which it need not answer. */
  perceive(thread: string, said: Said, options: Options = {}): Promise<Ack> {
    return this.#outbox.send({ type: "sensory", thread, ...said, event_id: said.event_id ?? uuid() }, options.signal);
  }

  /** Says that something with a name has happened. */
  trigger(thread: string, event: string, payload: Record<string, unknown> = {}, options: Options & { event_id?: string } = {}): Promise<Ack> {
    return this.#outbox.send({ type: "trigger", thread, event, payload, event_id: options.event_id ?? uuid() }, options.signal);
  }

  /** Stores an image or a sound; what comes back goes into `images` or `audio`. */
  async upload(bytes: Blob | ArrayBuffer | Uint8Array<ArrayBuffer>, options: Options = {}): Promise<Media> {
    const { blob } = await this.api.uploadBlob(bytes, options);
    return { blob };
  }

  /** Lets a waiting call run, with other arguments where some are given. */
  approve(approval: string, { arguments: edited, reason }: { arguments?: Record<string, unknown>; reason?: string } = {}): Promise<Decided> {
    const why = reason === undefined ? {} : { reason };
    return this.api.decideApproval(approval, edited ? { verdict: "edit", arguments: edited, ...why } : { verdict: "approve", ...why });
  }

  /** Lets a waiting call not run. */
  reject(approval: string, reason?: string): Promise<Decided> {
    return this.api.decideApproval(approval, { verdict: "reject", ...(reason === undefined ? {} : { reason }) });
  }

  /** Gives the result of a waiting call, which does not run. */
  respond(approval: string, text: string): Promise<Decided> {
    return this.api.decideApproval(approval, { verdict: "respond", text });
  }

  /** Answers a question of the mind. */
  answer(question: string, text: string): Promise<void> {
    return this.api.answerQuestion(question, { text });
  }

  /** Cancels the turn that runs in a thread; with `subtree` those of all threads below it, too. */
  cancel(thread: string, { subtree, ...options }: Options & { subtree?: boolean } = {}): Promise<Cancelled> {
    return this.api.cancelTurn(thread, subtree ? { subtree } : undefined, options);
  }

  /** Makes a thread with the past of this one, up to the end of a turn: the last one, or that of `at`. With `message` the fork begins to think about it. */
  fork(thread: string, wish: Omit<ForkThread, "message"> & { message?: Said } = {}, options: Options = {}): Promise<Forked> {
    return this.api.forkThread(thread, wish as ForkThread, options);
  }

  /** Says something else in the place of a message, in a fork of its thread. The message is an event of it, or the id of its last event. */
  async edit(thread: string, message: AnyEvent | string, said: Said, options: Options = {}): Promise<Forked> {
    const instead_of = typeof message === "string" ? message : (await lastPart(this.api, thread, message, options)).event_id;
    return this.fork(thread, { instead_of, message: said }, options);
  }

  /** Asks for another answer, in a fork of the thread: the message that a reply answers is said again. In the place of the reply an event of the message may stand. */
  async regenerate(thread: string, reply: AnyEvent, options: Options = {}): Promise<Forked> {
    const parts = await messageOf(this.api, thread, reply, options);
    return this.fork(thread, { instead_of: parts.at(-1)!.event_id, message: saidOf(parts) }, options);
  }

  /** History, page by page, newest first unless `order` says otherwise. */
  history(query: Omit<NonNullable<Parameters<Api["listEvents"]>[0]>, "cursor"> = {}, options: Options = {}): AsyncGenerator<AnyEvent[]> {
    return pages((cursor) => this.api.listEvents({ ...query, ...cursor }, options));
  }

  #greeted(hello: Hello): boolean {
    if (this.#hello?.epoch !== hello.epoch) this.#head = 0;
    this.#hello = hello;
    this.#head = Math.max(this.#head, hello.head);
    this.#follow(hello);
    this.#outbox.hello(hello.limits.frame_bytes);
    return this.#subscription !== undefined;
  }

  #follow(hello: Hello): void {
    if (this.#subscription && this.#connection.send(this.#subscription.frame(hello))) this.#connection.catchingUp();
  }

  #unsubscribe(subscription: Subscription): void {
    if (this.#subscription !== subscription) return;
    this.#subscription = undefined;
    this.#connection.send({ type: "unsubscribe" });
    this.#connection.caughtUp();
  }

  #lost(code: number): void {
    this.#subscription?.lost();
    this.#outbox.lost(code);
    if (code === 4403 || code === 1002 || code === 1003 || code === 1007) this.#outbox.close(`the server closed the connection with ${code}`);
  }

  #take(frame: Exclude<ServerFrame, Hello>): void {
    const subscription = this.#subscription;
    if (frame.type === "event") this.#head = Math.max(this.#head, frame.event.seq);
    if (frame.type === "ack") this.#acknowledged(frame);
    else if (frame.type === "problem") this.#refused(frame.id, frame.problem);
    else if (frame.type === "expiring") this.#expiring(frame.at);
    else if (frame.type === "caught_up" && frame.id !== subscription?.id) return;
    else if (subscription?.take(frame)) this.#connection.caughtUp();
  }

  #acknowledged(ack: Ack): void {
    for (const { seq } of ack.events) this.#head = Math.max(this.#head, seq);
    if (!this.#outbox.ack(ack) && ack.id === this.#subscription?.id) this.#subscription?.begin();
  }

  #refused(id: string | undefined, problem: Problem): void {
    if (id !== undefined && this.#outbox.problem(id, problem)) return;
    const error = new ProblemError(problem);
    const subscription = this.#subscription;
    if (id === undefined || id !== subscription?.id) return this.#problems.emit(error);
    if (error.slug === "unavailable" || error.slug === "epoch-changed") return this.#connection.again(1001, problem.detail);
    if (error.slug === "cursor-ahead" && this.#hello) {
      subscription.restart(this.#hello);
      return this.#follow(this.#hello);
    }
    if (error.slug === "unknown-member" && this.#hello && subscription.plainer()) return this.#follow(this.#hello);
    this.#subscription = undefined;
    this.#connection.caughtUp();
    subscription.refused(error);
  }

  #expiring(at: string): void {
    if (typeof this.token === "function") this.renew().catch((error) => this.#problems.emit(error));
    else this.#expiries.emit(at);
  }
}
