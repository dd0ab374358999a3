// Generated from docs/events.d.ts by `npm run generate`. Not to be edited.
// Generated: `thinkd facts --typescript > docs/events.d.ts`. Not to be edited.
// What thinkd writes into its log, kind by kind: docs/events.md says what each means.

/** An event of any kind: of one that is not below, a newer server wrote it. Show `payload.text`, and take it for nothing else. */
export interface AnyEvent {
  event_id: string;
  ts: string;
  source: "user" | "tool" | "system" | "internal";
  modality: "text" | "image" | "audio" | "state";
  payload: { text?: string; [member: string]: unknown };
  meta: { tags: string[] };
  thread: string;
  seq: number;
}

interface Of<Tags extends string[], Payload> {
  event_id: string;
  ts: string;
  source: AnyEvent["source"];
  modality: AnyEvent["modality"];
  payload: Payload;
  meta: { tags: Tags };
  thread: string;
  seq: number;
}

/** A client said something, or perceived something: one event a part, and the last part wakes the thread. */
export type Input = Of<["input", "type:message" | "type:sensory", ...("part" | `door:${string}` | `door-after:${string}` | `door-id:${string}` | `policy:${string}` | "answer" | "overrules")[]], {
  /** the words, if it has words */
  text?: string;
  /** SHA-256 of an image's or sound's bytes: GET /blobs/{blob} */
  blob?: string;
  /** its media type */
  mime?: string;
  /** its size */
  bytes?: number;
  /** the sender, when known */
  user?: string;
  /** the question that it answers */
  question_id?: string;
  /** SHA-256 of the tools that the client offers with it: GET /blobs/{client_tools} */
  client_tools?: string;
  /** the mark of that client */
  client?: string;
  /** the members of the request that a door's answer repeats, where it came through one: with the last part */
  request?: Record<string, unknown>;
}>;

/** Something outside has happened that has a name. The payload is the caller's. */
export type Trigger = Of<["input", "type:trigger", `trigger:${string}`, ...(`schedule:${string}`)[]], {
  /** the same for people and models */
  text: string;
  /** the sender, when known */
  user?: string;
  /** of a schedule: its name; due, first, last, count: the due times; next; now: out of turn */
  schedule?: unknown;
  [member: string]: unknown;
}>;

/** An input was taken back: models are not shown it any more, nor the turn that was about it. The log keeps both. */
export type Withdrawn = Of<["withdrawn"], {
  /** the same for people and models */
  text: string;
  /** the seq of the input: of its last part */
  input: number;
  /** the seq of its first part, if it has several */
  from?: number;
  /** the user that took it back, when known */
  user?: string;
  /** the first and the last turn that was about it: their events are hidden with it; absent: it waited for its turn */
  turns?: number[];
}>;

/** Due times of a schedule passed longer ago than it catches up with: they come to no run. */
export type ScheduleMissed = Of<["schedule", "missed", `schedule:${string}`], {
  /** the same for people and models */
  text: string;
  /** name; first, last, count: the due times; next: when it is due again */
  schedule: Record<string, unknown>;
}>;

/** A schedule was due and did not run: an earlier run is under way, or its thread takes nothing. */
export type ScheduleSkipped = Of<["schedule", "skipped", `schedule:${string}`], {
  /** the same for people and models */
  text: string;
  /** name; first, last, count: the due times; next: when it is due again */
  schedule: Record<string, unknown>;
  /** why */
  reason: string;
}>;

/** A turn begins: the thread thinks about its batch. */
export type TurnStarted = Of<["turn", "started", `turn:${number}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the seqs of all that woke the thread and waited */
  batch: number[];
  /** the submodules it listens to */
  submodules: string[];
  /** in sub-steps: the state of the step */
  step?: Record<string, unknown>;
  /** the timer of the wait that it ends */
  waited?: string;
  /** the event from outside that it goes back to */
  root?: number;
  /** the time that the decision waits for the submodules, in milliseconds */
  deadline_ms?: number;
}>;

/** A running turn takes in messages that were said to join it, before a round of its decision. */
export type TurnSteered = Of<["turn", "steered", `turn:${number}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the round of the decision that is the first to see them, from 0 */
  round: number;
  /** the seqs of the first and the last part of each; the last one woke the thread */
  inputs: number[][];
  /** the seq behind which the thread's mailbox begins when the turn ends */
  handled: number;
}>;

/** A turn ends. Everything up to `handled` that woke the thread has had its turn. */
export type TurnEnded = Of<["turn", "ended", `turn:${number}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the outcome */
  outcome: "done" | "cancelled" | "interrupted" | "failed";
  /** the seq behind which the thread's mailbox now begins */
  handled: number;
  /** for whom the thread waits: from, name, outside, until, reason */
  wait?: Record<string, unknown>;
  /** the log's end as the thread knew it */
  seen?: number;
  /** the thread's mood from now on, in thousandths: sum; walk and facts, of which it is made; seen, the points by then */
  mood?: Record<string, unknown>;
}>;

/** A user wants a turn to end that another server runs. */
export type TurnCancel = Of<["cancel", `turn:${number}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** true if the threads above it are cancelled, too: these are told and not woken */
  with_above?: boolean;
}>;

/** A submodule said something. No other submodule sees it. */
export type SubmoduleSaid = Of<[`submodule:${string}`, ...("follow-up" | "late")[]], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
}>;

/** The decision's own words beside its tool calls. They are addressed to no person or program outside. */
export type DecisionSaid = Of<["decision"], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
}>;

/** A message of the thread to itself: the next turn starts with it. */
export type Thought = Of<["decision", "thought"], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the tool call that made it */
  call_id?: string;
}>;

/** The decision not to act, with its reason. */
export type NoAction = Of<["decision", "no-action"], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the tool call that made it */
  call_id?: string;
}>;

/** A question of the decision to one submodule. */
export type Question = Of<["decision", "question", `submodule:${string}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the tool call that made it */
  call_id?: string;
}>;

/** The record of one model call: from it, GET /prompt-views/{event_id} makes the call again, byte for byte. */
export type ModelCall = Of<["debug", `call:${string}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the module that asked: decision, submodule:<name>, pipeline:<name>, mission:<step>, trial, summary */
  module: string;
  /** turn, follow-up, answer, decide, repair; node; derive, reflect, weigh; sum-up, join; a mission's step; trial: a call of before, made again with another prompt */
  purpose?: string;
  /** its place among the calls of its kind in the turn, from 0 */
  round?: number;
  /** the outcome */
  outcome?: "answered" | "failed" | "refused" | "stopped";
  /** why it failed */
  failure?: string;
  /** why the model ended its answer */
  finish?: string;
  /** input_tokens, output_tokens, cached_tokens, as far as the provider said */
  usage?: Record<string, unknown>;
  /** the time it took, in milliseconds */
  duration_ms?: number;
  /** when the first piece of its answer came, from the same beginning */
  first_piece_ms?: number;
  /** the model */
  model?: string;
  /** the parameters of the request */
  parameters?: Record<string, unknown>;
  /** SHA-256 of the request */
  request_sha256?: string;
  /** habits of the model by which the request was sent otherwise than this hash says, such as a member that it refuses */
  adjusted?: unknown;
  /** of a submodule: names of the repairs to the arguments of its tool calls; of a decision, each of its `calls` has its own */
  mended?: string[];
  /** the events and texts of the request; as, thread: of a call of before, made again, the module that first made it and the thread that it saw */
  view?: Record<string, unknown>;
  /** of a decision: the tool calls of its answer; of a submodule: how many */
  calls?: unknown;
  /** the number of tool calls that the answer had, where some were left out */
  calls_made?: number;
  /** a submodule is done with this */
  last?: boolean;
  /** of a mission that a turn began, where the beginning of the mission is the root: the event from outside that the turn goes back to */
  cause?: number;
  /** the event from outside that it goes back to */
  root?: number;
  [member: string]: unknown;
}>;

/** A tool call, as it is about to run. `think` and `do_nothing` have none. */
export type Action = Of<["decision" | `submodule:${string}`, "action", `tool:${string}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the tool */
  tool: string;
  /** the call's id within the thread */
  call_id: string;
  /** its arguments; a text: the words that should have been JSON */
  arguments: unknown;
  /** the text that stood where the tool's name should be */
  written?: string;
  /** the call was read from the words of an answer */
  from?: "text";
}>;

/** The output of a tool call. */
export type Result = Of<["result", `tool:${string}`, ...(`submodule:${string}` | `recalled:${string}`)[]], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the tool */
  tool: string;
  /** the call's id within the thread */
  call_id: string;
  /** the output; a large one is cut, with the blob that has it all */
  output: unknown;
  /** the time it ran, in milliseconds */
  duration_ms: number;
  /** the intent that the turn carries out when it ends */
  intent?: Record<string, unknown>;
  /** the number of messages it sent */
  sent?: number;
  /** the approval without which it would not have run; of a client's tool the event that asked the client */
  approval_id?: string;
}>;

/** A tool call that failed. */
export type ResultFailed = Of<["result", `tool:${string}`, ...(`submodule:${string}` | "failure" | string)[]], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the tool */
  tool: string;
  /** the call's id within the thread */
  call_id: string;
  /** the sort of failure */
  kind: string;
  /** kind, text, retryable, detail */
  problem: Record<string, unknown>;
  /** the time it ran, in milliseconds */
  duration_ms: number;
  /** the intent that the turn carries out when it ends */
  intent?: Record<string, unknown>;
  /** the number of messages it sent */
  sent?: number;
  /** the approval without which it would not have run; of a client's tool the event that asked the client */
  approval_id?: string;
}>;

/** An answer to the user, the result of the tool `reply`. */
export type Reply = Of<["response", "result", "tool:reply", ...("partial")[]], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** `reply` */
  tool: string;
  /** the call's id within the thread */
  call_id: string;
}>;

/** A message from one thread to another, or to itself. */
export type Message = Of<["message", `from:${string}`], {
  /** the same for people and models */
  text: string;
  /** the thread that wrote it */
  from: string;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** Something went wrong in the thread; the turn may go on. */
export type Failure = Of<["failure", string, "decision" | `submodule:${string}` | `tool:${string}` | `pipeline:${string}` | "trial" | "summary" | "core", ...("unreadable" | "follow-up" | "late")[]], {
  /** the same for people and models */
  text: string;
  /** timeout, model, tool, interpreter, budget, outcome_unknown, cancelled, node, store, internal or client */
  kind: string;
  /** the same thing may succeed later */
  retryable: boolean;
  /** further facts, such as `key`: the setting that limits it; or `left_out`: the stretches of the thread that a provider refused, by seq, and `kinds`: the kinds of media that `model` takes none of */
  detail: unknown;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the run of a pipeline that it ends */
  run?: string;
}>;

/** A node of a pipeline failed. */
export type NodeFailed = Of<["failure", string, `pipeline:${string}`, "node", "failed"], {
  /** the same for people and models */
  text: string;
  /** timeout, model, tool, interpreter, budget, outcome_unknown, cancelled, node, store, internal or client */
  kind: string;
  /** the same thing may succeed later */
  retryable: boolean;
  /** further facts, such as `key`: the setting that limits it; or `left_out`: the stretches of the thread that a provider refused, by seq, and `kinds`: the kinds of media that `model` takes none of */
  detail: unknown;
  /** the run */
  run: string;
  /** the node */
  node: string;
  /** its place in the run */
  place: string;
}>;

/** A client's frame was refused, or a client was lost. */
export type ClientFailure = Of<["debug", "failure", "client"], {
  /** the same for people and models */
  text: string;
  /** timeout, model, tool, interpreter, budget, outcome_unknown, cancelled, node, store, internal or client */
  kind: string;
  /** the same thing may succeed later */
  retryable: boolean;
  /** further facts, such as `key`: the setting that limits it; or `left_out`: the stretches of the thread that a provider refused, by seq, and `kinds`: the kinds of media that `model` takes none of */
  detail: unknown;
}>;

/** A run of a pipeline begins, in a thread of its own; the event has the run's id. */
export type RunStarted = Of<["run", "started", `pipeline:${string}`], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
  /** its input */
  input?: unknown;
  /** the blob that has a large input */
  input_blob?: Record<string, unknown>;
  /** the user, when known */
  user?: string;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A run is taken up again where it was. */
export type RunResumed = Of<["run", "resumed", `pipeline:${string}`], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
}>;

/** A user wants a run to end. */
export type RunCancel = Of<["run", "cancel", `pipeline:${string}`], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
  /** the user, when known */
  user?: string;
}>;

/** A user wants a mission to rest: nothing is done for it until a user wants it to go on. */
export type RunPaused = Of<["run", "paused", `pipeline:${string}`], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
  /** the user, when known */
  user?: string;
}>;

/** All that a mission could do waits for people: nothing is done for it until they have said something. */
export type RunParked = Of<["run", "parked", `pipeline:${string}`], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
}>;

/** A user wants a mission that rests to go on. */
export type RunContinued = Of<["run", "continued", `pipeline:${string}`], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
  /** the user, when known */
  user?: string;
}>;

/** A run has ended, and its thread with it. */
export type RunEnded = Of<["run", "ended", `pipeline:${string}`, "done" | "failed" | "cancelled"], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
  /** the outcome */
  outcome: "done" | "failed" | "cancelled";
  /** the output */
  output?: unknown;
  /** the blob that has a large output */
  output_blob?: Record<string, unknown>;
  /** why it failed: kind, text, retryable, detail */
  failure?: Record<string, unknown>;
  /** the outcome, its tasks counted */
  came_to?: "complete" | "partial" | "failed" | "stopped";
  /** of a mission: how many of its tasks are solved, failed, left */
  tasks?: Record<string, unknown>;
}>;

/** The body of a node begins. */
export type NodeStarted = Of<["node", "started", `pipeline:${string}`], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
  /** the node */
  node: string;
  /** its place in the run */
  place: string;
  /** the places of the nodes with values that flow into it; without it none is known */
  needs?: string[];
  /** the number of further such nodes */
  needs_more?: number;
}>;

/** A node has its value: this is the record that a run which is taken up again answers from. */
export type NodeFinished = Of<["node", "finished", `pipeline:${string}`], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
  /** the node */
  node: string;
  /** its place in the run */
  place: string;
  /** a hash of each argument */
  arguments?: unknown;
  /** the node's version */
  version?: number;
  /** the value */
  value?: unknown;
  /** the blob that has a large value */
  value_blob?: Record<string, unknown>;
  /** the value is not recorded */
  transient?: boolean;
}>;

/** A node came to no value, and its run went on. */
export type NodeAbandoned = Of<["node", "abandoned", `pipeline:${string}`], {
  /** the same for people and models */
  text: string;
  /** the run */
  run: string;
  /** its pipeline */
  pipeline: string;
  /** the node */
  node: string;
  /** its place in the run */
  place: string;
  /** a hash of each argument */
  arguments?: unknown;
  /** the node's version */
  version?: number;
}>;

/** A tool call waits for a person: POST /approvals/{approval_id}, or the frames `approve`, `deny` and `respond`. It is no result: that comes with the verdict. */
export type ApprovalPending = Of<["approval", "pending", `tool:${string}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the approval: the id of the event that asked for it */
  approval_id: string;
  /** the call's id within the thread */
  call_id: string;
  /** the tool */
  tool: string;
  /** the arguments that it is to be called with */
  arguments: unknown;
  /** SHA-256 of the arguments as canonical JSON */
  arguments_sha256: string;
  /** SHA-256 of the tool's description and schema */
  tool_version: string;
  /** the change that the call would make, as a unified diff */
  diff?: string;
  /** when it counts as rejected */
  expires_at: string;
}>;

/** The verdict on a tool call that waited. Of a granted one the result is still to come; of all others it stands behind this. */
export type ApprovalVerdict = Of<["approval", "granted" | "answered" | "denied" | "expired" | "withdrawn", `tool:${string}`, ...("overrules")[]], {
  /** the same for people and models */
  text: string;
  /** the approval: the id of the event that asked for it */
  approval_id: string;
  /** the call's id within the thread */
  call_id: string;
  /** the tool */
  tool: string;
  /** the person that gave the verdict, when known */
  by?: string;
  /** why; of `answered` the answer */
  reason: string;
  /** of `granted`: the arguments that the call runs with */
  arguments?: unknown;
  /** SHA-256 of the arguments as canonical JSON */
  arguments_sha256?: string;
  /** SHA-256 of the tool's description and schema */
  tool_version?: string;
  /** of `granted`: the arguments are the person's; the event `approval-pending` has those that were proposed */
  edited?: boolean;
}>;

/** A granted call with an effect outside starts: from here on it is not run again, even if the server dies. */
export type ApprovalStarted = Of<["approval", "started", `tool:${string}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the approval: the id of the event that asked for it */
  approval_id: string;
  /** the call's id within the thread */
  call_id: string;
  /** the tool */
  tool: string;
  /** the seq of the verdict */
  verdict: number;
}>;

/** A call of a tool that its client offered waits for the client to run it. It is no result: that comes from the client, or says that none came. */
export type ClientCall = Of<["client-call", `tool:${string}`], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the id of the event that asked the client */
  request_id: string;
  /** the call's id within the thread */
  call_id: string;
  /** the tool */
  tool: string;
  /** the client's name for it, where the server has a tool of that name */
  name?: string;
  /** the arguments that it is called with */
  arguments: unknown;
  /** the mark of the client: results are taken from no other one */
  client: string;
  /** when it counts as failed */
  expires_at: string;
}>;

/** The calls of a turn have results: of the client, or, where it gave none in time, failures. */
export type ClientResults = Of<["client-results", ...("expired" | "overrules")[]], {
  /** the same for people and models */
  text: string;
  /** the turn that made the calls */
  of_turn: number;
  /** the ids of the events that asked the client */
  requests: string[];
  /** the user of the client, when known */
  user?: string;
  /** SHA-256 of the tools that the client offers from here on: GET /blobs/{client_tools} */
  client_tools?: string;
  /** the mark of the client */
  client?: string;
  /** the members of the request that a door's answer repeats, where they came through one */
  request?: unknown;
}>;

/** The mind, or a server of tools that it called, asks a person: POST /questions/{question_id}, the frame `answer`, or, where it is the agent's only open question of its thread, the next message. */
export type UserQuestion = Of<["question", "user"], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
  /** the question: the id of the event that asked it */
  question_id: string;
  /** the call that asked */
  call_id: string;
  /** answers to choose from */
  choices?: string[];
  /** the JSON schema that an answer must have */
  schema?: Record<string, unknown>;
  /** the names of the people that may answer; without it all people that may speak */
  who?: string[];
  /** until when an answer is waited for */
  expires_at: string;
  /** the server of tools that asks while it works on the call: the answer goes there */
  server?: string;
  /** the statement of the trial that asks: the answer is a reading of it */
  statement?: string;
  /** the place of its prediction, from 0 */
  prediction?: number;
}>;

/** The outcome of a question to a person. The result of the call that asked stands behind it, unless a server of tools asked; of a trial's its reading. */
export type UserAnswer = Of<["answer", ...("away" | "expired" | "withdrawn" | "overrules")[]], {
  /** the same for people and models */
  text: string;
  /** the question: the id of the event that asked it */
  question_id: string;
  /** the call that asked */
  call_id: string;
  /** who answered, when known */
  by?: string;
  /** the answer as JSON, of a question with a schema */
  value?: unknown;
  /** the server of tools that asks while it works on the call: the answer goes there */
  server?: string;
  /** the statement of the trial that asks: the answer is a reading of it */
  statement?: string;
  /** the place of its prediction, from 0 */
  prediction?: number;
}>;

/** A turn recalled the statements that are held and relevant to its batch. Where there are none, it is of modality state, and seen by readers alone. */
export type Recalled = Of<["recall", ...(`recalled:${string}`)[]], {
  /** the same for people and models */
  text: string;
  /** the turn */
  turn: number;
}>;

/** A statement that came from events of this thread, or that they returned, is not held any more, never was, or is held again. Once for each thread and fall, and once more where it came from, or was returned by, further events behind the fall. */
export type Correction = Of<["correction", `corrected:${string}`], {
  /** the same for people and models */
  text: string;
  /** statement, says, status, since: the event that says so, was_held: false where it never was held, of: the events of this thread */
  correction: Record<string, unknown>;
}>;

/** Something is claimed: it is to be tried before it is held to be so. */
export type StatementClaimed = Of<["statement", "claimed", `statement:${string}`], {
  /** the same for people and models */
  text: string;
  /** the statement: the id of the event that claimed it */
  statement: string;
  /** text; source: by, seqs, quote, word: it counts as the person's own; premises: the statements it is derived from; root: the event from outside that a turn goes back to which claims it */
  claim: Record<string, unknown>;
}>;

/** The consequences of a claim, and the way in which each prediction is to be tested. */
export type StatementDerived = Of<["statement", "derived", `statement:${string}`], {
  /** the same for people and models */
  text: string;
  /** the statement: the id of the event that claimed it */
  statement: string;
  /** triple, valid, predictions, rejected: those that were not taken, and why */
  derived: Record<string, unknown>;
}>;

/** An instrument said whether a prediction is so, or could not. */
export type StatementRead = Of<["statement", "read", `statement:${string}`, "yes" | "no" | "none" | "asked"], {
  /** the same for people and models */
  text: string;
  /** the statement: the id of the event that claimed it */
  statement: string;
  /** prediction (from 0), instrument, choice, answer, note, quote, source, later, until, broke */
  reading: Record<string, unknown>;
}>;

/** The outcome of a statement, by a trial or without one. One that was refused, or joined to another, is gone. */
export type StatementJudged = Of<["statement", "judged", `statement:${string}`, "proposed" | "surviving" | "contested" | "untested" | "falsified" | "ended" | "retracted" | "refused" | "joined", ...("retest")[]], {
  /** the same for people and models */
  text: string;
  /** the statement: the id of the event that claimed it */
  statement: string;
  /** outcome, reason, valid, carried, survived, tries, breaks, reopened, due, others, by, tried, available, testable, retest: calls at most */
  judged: Record<string, unknown>;
}>;

/** A statement was claimed again: no new one comes of it, and it has one source more. */
export type StatementSourced = Of<["statement", "sourced", `statement:${string}`], {
  /** the same for people and models */
  text: string;
  /** the statement: the id of the event that claimed it */
  statement: string;
  /** all its sources: by, seqs, quote, word */
  sources: Record<string, unknown>[];
}>;

/** A statement is derived from these now: one of those that it named is part of another one, or it was claimed on other ground. */
export type StatementGrounded = Of<["statement", "grounded", `statement:${string}`], {
  /** the same for people and models */
  text: string;
  /** the statement: the id of the event that claimed it */
  statement: string;
  /** the statements that it is derived from: all of them */
  premises: string[];
}>;

/** There is something for the trials of the space to do. */
export type TrialsDue = Of<["trials", "due"], {
  /** the same for people and models */
  text: string;
}>;

/** The trials of the space have done all that was due, or wait for people or for a time. */
export type TrialsRested = Of<["trials", "rested"], {
  /** the same for people and models */
  text: string;
  /** up to this event */
  handled: number;
  /** up to this event threads are told the outcomes of statements */
  told?: number;
}>;

/** The trials of the space have made as many calls to models in an hour as they may (`memory.calls_per_hour`): the rest waits. At most once an hour. */
export type TrialsSpent = Of<["trials", "spent"], {
  /** the same for people and models */
  text: string;
  /** when there is a call again (RFC 3339) */
  until: string;
}>;

/** A summary stands for older events in the requests of the decision; the events stay (`history.summaries`). */
export type Summary = Of<["summary"], {
  /** the same for people and models */
  text: string;
  /** the first event that it stands for */
  from: number;
  /** the last event that it stands for */
  to: number;
  /** so many characters of the first event's entry are another summary's */
  skip?: number;
  /** the character of the last event's entry that it goes up to; absent: to the end of the entry */
  upto?: number;
  /** the number of events, of those that a decision may see, before its first one in the thread */
  position: number;
  /** the number of events that it is about */
  events: number;
  /** 0: made from events; otherwise from summaries of the level below */
  level: number;
  /** the summaries that it was made from, and takes the place of */
  joins?: number[];
  /** the record of the call that made it */
  call: string;
}>;

/** Events have left the view of a conversation's decision, or are about to: they are to be summed up. */
export type SummariesDue = Of<["summaries", "due"], {
  /** the same for people and models */
  text: string;
  /** the thread */
  of: string;
  /** so many of its first events that a decision may see */
  target: number;
}>;

/** The summaries of the space that were due are made, or were given up. */
export type SummariesRested = Of<["summaries", "rested"], {
  /** the same for people and models */
  text: string;
  /** up to this event */
  handled: number;
}>;

/** Names are one: by an operator, or because a statement that says so has survived. Texts keep the names that they were written with. */
export type EntityMerged = Of<["entity", "merged", ...(`statement:${string}`)[]], {
  /** the same for people and models */
  text: string;
  /** the names, as they were said */
  names: string[];
  /** why */
  reason: string;
  /** the operator that did it; null: a rule */
  by: string | null;
  /** the statement that says so; when it falls, the merge is undone */
  statement: string | null;
}>;

/** A merge does not stand any more: its names are one only where another one says so. */
export type EntityUnmerged = Of<["entity", "unmerged"], {
  /** the same for people and models */
  text: string;
  /** the event that made it */
  merge: string;
  /** the names, as they were said */
  names: string[];
  /** why */
  reason: string;
  /** the operator that did it; null: a rule */
  by: string | null;
}>;

/** A mission has one more task. */
export type TaskMade = Of<["task", "made", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** its name */
  name: string;
  /** the work to be done */
  description: string;
  /** the cost that it may have */
  value: "low" | "medium" | "high";
  /** the task that was split into it and others */
  parent: number | null;
  /** the tasks that have to end before it begins */
  requires: number[];
  /** names of tasks and thoughts that brought to it, as the planner says */
  brought_by: string[];
  /** its place among its siblings: the lowest goes first */
  rank: number;
  /** true if it is one step with a short answer: it is tried, without being considered, until tries agree */
  exact?: boolean;
}>;

/** Work on a task begins, in a thread of its own. */
export type TaskBegan = Of<["task", "began", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** a task that it requires and that failed */
  behind: number | null;
}>;

/** A task is to be split, or is not. */
export type TaskSplit = Of<["task", "split", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** true if it is */
  needed: boolean;
  /** why */
  why: string;
}>;

/** The information that the user would have to give for a task. */
export type TaskAsked = Of<["task", "asked", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** the question */
  question: string | null;
}>;

/** The routes by which a task may be done, each with the chance that it works. */
export type TaskRoutes = Of<["task", "routes", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** name, how, estimate, splits, and the chance as learned, if it was */
  routes: Record<string, unknown>[];
}>;

/** The check that the answer of a task will go through: said before there is an answer. */
export type TaskChecked = Of<["task", "checked", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** by, and code, query or rubric */
  check: Record<string, unknown>;
}>;

/** A task was tried by a route. */
export type TaskTried = Of<["task", "tried", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** the route */
  route: string;
  /** the tier that was asked */
  tier: "low" | "high";
  /** the answer */
  answer: string | null;
  /** the thoughts on the way, or why there is no answer */
  why: string;
}>;

/** A tool of another server was called for a task. */
export type TaskUsed = Of<["task", "used", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** the tool, as it is called here */
  tool: string;
  /** its arguments, as JSON */
  arguments: string;
  /** true if it worked */
  worked: boolean;
  /** the result, shortened, or why it failed */
  came: string;
}>;

/** The answer of a task was checked. */
export type TaskJudged = Of<["task", "judged", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** the kind of check that decided it */
  by: "program" | "knowledge" | "agreement" | "rubric";
  /** true if the answer will do */
  passes: boolean;
  /** why */
  why: string;
  /** the expectation of the try: the kind of its route (`whole`, `split`, `high`, `framework` and its id), the chance as the model said and as learned */
  expected?: Record<string, unknown>;
}>;

/** A task is tried once more by the high tier, or is not, with the figures that decide it. */
export type TaskRetry = Of<["task", "retry", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** true if it is */
  made: boolean;
  /** calls_left, tasks_left */
  figures: Record<string, unknown>;
}>;

/** A framework is made for a task that the high tier could not do either, or none is made, with the figures that decide it. */
export type TaskFramework = Of<["task", "framework", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** true if it is */
  made: boolean;
  /** calls_left, tasks_left */
  figures: Record<string, unknown>;
}>;

/** The program of a framework that is made for a task was run with several values of its parameters. */
export type TaskTuned = Of<["task", "tuned", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** parameters, answer, score, passes; in the order in which they were tried */
  runs: Record<string, unknown>[];
  /** the place of the best of them, from 0 */
  best: number;
}>;

/** A framework was made for a task. */
export type TaskBuilt = Of<["task", "built", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** its id */
  framework: string;
  /** its name */
  name: string;
  /** the kind of its recipe */
  kind: string;
}>;

/** Something that a model wanted of a task was not done. */
export type TaskRefused = Of<["task", "refused", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** the wish that was refused */
  of: string;
  /** why */
  why: string;
}>;

/** A task is another from now on: its work, its requirements, its place among its siblings. */
export type TaskChanged = Of<["task", "changed", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** its name */
  name: string;
  /** the work to be done */
  description: string;
  /** the tasks that have to end before it begins */
  requires: number[];
  /** its place among its siblings: the lowest goes first */
  rank: number;
  /** why */
  why: string;
  /** the person that did it; null: the mission itself */
  by: string | null;
}>;

/** A task is over, and its thread with it. */
export type TaskOver = Of<["task", "over", `task:${string}`], {
  /** the same for people and models */
  text: string;
  /** the task: 3 is `t3` */
  task: number;
  /** the status that it ended with */
  status: "closed" | "failed_with_current_available_instruments";
  /** the answer that passed its check */
  answer: string | null;
  /** why it failed */
  reason: string | null;
}>;

/** A task is like those that a framework is for: it is solved with it, or without it to compare. */
export type FrameworkChosen = Of<["framework", "chosen", `framework:${string}`], {
  /** the same for people and models */
  text: string;
  /** the framework's id */
  framework: string;
  /** true if the task is solved with it */
  with: boolean;
  /** the task, in a few words */
  task: string;
  /** why */
  reason: string;
}>;

/** The outcome of a task that a framework is for, with it or without it. */
export type FrameworkOutcome = Of<["framework", "outcome", `framework:${string}`], {
  /** the same for people and models */
  text: string;
  /** the framework's id */
  framework: string;
  /** true if the task is solved with it */
  with: boolean;
  /** the task, in a few words */
  task: string;
  /** true if it was solved */
  worked: boolean;
  /** with, without: each tried, worked; of all such tasks since the framework has been as it is */
  tally: Record<string, unknown>;
}>;

/** A subthread was created. */
export type ThreadSpawned = Of<["thread", "thread-spawned"], {
  /** the same for people and models */
  text: string;
  /** the subthread */
  assigned_id: string;
  /** this thread */
  parent_id: string;
  /** the name that this thread calls it by */
  contact: string | null;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the tool call that made it */
  call_id?: string;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A subthread or contact has ended. Wakes, unless it is gathered with others. */
export type ThreadEnded = Of<["thread", "thread-ended", ...(`from:${string}` | "part" | "overrules")[]], {
  /** the same for people and models */
  text: string;
  /** the subthread or contact */
  id: string;
  /** done, failed or stopped */
  status: string;
  /** why */
  reason: string;
  /** the thread that it is about */
  from: string;
  /** the last it said */
  content?: string;
  /** which part of what gathering: id, index, ok, text */
  gather?: Record<string, unknown>;
  /** true if it had been put aside */
  archived?: boolean;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A thread that this one depends on cannot go on. Wakes, unless it is gathered with others. */
export type ThreadStuck = Of<["thread", "thread-stuck", `from:${string}`, ...("part" | "overrules")[]], {
  /** the same for people and models */
  text: string;
  /** the thread */
  id: string;
  /** why */
  reason: string;
  /** the thread that it is about */
  from: string;
  /** which part of what gathering: id, index, ok, text */
  gather?: Record<string, unknown>;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A subthread that had nothing to do was put aside. */
export type ThreadArchived = Of<["thread", "thread-archived"], {
  /** the same for people and models */
  text: string;
  /** the subthread */
  id: string;
  /** the turn, if a turn produced it */
  turn?: number;
}>;

/** A subthread that was put aside is at work again. */
export type ThreadResumed = Of<["thread", "thread-resumed"], {
  /** the same for people and models */
  text: string;
  /** the subthread */
  id: string;
  /** the turn, if a turn produced it */
  turn?: number;
}>;

/** The thread is a fork, and things that its past tells of stay with the other thread. */
export type ThreadForked = Of<["thread", "thread-forked"], {
  /** the same for people and models */
  text: string;
  /** the thread that was forked */
  from: string;
  /** the event up to which the past of the two is one */
  at: number;
  /** the things that stay with it */
  content?: string;
}>;

/** Earlier events are no longer shown to the thread. */
export type ContextCleared = Of<["thread", "context-cleared"], {
  /** the same for people and models */
  text: string;
  /** the number of events that are still shown */
  kept_messages: number;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the tool call that made it */
  call_id?: string;
}>;

/** A timer was set. */
export type TimerSet = Of<["thread", "timer-set"], {
  /** the same for people and models */
  text: string;
  /** the timer */
  id: string;
  /** when */
  due: string;
  /** its purpose */
  content?: string;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the tool call that made it */
  call_id?: string;
}>;

/** A timer is due, or the time of a wait or a gathering is up. Wakes. */
export type Timer = Of<["thread", "timer", ...("overrules")[]], {
  /** the same for people and models */
  text: string;
  /** the timer */
  id: string;
  /** when */
  due: string;
  /** its purpose */
  content?: string;
  /** its name */
  timer: string;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** The thread's plan is complete. */
export type PlanComplete = Of<["thread", "plan-complete"], {
  /** the same for people and models */
  text: string;
  /** the condition that was to be reached */
  condition: string;
  /** the turn, if a turn produced it */
  turn?: number;
}>;

/** The event that the thread watches for has come. */
export type WatchRaised = Of<["thread", "watch-raised"], {
  /** the same for people and models */
  text: string;
  /** the watch */
  id: string;
  /** the tag */
  kind: string;
  /** the event that has come */
  seq: number;
  /** its purpose */
  content?: string;
  /** the turn, if a turn produced it */
  turn?: number;
}>;

/** A watch is registered. */
export type WatchSet = Of<["thread", "watch-set"], {
  /** the same for people and models */
  text: string;
  /** the watch */
  id: string;
  /** the tag */
  kind: string;
  /** only from this thread */
  from: string | null;
  /** its purpose */
  content?: string;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the tool call that made it */
  call_id?: string;
}>;

/** A watch is closed. */
export type WatchClosed = Of<["thread", "watch-closed"], {
  /** the same for people and models */
  text: string;
  /** the watch */
  id: string;
  /** its event had come */
  raised: boolean;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the tool call that made it */
  call_id?: string;
}>;

/** All that was sent out together has come back, or its time is up. */
export type Gathered = Of<["thread", "gathered"], {
  /** the same for people and models */
  text: string;
  /** the gathering */
  id: string;
  /** the number of its parts */
  total: number;
  /** the number of parts that came back well */
  successful: number;
  /** the number of parts that did not come back */
  missing: number;
  /** in a sequence: the step that failed, from 1 */
  failed_step: number | null;
  /** the results, a line each */
  content?: string;
  /** the results: index, ok, text */
  results: Record<string, unknown>[];
  /** the turn, if a turn produced it */
  turn?: number;
}>;

/** Something the thread tried failed. Wakes where it ends a wait. */
export type ThreadError = Of<["thread", "system-thread-error", ...("overrules")[]], {
  /** the same for people and models */
  text: string;
  /** the words of the caller */
  unknown_id: string;
  /** unknown_thread, invalid_label, depth_limit, … */
  code: string;
  /** the fault, and the remedy where there is one */
  message: string;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A thread was created, has ended, was put aside or got another parent. */
export type SetThread = Of<["state", "set:thread"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** settings; forked: from, at, ranges, turn, visible, heard, left, state, of one with the past of another; status, reason, watches_removed; archived; parent; title, by: a person's word */
  change: Record<string, unknown>;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A thread sleeps on: the event that came is not the one that it waits for. */
export type SetWait = Of<["state", "set:wait"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** waiting, seen */
  change: Record<string, unknown>;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A thread's plan. */
export type SetPlan = Of<["state", "set:plan"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** condition, steps, complete */
  change: unknown;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A watch of a thread: the kind of event that it watches for. */
export type SetWatch = Of<["state", "set:watch"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** kind, from, note, raised; null: closed */
  change: Record<string, unknown> | null;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A gathering of a thread: the work that it sent out together and waits to have back. */
export type SetGather = Of<["state", "set:gather"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** total, steps, prompt, results; null: all is told */
  change: Record<string, unknown> | null;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** Rare tools are open to the thread from now on. */
export type SetTools = Of<["state", "set:tools"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** open: their names */
  change: Record<string, unknown>;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** Whom a thread can send to. */
export type SetContact = Of<["state", "set:contact"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** thread, description; null: no more */
  change: Record<string, unknown> | null;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A timer of a thread. */
export type SetTimer = Of<["state", "set:timer"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** due, note; null: taken back */
  change: Record<string, unknown> | null;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A submodule of the space. */
export type SetSubmodule = Of<["state", "set:submodule"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** prompt; follow_up: false where it is not asked again after the decision; null: removed */
  change: Record<string, unknown> | null;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A note of the space. */
export type SetEntry = Of<["state", "set:entry"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** content, related_keys, owner; null: deleted */
  change: Record<string, unknown> | null;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A person changed a setting of the space. */
export type SetSetting = Of<["state", "set:setting"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** value; by: the name of who set it, or null */
  change: Record<string, unknown>;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A schedule of the space. */
export type SetSchedule = Of<["state", "set:schedule"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** thread, event, payload, when, overlap, catch_up_s, note, paused; due, through, last; null: removed */
  change: Record<string, unknown> | null;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** A framework of the space: how a kind of task is solved. */
export type SetFramework = Of<["state", "set:framework"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** name, purpose, knowledge, recipe; by: the name of who made it, or null; tally: what came of like tasks so far; null: removed */
  change: Record<string, unknown> | null;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** Another server's text on a tool, for models from now on: the first, or approved by a person. */
export type SetPin = Of<["state", "set:pin"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** server, tool, description, schema, sha256; by: the name of who approved it, or null */
  change: Record<string, unknown>;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** The state of a turn's step, in sub-steps. */
export type SetStep = Of<["state", "set:step"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** what is decided so far */
  change: Record<string, unknown>;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** `thinkd doctor` tried to write. */
export type SetDoctor = Of<["state", "set:doctor"], {
  /** for people */
  text: string;
  /** the kind of thing that is changed: the word behind `set:` */
  kind: string;
  /** the key of the thing within its kind */
  key: string;
  /** what it tried */
  change: unknown;
  /** the turn, if a turn produced it */
  turn?: number;
  /** the event from outside that it goes back to */
  root?: number;
}>;

/** Everything this version writes. */
export type ThinkdEvent =
  | Input
  | Trigger
  | Withdrawn
  | ScheduleMissed
  | ScheduleSkipped
  | TurnStarted
  | TurnSteered
  | TurnEnded
  | TurnCancel
  | SubmoduleSaid
  | DecisionSaid
  | Thought
  | NoAction
  | Question
  | ModelCall
  | Action
  | Result
  | ResultFailed
  | Reply
  | Message
  | Failure
  | NodeFailed
  | ClientFailure
  | RunStarted
  | RunResumed
  | RunCancel
  | RunPaused
  | RunParked
  | RunContinued
  | RunEnded
  | NodeStarted
  | NodeFinished
  | NodeAbandoned
  | ApprovalPending
  | ApprovalVerdict
  | ApprovalStarted
  | ClientCall
  | ClientResults
  | UserQuestion
  | UserAnswer
  | Recalled
  | Correction
  | StatementClaimed
  | StatementDerived
  | StatementRead
  | StatementJudged
  | StatementSourced
  | StatementGrounded
  | TrialsDue
  | TrialsRested
  | TrialsSpent
  | Summary
  | SummariesDue
  | SummariesRested
  | EntityMerged
  | EntityUnmerged
  | TaskMade
  | TaskBegan
  | TaskSplit
  | TaskAsked
  | TaskRoutes
  | TaskChecked
  | TaskTried
  | TaskUsed
  | TaskJudged
  | TaskRetry
  | TaskFramework
  | TaskTuned
  | TaskBuilt
  | TaskRefused
  | TaskChanged
  | TaskOver
  | FrameworkChosen
  | FrameworkOutcome
  | ThreadSpawned
  | ThreadEnded
  | ThreadStuck
  | ThreadArchived
  | ThreadResumed
  | ThreadForked
  | ContextCleared
  | TimerSet
  | Timer
  | PlanComplete
  | WatchRaised
  | WatchSet
  | WatchClosed
  | Gathered
  | ThreadError
  | SetThread
  | SetWait
  | SetPlan
  | SetWatch
  | SetGather
  | SetTools
  | SetContact
  | SetTimer
  | SetSubmodule
  | SetEntry
  | SetSetting
  | SetSchedule
  | SetFramework
  | SetPin
  | SetStep
  | SetDoctor;
