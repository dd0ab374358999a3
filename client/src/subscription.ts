// What is followed: a filter, and a cursor that every frame moves on, so that a new connection resumes where the last one ended.

import { Drafts, type Draft } from "./drafts.js";
import type { AnyEvent } from "./events.js";
import type { Filter, Hello, ServerFrame, StatusHint, WorkHint } from "./frames.js";
import { ProblemError } from "./problem.js";
import { guarded } from "./signal.js";

/** What is followed, and from where. */
export interface Following extends Filter {
  /** Only events with a greater `seq`; 0 is everything. Absent: only what comes from now on. */
  after?: number;
  /** The epoch that `after` belongs to, where it was kept from before. */
  epoch?: string;
}

/** Another incarnation of the log: what was read of the old one is worth nothing here. */
export interface EpochChange {
  epoch: string;
  head: number;
}

/** What is done with what comes. All of it in the server's order; `event` has each event once. */
export interface Handlers {
  /** An event; `replay`: it was stored before the subscription. */
  event?(event: AnyEvent, replay: boolean): void;
  /** A reply as far as it has come. An event with the same `event_id` replaces it. */
  draft?(draft: Draft): void;
  /** A thread's status changed. */
  status?(status: StatusHint): void;
  /** A turn or a model call begins or ends; only with `debug`. */
  work?(work: WorkHint): void;
  /** The replay is over: everything up to `cursor` has been handed over. After each reconnection, too. */
  caughtUp?(cursor: number): void;
  /** The log was restored: forget what is known. The subscription goes on after the `seq` that comes back, 0 when nothing does. */
  epoch?(change: EpochChange): number | void;
  /** The server refused the subscription, which is over. */
  refused?(error: ProblemError): void;
  /** A hint of a type that this client does not know. */
  hint?(frame: { type: string }): void;
}

/** One subscription. It belongs to a client, and ends when the client gets another one. */
export class Subscription {
  readonly id: string;
  #filter: Filter;
  readonly #handlers: Handlers;
  readonly #drafts = new Drafts();
  #cursor: number | undefined;
  #epoch: string | undefined;
  /** Its frames come: the server has acknowledged it on this connection. */
  #begun = false;

  constructor(id: string, { after, epoch, ...filter }: Following, handlers: Handlers) {
    this.id = id;
    this.#filter = filter;
    this.#handlers = handlers;
    this.#cursor = after;
    this.#epoch = epoch;
  }

  /** Everything up to here was handed over, or is not asked for; absent: not begun yet. */
  get cursor(): number | undefined {
    return this.#cursor;
  }

  /** The incarnation of the log that the cursor belongs to. */
  get epoch(): string | undefined {
    return this.#epoch;
  }

  /** The frame with which it begins, or goes on, on a connection that says this. */
  frame(hello: Hello): object {
    if (this.#epoch !== undefined && this.#epoch !== hello.epoch) this.restart(hello);
    this.#epoch = hello.epoch;
    this.#cursor ??= hello.head;
    this.#begun = false;
    return { type: "subscribe", ...this.#filter, after: this.#cursor, epoch: this.#epoch, id: this.id };
  }

  /** The log is another one. */
  restart({ epoch, head }: EpochChange): void {
    this.#show(this.#drafts.clear());
    this.#cursor = guarded(() => this.#handlers.epoch?.({ epoch, head })) ?? 0;
  }

  /** The connection is lost. */
  lost(): void {
    this.#begun = false;
    this.#show(this.#drafts.broken());
  }

  /** Does without `debug`, which the server is too old to know. Says whether that makes a difference. */
  plainer(): boolean {
    const { debug, ...filter } = this.#filter;
    this.#filter = filter;
    return debug !== undefined;
  }

  /** The server has taken it on. */
  begin(): void {
    this.#begun = true;
  }

  /** The server refused it. */
  refused(error: ProblemError): void {
    guarded(() => this.#handlers.refused?.(error));
  }

  /** A frame that is for subscriptions. Says whether it ended the replay. */
  take(frame: Exclude<ServerFrame, Hello>): boolean {
    if (!this.#begun) return false;
    switch (frame.type) {
      case "event":
        this.#event(frame.event, frame.replay ?? false);
        return false;
      case "caught_up":
        this.#advance(frame.after);
        guarded(() => this.#handlers.caughtUp?.(this.#cursor ?? 0));
        return true;
      case "pong":
        this.#advance(frame.after);
        return false;
      case "delta":
        this.#show([this.#drafts.delta(frame)]);
        return false;
      case "delta_end":
        this.#show([this.#drafts.end(frame)]);
        return false;
      case "status":
        guarded(() => this.#handlers.status?.(frame));
        return false;
      case "work":
        guarded(() => this.#handlers.work?.(frame));
        return false;
      default:
        guarded(() => this.#handlers.hint?.(frame));
        return false;
    }
  }

  #event(event: AnyEvent, replay: boolean): void {
    if (event.seq <= (this.#cursor ?? 0)) return;
    this.#cursor = event.seq;
    const gone = this.#drafts.event(event);
    guarded(() => this.#handlers.event?.(event, replay));
    this.#show(gone);
  }

  #advance(seq: number): void {
    if (seq > (this.#cursor ?? 0)) this.#cursor = seq;
  }

  #show(drafts: (Draft | undefined)[]): void {
    for (const draft of drafts) if (draft) guarded(() => this.#handlers.draft?.(draft));
  }
}
