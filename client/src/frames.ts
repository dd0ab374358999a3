// The frames of the socket, as asyncapi.yaml has them. Frames of another type were made by a newer server and are ignored.

import type { AnyEvent } from "./events.js";
import type { Ack, Media, Problem } from "./schemas.js";

/** Who the client speaks to. */
export interface Hello {
  type: "hello";
  protocol: string;
  version: string;
  space: string;
  /** This incarnation of the log: it changes when a log is restored from a backup. */
  epoch: string;
  /** The seq of the log's last event. */
  head: number;
  limits: { frame_bytes: number };
  /** What the credential may do; absent: the server is older. */
  role?: "viewer" | "member" | "operator" | "admin";
}

/** A piece of a reply to come. */
export interface Delta {
  type: "delta";
  thread: string;
  event_id: string;
  /** Where the piece begins, in Unicode scalars. */
  at: number;
  text: string;
}

/** No more pieces. */
export interface DeltaEnd {
  type: "delta_end";
  thread: string;
  event_id: string;
  outcome: "stored" | "partial" | "discarded";
}

/** A thread's status changed. */
export interface StatusHint {
  type: "status";
  thread: string;
  status: "idle" | "thinking" | "waiting" | "done" | "failed" | "stopped";
  queued: number;
}

/** A turn or, with `module`, a model call in it begins or ends. Only subscriptions with `debug` get it. */
export interface WorkHint {
  type: "work";
  thread: string;
  turn: number;
  phase: "started" | "ended";
  at: string;
  /** Who asks a model, as the call's record will say it: `decision`, `submodule:<name>`, … */
  module?: string;
  purpose?: string;
  round?: number;
  /** Milliseconds: how long a turn waits for its voices, or a call for its answer. */
  limit_ms?: number;
}

/** A frame of the server. */
export type ServerFrame =
  | Hello
  | Delta
  | DeltaEnd
  | StatusHint
  | WorkHint
  | { type: "event"; event: AnyEvent; replay?: boolean }
  | { type: "caught_up"; after: number; id?: string }
  | ({ type: "ack" } & Ack)
  | { type: "problem"; id?: string; problem: Problem }
  | { type: "pong"; after: number }
  | { type: "expiring"; at: string };

/** What is followed: all of the space without a thread. */
export interface Filter {
  thread?: string;
  /** With `thread`: and all below it. */
  subtree?: boolean;
  /** Events with any of these tags; all but `debug` when absent. */
  tags?: string[];
  /** `debug` events, too, beside the others, and `work` hints. */
  debug?: boolean;
}

/** What is said to the mind: at least one of text, images and audio. */
export interface Said {
  text?: string;
  images?: Media[];
  audio?: Media[];
  /** An idempotency key (a UUID); made by the client when absent. */
  event_id?: string;
  /** Its effect while a turn runs, in place of the thread's own: `enqueue` waits for the next turn, `steer` joins this one before its next call of the decision, `interrupt` starts over with it, `reject` refuses it. */
  policy?: "enqueue" | "steer" | "interrupt" | "reject";
}
