// Generated from openapi/openapi.json by `npm run generate`. Not to be edited.
import type { AnyEvent } from "./events.js";

/** A page of a list. */
export interface Page<T> {
  items: T[];
  /** The cursor of the next page; null on the last one. */
  next: string | null;
}

/** The metadata of a note. */
export type About = {
  /** The module that wrote it last. */
  owner: string;
  /** When it was last written. */
  updated_at: string;
};

/** A frame was taken. */
export type Ack = {
  /** The events that it became. */
  events: Placement[];
  /** The frame's `id`. */
  id?: string | null;
  /** The outcome of the frame. */
  status: AckStatus;
};

/** The outcome of a frame. */
export type AckStatus = "started" | "queued" | "duplicate" | "ok";

/** A tool call that waits for a person. */
export type Approval = Record<string, unknown> & {
  /** Its id: that of the event that asked for it. */
  approval_id: string;
  /** The position of the event that asked for it. */
  seq: number;
  /** The thread that made the call. */
  thread: string;
};

/** A part of an audit. */
export type Audit = {
  /** The statements of this page about which there is a doubt, in the order in which they were claimed. */
  items: DoubtfulStatement[];
  /** The number of statements this page looked at, by their status. */
  looked_at: Record<string, unknown>;
  /** The cursor of the next page; null on the last one. */
  next?: string | null;
  /** The number of recalls by agents that were looked at, the newest ones: at most 2000. */
  recalls: number;
  /** Why vectors said nothing, or not of all statements; null: they did. */
  without_vectors?: string | null;
};

/** The sums of some calls of models. */
export type CallSums = {
  /** The number of calls. */
  calls: number;
  /** The number of calls that came to nothing: failed, refused or stopped. */
  failed: number;
  /** The time that they took, in milliseconds, one after the other. */
  ms: number;
  /** The tokens that they used. */
  tokens: TokenCounts;
};

/** The extent of a cancellation. */
export type CancelTurns = {
  /** True: this one and all below it, missions among them. */
  subtree?: boolean;
};

/** The result of a cancellation: there was a turn to cancel, or none. */
export type Cancelled = {
  /** False: none ran. */
  cancelled: boolean;
  /** The number of threads in which one ran. */
  threads: number;
};

/** Changes of a thread; a member that is absent stays as it is. */
export type ChangeThread = {
  /** True: the thread is put aside. A message takes it up again. A subthread is put aside by its parent alone. */
  archived?: boolean | null;
  /** A line for people, 1 to 200 characters; null: the thread has none. */
  title?: string | null;
};

/** A line of a conversation. */
export type ChatLine = {
  /** `person` or `mind`. */
  by: string;
  /** The event. */
  seq: number;
  /** The first 200 characters of its text; of an image or a sound its kind in brackets. */
  text: string;
  /** When. */
  ts: string;
};

/** One line of a chat. */
export type ChatMessage = {
  /** The texts that were said. */
  chat: string[];
  /** `user` or `assistant`. */
  role: string;
  /** Seconds since 1970. */
  timestamp: number;
  /** The user, when known. */
  user: string;
};

/** Result of the check of a quote. */
export type Checked = "checked" | "unchecked";

/** The choice to solve a task with a framework or without it. */
export type Choice = {
  /** Why. */
  reason: string;
  /** The likeness of the task to those that the framework is for, 0 to 1. */
  score: number;
  /** True if the task is to be solved with the framework; else it is solved without it, to compare, and its outcome is told, too. */
  with: boolean;
};

/** When the acts of a turn on other threads and on its contacts take effect. */
export type Commit = "deferred" | "immediate";

/** A contact of a thread: a thread that it can send to. */
export type Contact = {
  /** The work, wants and offers of the contact. */
  description: string;
  /** The name by which the thread calls its contact. */
  name: string;
  /** The thread that is the contact. */
  thread: string;
};

/** The most that a mission may use up. */
export type CreateBudget = {
  /** Model calls. */
  model_calls?: number | null;
  /** Milliseconds of work. */
  time_ms?: number | null;
  /** Tokens, in and out. */
  tokens?: number | null;
};

/** A contact of a thread to be. */
export type CreateContact = {
  /** Its work, its wants and its offers; the first 1,000 characters of this text are kept. */
  description: string;
  /** The name by which the thread calls it. */
  name: string;
  /** The thread. */
  thread: string;
};

/** A thread to be. */
export type CreateThread = {
  budget?: CreateBudget | null;
  commit?: Commit | null;
  /** Whom it can send to, besides its parent and itself. */
  contacts?: CreateContact[] | null;
  /** The kind of process that it is. */
  kind?: NewKind;
  /** A suggestion for the last part of its id. */
  label?: string | null;
  language?: Language | null;
  /** Of a mission: the result that is wanted, at most 16,000 characters. A mission takes no members but this, `value`, `plan` and `budget`. */
  mission?: string | null;
  /** The thread it is created below. */
  parent?: string | null;
  plan?: Plan | null;
  /** The effect of new input on a running turn; as configured when absent. */
  policy?: "enqueue" | "interrupt" | "reject" | null;
  /** The text that the decision is told besides its own prompt. */
  prompt?: string | null;
  /** The voices it hears; all when absent. */
  submodules?: string[] | null;
  /** A process that goes in sub-steps, each of which asks for the missing parts. */
  substeps?: boolean | null;
  tier?: TierWord | null;
  /** A line for people. */
  title?: string | null;
  /** Of a mission: the cost that is allowed for it; no task of it is worth more. `medium` when absent. */
  value?: unknown;
};

/** A day of a month, as it is written. */
export type Day = number | string;

/** The outcome of a call that waited. */
export type Decided = {
  /** The approval. */
  approval_id: string;
  /** `granted`, `answered` or `denied`. */
  status: string;
};

/** A doubt about a statement. */
export type Doubt = "duplicate" | "near" | "never-recalled" | "one-instrument" | "reflection-only" | "overdue" | "contested" | "waiting" | "undecided" | "untested";

/** A statement about which there is a doubt. */
export type DoubtfulStatement = Statement & {
  /** The doubts. */
  doubts: Doubt[];
  /** Others that are held and look alike, the nearest first, at most five: candidates, which nothing merges. */
  near: Near[];
  /** The number of the recalls looked at that returned it. */
  recalled: number;
  /** The ids of others that are held and say the same of the same time, at most five. */
  same: string[];
};

/** A change of a task; an absent member stays as it is. */
export type EditTask = {
  /** The work to be done. */
  description?: string | null;
  /** Its name. */
  name?: string | null;
  /** Its place among its siblings: the lowest goes first. */
  rank?: number | null;
  /** The ids of the tasks beside it that have to end before it begins. */
  tasks_required?: string[] | null;
};

/** Names that are one. A statement about them keeps the names that it was said with. */
export type Entity = {
  /** The merges that say so and stand, the oldest first. */
  merges: NameMerge[];
  /** Its names as they were said, that by which it is called first. */
  names: string[];
};

/** A note. */
export type Entry = {
  /** Its text. */
  content: string;
  /** Its key. */
  key: string;
  /** Its metadata. */
  metadata: About;
  /** Keys it is related to. */
  related_keys: string[];
};

/** The worth of the estimates of one kind of route. */
export type Estimates = {
  /** The same of the chances as learned. */
  brier: number;
  /** The mean squared error (Brier score) of the chances as models said them: 0 is right each time, 0.25 is worth no more than a coin. */
  brier_said: number;
  /** `whole`, `split`, or `high`: the high tier's retry. */
  kind: string;
  /** The number of tries. */
  tried: number;
  /** The number of tries that passed their check. */
  worked: number;
};

/** The first message of the fork; without it the fork waits for one. */
export type FirstMessage = {
  /** Sounds, after the images. */
  audio?: Media[];
  /** An idempotency key (a UUID): the id of the last (or only) event. The same again is acknowledged as `duplicate`. */
  event_id?: string | null;
  /** Images, after the words. */
  images?: Media[];
  policy?: Policy | null;
  /** Words. */
  text: string;
} | {
  /** Sounds, after the images. */
  audio?: Media[];
  /** An idempotency key (a UUID): the id of the last (or only) event. The same again is acknowledged as `duplicate`. */
  event_id?: string | null;
  /** Images, after the words. */
  images: Media[];
  policy?: Policy | null;
  /** Words. */
  text?: string | null;
} | {
  /** Sounds, after the images. */
  audio: Media[];
  /** An idempotency key (a UUID): the id of the last (or only) event. The same again is acknowledged as `duplicate`. */
  event_id?: string | null;
  /** Images, after the words. */
  images?: Media[];
  policy?: Policy | null;
  /** Words. */
  text?: string | null;
};

/** A fork, and the place where it left the other thread. */
export type Fork = {
  /** The end of the turn at which it left the other thread; 0: its past is empty. */
  at: number;
  /** The fork. */
  thread: string;
};

/** Make a thread with the past of another, up to the end of a turn. */
export type ForkThread = {
  /** The event up to which its past comes along: the end of a turn, or else the last end before it. When absent, the last end of all, or that before the turn about `instead_of`. */
  at?: number | null;
  /** The id of an input that `message` takes the place of: the past is without it. Of one with several parts, that of the last. Not together with `at`. */
  instead_of?: string | null;
  message?: null | FirstMessage;
  /** The id of the fork; drawn by the server when absent. */
  thread?: string | null;
};

/** A thread was forked. */
export type Forked = {
  /** The end of the turn up to which its past goes; 0: its past is empty, for no turn of the thread had ended by then. */
  at: number;
  /** The events of its first message. */
  events: Placement[];
  /** The thread with the event `at`; where `at` is 0, the thread that was forked. */
  from: string;
  /** The frame's `id`. */
  id?: string | null;
  /** The fork. */
  thread: string;
};

/** The place where a fork left another thread. */
export type ForkedFrom = {
  /** The end of one of its turns; 0: the past of the fork is empty. */
  at: number;
  /** The thread. */
  thread: string;
};

/** A framework: how a kind of task is solved. It is a hypothesis: like tasks are tried with it and without it, and it is used only while it is better. */
export type Framework = {
  /** The name of its maker, where it was said. */
  by?: string | null;
  choice?: Choice | null;
  /** Its id. */
  id?: string;
  /** Knowledge and instructions in natural language. */
  knowledge?: string[];
  /** Its name. */
  name?: string;
  /** For which tasks it is; by this and its name it is found. */
  purpose?: string;
  /** The way it works. */
  recipe?: Recipe;
  /** The text that a model is told of it. */
  rendered?: string;
  /** The event that said something of it last. Sent as `expected_seq`, it has a change refused if something has been said of the framework since. */
  seq?: number;
  /** Its standing. */
  standing?: Standing;
  /** The outcomes of like tasks, with it and without it, since it has been as it is. */
  tally?: Tally;
  /** When it was last set. */
  updated_at?: string;
};

/** The changes to a framework; an absent member stays as it is. Another purpose, knowledge or recipe begins its probation anew. */
export type FrameworkChange = {
  /** The `seq` that was read before: if something has been said of it since, nothing is changed. Without it the last one wins. */
  expected_seq?: number | null;
  /** Its knowledge, all of it. */
  knowledge?: string[] | null;
  /** Its name. */
  name?: string | null;
  /** For which tasks it is. */
  purpose?: string | null;
  recipe?: Recipe | null;
};

/** The outcome of a task that a framework is for. */
export type FrameworkOutcome = {
  /** The task, in a few words. */
  task: string;
  /** The thread of the task; `main` when absent. */
  thread?: string | null;
  /** True if the task was tried with the framework. */
  with: boolean;
  /** True if the task was solved. */
  worked: boolean;
};

/** Subthreads of which the thread waits to have all results back together. */
export type Gathering = {
  /** The number of results that have come back. */
  back: number;
  /** Its id in the thread. */
  id: string;
  /** Of how many. */
  of: number;
  /** When it is over, even if some have not come back. */
  until?: string | null;
};

/** A part of the graph: each statement is an edge from its subject to its object. */
export type GraphPart = {
  /** Nothing was left out. */
  complete: boolean;
  /** The edges: the nearest first, or those along the way. */
  items: HeldStatement[];
};

/** The outcomes of the times that a voice was asked; each time is counted once. */
export type Heard = {
  /** The number of times that it could not answer. */
  failed: number;
  /** The number of times that it answered when the decision no longer waited for it. */
  late: number;
  /** The number of times that it had nothing to say. */
  passed: number;
  /** The number of times that it spoke in time. */
  spoke: number;
};

/** A statement that is held, or recalled on a person's word. */
export type HeldStatement = {
  /** Its id. */
  id: string;
  /** The same in words. */
  label: string;
  /** Nothing but reflection has tested it. */
  reflection_only: boolean;
  /** The person, if the statement is recalled on their word alone; null: it is on no word. */
  said_by?: string | null;
  /** `surviving`, or `contested`: something that contradicts it survived, too. `proposed`: a person said it, and nothing has tested it. */
  status: Status;
  /** The text of the statement. */
  text: string;
  triple?: Triple | null;
  /** From when on it is said to hold; null: no beginning is known. */
  valid_from?: string | null;
  /** Until when it held; null: no end is known. */
  valid_to?: string | null;
};

/** The instrument that tests a prediction. */
export type Instrument = "knowledge" | "code" | "user" | "reflection";

/** The kind of process that a thread is. */
export type Kind = "conversation" | "process" | "pipeline" | "mission";

/** The way in which a thread's decision says the actions that it wants done. */
export type Language = "tools" | "xml" | "auto";

/** The last change of a setting. */
export type LastChange = {
  /** When. */
  at: string;
  /** The name of its maker, where it was said. */
  by?: string | null;
  /** The event. */
  seq: number;
};

/** The most that a mission may use up. */
export type Limits = {
  /** Model calls. */
  model_calls: number;
  /** Milliseconds of work. */
  time_ms: number;
  /** Tokens, in and out, as far as providers say. */
  tokens: number;
};

/** A look through the whole file of the log. */
export type LookedAt = {
  /** When it began. */
  at: string;
  /** Events read. */
  events: number;
  /** The first faults: data that cannot be read, or is not as it was written, with the page where that is known; empty: all is well. */
  faults: string[];
  /** Pages of the file. */
  pages: number;
};

/** An image or a sound: either `data`, or `blob`. */
export type Media = {
  blob?: null;
  /** The bytes in base64. */
  data: string;
  /** The media type; found out from the bytes when absent. */
  mimeType?: string | null;
} | {
  /** The SHA-256 of a blob uploaded before. */
  blob: string;
  data?: null;
  /** The media type; found out from the bytes when absent. */
  mimeType?: string | null;
};

/** A kind of entry that can be recalled. */
export type Memory = "statements" | "notes" | "thoughts" | "frameworks";

/** Data on an event besides its content. Closed: no causal ids, ever. */
export type Meta = {
  /** The kind of the event, as tags for readers and filters. */
  tags: string[];
};

/** The description of this server. */
export type Metadata = Record<string, unknown> & {
  /** The most that turns, threads and the space may use up, as `[budget]` says; a missing value: no limit. */
  budget: Record<string, unknown>;
  /** This incarnation of the space's log. */
  epoch: string;
  /** The seq of its last event. */
  head: number;
  /** The limits: sizes, counts and times. */
  limits: Record<string, unknown>;
  /** `thinkd`. */
  name: string;
  /** The socket's protocol. */
  protocol: string;
  /** The space the credential opens. */
  space: string;
  /** Its version. */
  version: string;
};

/** A mission as it was given. */
export type MissionOf = {
  /** The resources that it may use up. */
  budget: Limits;
  /** The result that is wanted, as it was said. */
  mission: string;
  /** When its tasks begin. */
  plan: Plan;
  /** Why it rests: `paused`, until a person lets it go on, or `people`, until they have answered its requests; null: it does not. */
  rests?: string | null;
  /** Its worth. */
  value: unknown;
};

/** The kind of content that an event carries. */
export type Modality = "text" | "image" | "audio" | "state";

/** A habit of a model at its endpoint. */
export type ModelHabit = {
  /** The habit, as the predicate of a sentence about the model. */
  habit: string;
  /** The time when it was learned. It is forgotten a day later. */
  since: string;
  /** The failure that showed it, with the provider's words; null: an answer showed it. */
  words?: string | null;
};

/** A model. */
export type ModelItem = {
  /** Its askers: tiers, and modules with a model of their own. */
  askers: string[];
  /** The habits that its answers and refusals showed in the last day. */
  learned: ModelHabit[];
  /** The model and its endpoint, without secrets. */
  name: string;
};

/** The models that this server asks. */
export type ModelList = {
  /** The models, the one of the tier `low` first. Empty: the built-in offline model answers. */
  items: ModelItem[];
};

/** A merge of names. */
export type NameMerge = {
  /** When. */
  at: string;
  /** The author of the merge; null: a rule. */
  by?: string | null;
  /** Its id: that of the event that made it. */
  id: string;
  /** The names. */
  names: string[];
  /** Why. */
  reason: string;
  /** The position of that event. */
  seq: number;
  /** The statement that says so, where a rule did it: when it falls, the merge is undone. */
  statement?: string | null;
};

/** A tool, and the hash of its description. */
export type NamedTool = {
  /** Its name. */
  name: string;
  /** The hash of the words that were looked at. */
  sha256: string;
};

/** A statement that looks like another one. */
export type Near = {
  /** Its id. */
  id: string;
  /** The likeness of the two: the cosine of their vectors. */
  likeness: number;
  /** The text of the statement. */
  text: string;
};

/** A framework to be. */
export type NewFramework = {
  /** Knowledge and instructions in natural language; none when absent. */
  knowledge?: string[] | null;
  /** Its name. */
  name: string;
  /** For which tasks it is. */
  purpose: string;
  recipe?: Recipe | null;
};

/** The kind of process that is created here. */
export type NewKind = "conversation" | "process" | "mission";

/** Names to be one from now on. */
export type NewMerge = {
  /** The names: by the first one the entity is called. */
  names: string[];
  /** Why they are one. */
  reason: string;
};

/** A schedule to be. */
export type NewSchedule = {
  /** A day when absent. */
  catch_up_s?: number | null;
  /** The trigger's name; that of the schedule when absent. */
  event?: string | null;
  /** Its name: 1 to 32 of a-z, 0-9, _ and -. */
  name: string;
  /** Its purpose. */
  note?: string | null;
  overlap?: Overlap | null;
  /** True if it is not to begin yet. */
  paused?: boolean | null;
  /** The payload of the trigger. Its `text`, if any, is the text that the mind reads; the member `schedule` is added with every run. */
  payload?: {
    schedule?: never;
    text?: string;
  } | null;
  /** The thread that the trigger goes to; `main` when absent. An unused id becomes a conversation with the first run. */
  thread?: string | null;
  /** When. */
  when: When;
};

/** Something to be remembered, if it survives a trial. */
export type NewStatement = {
  /** The ids of the statements that it is derived from: when one of them is withdrawn, it has lost its ground. */
  derived_from?: string[] | null;
  /** The words that it rests on. */
  quote?: string | null;
  /** The event in which the quote stands, as a person or a tool said it. Without it, the quote is not checked. */
  seq?: number | null;
  /** The statement: one that could be true or false. */
  statement: string;
  /** The thread that it belongs to; `main` when absent. */
  thread?: string | null;
};

/** A voice to be. */
export type NewSubmodule = {
  /** Asked once more after the decision; absent: yes. Its next view has the decision either way. */
  follow_up?: boolean | null;
  /** Its name: 1 to 32 of a-z, 0-9, _ and -. */
  name: string;
  /** Its prompt. */
  prompt: string;
};

/** A name to be one with no other any more. */
export type NewUnmerge = {
  /** The name. The names that it was merged with stay one without it. */
  name: string;
  /** Why. */
  reason: string;
};

/** A space that cannot be served as it should be. */
export type NotServed = {
  /** Why. */
  reason: string;
  /** The space. */
  space: string;
  /** The work that cannot be done for it: `opening`, `index`, `timers` or `threads`. */
  work: string;
};

/** A watch that is open. */
export type OpenWatch = {
  /** Only from this thread. */
  from?: string | null;
  /** Its id in the thread. */
  id: string;
  /** The tag that it looks for. */
  kind: string;
  /** The work to be done then. */
  note: string;
  /** True if the event has come. */
  raised: boolean;
};

/** A note, a thought or a framework that is relevant. */
export type Other = {
  /** The key of a note, the event of a thought, the id of a framework. */
  id: string;
  /** The kind: `notes`, `thoughts` or `frameworks`. */
  kind: Memory;
  /** The words of the question that it has. */
  matched: string[];
  /** The relevance, 0 to 1, on the same scale for every question. */
  score: number;
  /** The event that said it last. */
  seq: number;
  /** The text of the entry. */
  text: string;
};

/** The outcome of work. */
export type Outcome = "complete" | "partial" | "failed" | "stopped";

/** The fate of a due time while an earlier run waits in the mailbox or has its turn. */
export type Overlap = "skip" | "queue";

/** A pipeline. */
export type Pipeline = {
  /** Its work, in words. */
  about: string;
  /** JSON Schema of its input. */
  input: Record<string, unknown>;
  /** Its name. */
  name: string;
};

/** The place of an event. */
export type Placement = {
  /** Its id. */
  event_id: string;
  /** Its position in the log. */
  seq: number;
  /** Its thread. */
  thread: string;
};

/** When the tasks of a mission begin. */
export type Plan = "go" | "ask";

/** A place in a body, and the error there. */
export type Pointed = {
  /** The error there. */
  detail: string;
  /** A JSON pointer (RFC 6901). */
  pointer: string;
};

/** The effect of new client input while a turn runs. */
export type Policy = "enqueue" | "interrupt" | "reject" | "steer";

/** Something said or perceived. */
export type PostMessage = {
  /** Sounds, after the images. */
  audio?: Media[];
  /** An idempotency key (a UUID): the id of the last (or only) event. The same again is acknowledged as `duplicate`. */
  event_id?: string | null;
  /** Comes back in the answer. */
  id?: string | null;
  /** Images, after the words. */
  images?: Media[];
  policy?: Policy | null;
  /** Words. */
  text: string;
  /** `message` when absent. */
  type?: "message" | "sensory";
} | {
  /** Sounds, after the images. */
  audio?: Media[];
  /** An idempotency key (a UUID): the id of the last (or only) event. The same again is acknowledged as `duplicate`. */
  event_id?: string | null;
  /** Comes back in the answer. */
  id?: string | null;
  /** Images, after the words. */
  images: Media[];
  policy?: Policy | null;
  /** Words. */
  text?: string | null;
  /** `message` when absent. */
  type?: "message" | "sensory";
} | {
  /** Sounds, after the images. */
  audio: Media[];
  /** An idempotency key (a UUID): the id of the last (or only) event. The same again is acknowledged as `duplicate`. */
  event_id?: string | null;
  /** Comes back in the answer. */
  id?: string | null;
  /** Images, after the words. */
  images?: Media[];
  policy?: Policy | null;
  /** Words. */
  text?: string | null;
  /** `message` when absent. */
  type?: "message" | "sensory";
};

/** The outcome of a posted message. */
export type Posted = Ack & {
  /** Beside `responses`: the failures meanwhile, as the log has them, of voices and tools, too; absent: none. */
  failures?: AnyEvent[];
  /** Beside `responses`: how the turn ended that it was handled in, `done`, `cancelled` or `failed`; or, where no turn came to it, `ended`: the thread has ended, or `withdrawn`: it was taken back. */
  outcome?: string | null;
  /** The answers, when they were waited for and came in time. */
  responses?: AnyEvent[] | null;
};

/** A problem (RFC 9457). */
export type Problem = {
  /** The error here, and the remedy. */
  detail: string;
  /** The errors in the body, each with its place. */
  errors?: Pointed[];
  /** The HTTP status. */
  status: number;
  /** The kind of problem, for people. */
  title: string;
  /** `/problems/<slug>`. */
  type: string;
};

/** The view of a model call: its request, made anew from the log. */
export type PromptView = {
  /** The record of the call. */
  call: string;
  /** The request is, byte for byte, the one that was sent. */
  exact: boolean;
  /** The model. */
  model?: string | null;
  /** The module that asked. */
  module?: string | null;
  /** Why. */
  purpose?: string | null;
  /** The request, as the provider gets it. */
  request: Record<string, unknown>;
  /** The pieces of the request, in the order in which models read it, tools first, as providers cache them. */
  sections: ViewSection[];
  /** The thread. */
  thread: string;
  /** `input_tokens`, `output_tokens`, `cached_tokens`, as far as the provider said. */
  usage?: Record<string, unknown> | null;
};

/** An open question. */
export type Question = Record<string, unknown> & {
  /** Its id: that of the event that asked it. */
  question_id: string;
  /** The position of the event that asked it. */
  seq: number;
  /** The thread that asked. */
  thread: string;
};

/** An answer. */
export type QuestionAnswer = {
  /** The answer in words; of a question with choices, one of them. Without it, of a question with a schema, the JSON as text. */
  text?: string | null;
  /** The answer as JSON, of a question with a schema. */
  value?: unknown;
};

/** The readiness for requests, in full. */
export type Readiness = {
  checked?: LookedAt | null;
  /** `ok`: with spaces that are not served, too, for the others are. */
  status: string;
  /** Spaces that cannot be served as they should be; a person must look. */
  unserved: NotServed[];
};

/** A statement that is relevant and held, or recalled on a person's word. Nothing is ever proven: a held one is a hypothesis that no test has refuted so far. */
export type Recalled = HeldStatement & {
  /** The statements that contradict it and are held, too: the first 8. */
  contested_by: HeldStatement[];
  /** The number of statements that contradict it. */
  contested_by_count: number;
  /** The kind: `statements`. */
  kind: Memory;
  /** The ids of others that say the same of the same time. */
  same: string[];
  /** The relevance, 0 to 1, on the same scale for every question. */
  score: number;
  /** The event that claimed it. */
  seq: number;
  /** Why it is here. */
  why: Why;
};

/** The way in which a framework works. */
export type Recipe = {
  kind: "text";
} | {
  /** The program. */
  code: string;
  /** The rule by which its free parameters are chosen; empty: it has none. */
  guideline?: string;
  kind: "program";
  /** Its language, as `run_code` calls it. */
  language: string;
} | {
  kind: "external_tool";
  /** The steps. */
  steps: string[];
  /** The tool's name. */
  tool: string;
};

/** Statements that are held and relevant to a question. */
export type Recollection = {
  /** The statements: tested ones before those that only reflection has tested, then by score. Empty: nothing relevant is held. */
  items: Recalled[];
  /** The number of memories that are relevant, too, and have no room. */
  left_out: number;
  /** The notes, thoughts and frameworks that are relevant, by score; they claim nothing of the world. Empty where `in` does not ask for them. */
  others: Other[];
  /** Why vectors said nothing, or not of all statements: it was answered by words and the graph; null: they did. */
  without_vectors?: string | null;
};

/** Kinds of recurrence. */
export type RecurrenceKind = "once" | "every" | "daily" | "weekly" | "monthly";

/** The place of a claim. */
export type Remembered = {
  /** The statement's id. */
  id: string;
  quote?: Checked | null;
  /** `proposed`: its trial has not begun. `surviving`: it is held on its claimant's word. */
  status: Status;
};

/** Why a statement is withdrawn. */
export type Retraction = {
  /** Why. */
  reason: string;
};

/** A way to do a task. */
export type Route = {
  /** The chance that it works, from 0 to 1, as the model estimates it. */
  estimate: number;
  /** The way it goes, in words. */
  how: string;
  /** The same chance, as learned from the outcomes of earlier routes of its kind; null: there were none. */
  learned?: number | null;
  /** Its name. */
  name: string;
  /** True if it splits the task instead of doing it as a whole. */
  splits: boolean;
};

/** A run of a pipeline. */
export type Run = {
  /** When it ended. */
  ended_at?: string | null;
  /** Why it `failed`: kind, text, retryable, detail. */
  failure?: unknown;
  /** Its id. */
  id: string;
  /** The output, once the run is `done`. */
  output?: unknown;
  /** In place of a large output: the blob that has it, as JSON. */
  output_blob?: unknown;
  /** Its pipeline. */
  pipeline: string;
  /** When it was started. */
  started_at: string;
  /** Its status. */
  status: RunStatus;
  /** The thread that has its events. */
  thread: string;
};

/** The status of a run. */
export type RunStatus = "running" | "done" | "failed" | "cancelled";

/** Something said to the mind, or perceived by it. */
export type Said = {
  /** Sounds, after the images. */
  audio?: Media[];
  /** An idempotency key (a UUID): the id of the last (or only) event. The same again is acknowledged as `duplicate`. */
  event_id?: string | null;
  /** Images, after the words. */
  images?: Media[];
  policy?: Policy | null;
  /** Words. */
  text?: string | null;
  /** The thread it is for; `main` when absent. An unused id creates a conversation. */
  thread?: string | null;
};

/** A schedule: at some times it fires a trigger into a thread. */
export type Schedule = {
  /** The number of seconds after a due time in which it is caught up with. All due times that were missed within them come to one run, older ones to none, with an event that says so. */
  catch_up_s: number;
  /** The trigger's name. */
  event: string;
  /** The event of its last run; null: there was none. */
  last?: number | null;
  /** Its name. */
  name: string;
  /** When it is due next; null: it is paused. */
  next?: string | null;
  /** Its purpose, or why it is paused. */
  note: string;
  /** The treatment of a due time while an earlier run waits or has its turn. `skip`: it is left out, with an event that says so. `queue`: it waits, too. */
  overlap: Overlap;
  /** True if it is paused. */
  paused: boolean;
  /** The payload of the trigger. */
  payload: Record<string, unknown>;
  /** The thread that the trigger goes to. */
  thread: string;
  /** When it was last set. */
  updated_at: string;
  /** When. */
  when: When;
};

/** The changes to a schedule; absent members stay as they are. */
export type ScheduleChange = {
  /** The number of seconds after a due time in which it is caught up with. */
  catch_up_s?: number | null;
  /** The trigger's name. */
  event?: string | null;
  /** Its purpose, or why it is paused. */
  note?: string | null;
  overlap?: Overlap | null;
  /** `true` pauses it: due times meanwhile are left out. `false`: it goes on with the first due time that is to come. */
  paused?: boolean | null;
  /** The payload of the trigger. */
  payload?: {
    schedule?: never;
    text?: string;
  } | null;
  /** The thread that the trigger goes to. */
  thread?: string | null;
  when?: When | null;
};

/** The scores of the legs for a statement, 0 to 1. */
export type Scores = {
  /** The nearness in the graph to the names in the question and to the statements that the other legs found; null: it is no edge. */
  graph?: number | null;
  /** The degree to which its meaning stands out from that of others; null: it has no vector, or the question has none. */
  vectors?: number | null;
  /** The share of the question that it says in the same words. */
  words: number;
};

/** The identity of a thread. Its models are told the same: its identity and its mission first, its task and its mood last. */
export type SelfView = {
  /** The purpose of it all: the thread's own mission, or that of the space (the setting `mission`); null: none was said. */
  mission?: string | null;
  /** Its mood, in a word. */
  mood: string;
  /** The space of the mind that it is part of. */
  space: string;
  /** The purpose of the thread, in a line; null: none was said. */
  task?: string | null;
  /** Its latest thoughts, the newest first. */
  thoughts: Thought[];
  /** The thread. */
  thread: string;
};

/** A server-sent event of the stream, field by field. */
export type Sent = {
  /** The event, as JSON in one line. */
  data: AnyEvent;
  /** `<seq>@<epoch>`: where the stream is taken up again, by `Last-Event-ID`. */
  id: string;
};

/** A server. */
export type Server = {
  /** Its id: another one with each start. */
  id: string;
  /** The number of leases it held then: threads that it worked on. */
  leases: number;
  /** Its host and the number of its process. */
  name: string;
  /** When it said last how it is; of the one that is asked: now. */
  seen_at: string;
  /** When it started. */
  since: string;
  /** `ready`; `draining`: it stops, and finishes the work it has begun; `lost`: it has not said anything for ten looks, and others take up its work. */
  state: string;
  /** True if the server is the one that is asked. */
  this: boolean;
  /** The number of threads it looked after then. */
  threads: number;
  /** Its version. */
  version: string;
};

/** The servers on the log. */
export type Servers = {
  /** By when they started, the one that is asked last. */
  items: Server[];
};

/** Changes of settings, all or none. */
export type SettingsChange = {
  /** The `seq` that was read before: if a setting has been changed since, nothing is changed. Without it the last one wins. */
  expected_seq?: number | null;
  /** The settings to change, by key; those that are not named stay as they are. */
  settings: {
    /** what the mind of the space is for: every model of it is told; empty: nobody has said */
    mission?: string;
    /** how many seconds lie between two reflections (the schedule `reflection`); null: the mind does not reflect by itself */
    reflection_s?: number | null;
    /** the zone in which models are shown the times of what happens from then on, by its name in the IANA database; each entry of a prompt names it */
    time_zone?: string;
    /** nobody is there to be asked: open questions are withdrawn and new ones answered "away" at once; never grants an approval */
    user_away?: boolean;
  };
};

/** The origin of an event. */
export type Source = "user" | "tool" | "system" | "internal";

/** The settings of a space. */
export type SpaceSettings = {
  /** The last change of each; a setting that was never changed is missing. */
  changes: Record<string, LastChange>;
  /** The event that changed any of them last; 0: none has. Sent as `expected_seq`, it has a change refused if any setting was changed meanwhile. */
  seq: number;
  /** Every setting as it is now. */
  settings: {
    /** what the mind of the space is for: every model of it is told; empty: nobody has said */
    mission?: string;
    /** how many seconds lie between two reflections (the schedule `reflection`); null: the mind does not reflect by itself */
    reflection_s?: number | null;
    /** the zone in which models are shown the times of what happens from then on, by its name in the IANA database; each entry of a prompt names it */
    time_zone?: string;
    /** nobody is there to be asked: open questions are withdrawn and new ones answered "away" at once; never grants an approval */
    user_away?: boolean;
  };
};

/** The standing of a framework. */
export type Standing = "probation" | "used" | "dropped" | "unusable";

/** A run to be. */
export type StartRun = {
  /** A UUID of the caller's, so that a repeated request starts nothing: it becomes the run's id. */
  event_id?: string | null;
  /** As the pipeline's schema says; null when absent. */
  input?: unknown;
};

/** A statement. Nothing is ever proven: a statement that survives is a hypothesis that no test has refuted yet. */
export type Statement = {
  /** The event that changed it last. */
  changed: number;
  /** When it was claimed. */
  claimed_at: string;
  /** The statements that contradict it, where it is contested: the first 8. */
  contested_by: string[];
  /** The number of statements that contradict it, counted up to 1000. */
  contested_by_count: number;
  /** The statements that it is derived from. */
  derived_from: string[];
  /** When it is tried, or tried again; null: it is not. */
  due_at?: string | null;
  /** Its id: that of the event that claimed it. */
  id: string;
  /** The same in words. */
  label: string;
  /** Why it is that. */
  reason?: string | null;
  /** Nothing but reflection has tested it. */
  reflection_only: boolean;
  /** The person, if the statement is held on their word alone, or recalled on that word alone while it is `proposed`; null: it is on no word. */
  said_by?: string | null;
  /** The position of that event. */
  seq: number;
  /** The sources: `by`, `seqs` of events, `quote`, `word`: it counts as the person's own. */
  sources: Record<string, unknown>[];
  /** The status of the statement. */
  status: Status;
  /** The number of trials it has survived. */
  survived: number;
  /** When it was tried last. */
  tested_at?: string | null;
  /** The instruments that carried it. */
  tested_by: Instrument[];
  /** The text of the statement. */
  text: string;
  /** The thread that claimed it. */
  thread: string;
  triple?: Triple | null;
  /** From when on it is said to hold; null: no beginning is known. */
  valid_from?: string | null;
  /** Until when it held; null: no end is known. */
  valid_to?: string | null;
};

/** A statement with its whole trial. */
export type StatementTrial = Statement & {
  /** The predictions that follow from it, and how they were tested. */
  predictions: Tested[];
  /** Predictions that were not taken, and why. */
  rejected: string[];
  /** The verdicts on it, the oldest first: `seq`, `at`, and the content of the event. */
  verdicts: Record<string, unknown>[];
};

/** The status of a statement. `Display` writes its word. */
export type Status = "proposed" | "surviving" | "contested" | "untested" | "falsified" | "ended" | "retracted";

/** A stored blob. */
export type StoredBlob = {
  /** The SHA-256 of its bytes, 64 hex digits. */
  blob: string;
  /** Its size. */
  bytes: number;
  /** Its media type. */
  mime: string;
};

/** A voice. */
export type Submodule = {
  /** Asked once more after the decision, where `turn.follow_up` is on. */
  follow_up: boolean;
  /** The outcomes of the times that it was asked, by this server since it started. */
  heard: Heard;
  /** Its name. */
  name: string;
  /** Its prompt: all that it is. */
  prompt: string;
  /** When it was last set. */
  updated_at: string;
};

/** Another prompt for a voice, or another `follow_up`; an absent one stays as it is. */
export type SubmoduleChange = {
  /** Asked once more after the decision. */
  follow_up?: boolean | null;
  /** Its prompt. */
  prompt?: string | null;
};

/** The outcomes of a voice over a span; each turn in which it was asked counts once. */
export type SubmoduleFigures = {
  /** The number of turns in which it was asked. */
  asked: number;
  /** The beginning of the part that was read, if the span has more than was read; null: all of the span was. */
  cut?: string | null;
  /** The number of turns in which it could not answer. */
  failed: number;
  /** The number of turns in which it added something to the decision. */
  followed_up: number;
  /** The number of turns in which it had not answered when the decision began. */
  late: number;
  /** Milliseconds that its calls took before the decision, in half of the turns at most; null: none has come back. */
  p50_ms?: number | null;
  /** The same, in 95 of 100 turns. */
  p95_ms?: number | null;
  /** The number of turns in which it had nothing to say. */
  passed: number;
  /** The number of turns in which it spoke in time. */
  spoke: number;
  /** The same, all of them. */
  times: TimeBin[];
  /** The tokens that its calls used, those after decisions with them. */
  tokens: TokenCounts;
};

/** The version of a voice from some event on. */
export type SubmoduleVersion = {
  /** When. */
  at: string;
  /** Its prompt from then on; null: it was removed. */
  prompt?: string | null;
  /** The event that made it so. */
  seq: number;
};

/** The versions of a voice, past and present. */
export type SubmoduleVersions = {
  /** The newest first. */
  items: SubmoduleVersion[];
};

/** A title that a model made. */
export type SuggestedTitle = {
  /** The title, which the thread has now. */
  title: string;
};

/** The outcomes of like tasks with a framework and without it. */
export type Tally = {
  /** With it. */
  with: Tries;
  /** Without it. */
  without: Tries;
};

/** A task. */
export type Task = {
  /** The answer that passed its check. */
  answer?: string | null;
  check?: TaskCheck | null;
  /** The work to be done. */
  description: string;
  /** Its id; ids only go up. */
  id: string;
  /** Its name. */
  name: string;
  /** The task that was split into it and others. */
  parent?: string | null;
  /** Its place among its siblings: the lowest goes first. */
  rank: number;
  /** Why it failed. */
  reason?: string | null;
  /** The ways to do it, as listed; empty before a model was asked for them. */
  routes: Route[];
  /** The event that made it. */
  seq: number;
  /** Its status. */
  status: TaskStatus;
  /** All that was thought while it was worked on, in order; in answers about one task. */
  stream_of_consciousness?: string | null;
  /** The names of the tasks and thoughts that led to it, as the planner says. */
  tasks_and_thoughts_that_brought_to_it: string[];
  /** The tasks that require it. */
  tasks_depending: string[];
  /** The tasks that have to end before it begins; of a task that was split: its parts. */
  tasks_required: string[];
  /** The thread in which it is worked on, and which has its thoughts; null before it begins. */
  thread?: string | null;
  /** When it was changed last. */
  updated_at: string;
  /** The highest cost that it may have. */
  value: unknown;
};

/** The check of a task's answer. */
export type TaskCheck = {
  /** `program`, `knowledge`, `agreement` or `rubric`. */
  by: string;
  /** The rule that a model goes by, where the program or the search decides nothing. */
  rubric: string;
  /** The program, or the query of a search. */
  with?: string | null;
};

/** Tasks of a mission, counted; the parts that one was split into count as that one. */
export type TaskCounts = {
  /** The number of tasks that failed or were skipped. */
  failed: number;
  /** The number of tasks that had not ended when the mission did. */
  left: number;
  /** The number of tasks with an answer that passed its check. */
  solved: number;
};

/** The status of a task. */
export type TaskStatus = "open" | "in_progress" | "closed" | "failed_with_current_available_instruments";

/** A thought that was had while a task was worked on. */
export type TaskThought = {
  /** When. */
  at: string;
  /** The words of the thought. */
  content: string;
  /** Its id; ids only go up: it is the position of its event. */
  id: number;
  /** Its name, by which it is found, too. */
  name: string;
  /** The task. */
  task: string;
};

/** A prediction and its readings. */
export type Tested = {
  /** The observation that would be made if it is not. */
  fails_if: string;
  /** The instrument that was chosen. */
  instrument: Instrument;
  /** Its readings, the oldest first: `seq`, `at`, and the content of the event. */
  readings: Record<string, unknown>[];
  /** Why this one. */
  reason: string;
  /** The observation that is to be made if the statement is so. */
  text: string;
};

/** Something that a mind thought. */
export type Thought = {
  /** When. */
  at: string;
  /** The event. */
  seq: number;
  /** The words of the thought. */
  text: string;
};

/** A thread. */
export type Thread = {
  /** True if it was put aside: by a person, or because it had nothing to do when its parent needed room for another. A message takes it up again. */
  archived: boolean;
  /** The resources that it has used. */
  budget: Used;
  /** Whom it can send to, besides its parent and itself; in answers about one thread. */
  contacts: Contact[];
  first?: ChatLine | null;
  forked_from?: ForkedFrom | null;
  /** The forks of it in the order in which they were made, at most 1,000; in answers about one thread. */
  forks?: Fork[];
  /** The subthreads that it sent out together and waits to have back; `until` in answers about one thread. */
  gatherings: Gathering[];
  /** Everything that woke it up to here has had its turn. */
  handled: number;
  /** The seq of its last event. */
  head: number;
  /** Its id. */
  id: string;
  /** The kind of process that it is. */
  kind: Kind;
  last?: ChatLine | null;
  mission?: MissionOf | null;
  outcome?: Outcome | null;
  /** The thread it is below. */
  parent?: string | null;
  /** The plan of its next acts: `condition`, `steps` (`text`, `done`), `complete`. */
  plan?: Record<string, unknown> | null;
  /** The number of messages that wait for its next turn; in answers about one thread. */
  queued?: number | null;
  /** Why it ended, or cannot go on. */
  reason?: string | null;
  /** `idle`, `thinking`, `waiting`, `done`, `failed` or `stopped`. */
  status: string;
  tasks?: TaskCounts | null;
  /** The timers that it has set; in answers about one thread. */
  timers: Timer[];
  /** A line for people. */
  title?: string | null;
  /** The number of its last turn. */
  turn: number;
  /** The thread it waits for; absent while it waits: anybody. */
  waiting_for?: string | null;
  /** When it stops waiting. */
  waiting_until?: string | null;
  /** The watches that are open. */
  watches: OpenWatch[];
};

/** The model, by its tier. */
export type TierWord = "low" | "high";

/** The number of turns in which the calls of a voice took about so long. */
export type TimeBin = {
  /** In how many turns. */
  turns: number;
  /** Up to so many milliseconds, and longer than the bin before; null: longer than all bins. */
  up_to_ms?: number | null;
};

/** A timer that is set. */
export type Timer = {
  /** When it fires. */
  due: string;
  /** Its id in the thread. */
  id: string;
  /** The matter that it reminds of. */
  note: string;
};

/** Tokens, as far as providers said; null: none of them said any. */
export type TokenCounts = {
  /** Of requests, from the provider's cache. */
  cached?: number | null;
  /** Of requests. */
  input?: number | null;
  /** Of answers. */
  output?: number | null;
};

/** A tool of a thread. */
export type Tool = {
  /** The number of the thread's last 1,000 results that are of this tool. */
  calls: number;
  /** Its purpose, as models are told; null: they are not told of it. */
  description?: string | null;
  /** Of one that is withheld because it changed: the changes in its server's words, as a unified diff. */
  diff?: string | null;
  effect?: ToolEffect | null;
  /** The number of these that are failures. */
  failed: number;
  /** Its name. */
  name: string;
  /** Its calls wait for a person. */
  needs_approval: boolean;
  /** The JSON Schema of its arguments, as models are told. */
  schema?: Record<string, unknown> | null;
  /** The server it is from; null: it is one of this server's own. */
  server?: string | null;
  /** The hash of its server's present words about it: an approval names it. */
  sha256?: string | null;
  /** Its state: it says whether models are told of it. */
  state: ToolState;
  /** Why it is not ready. */
  why?: string | null;
};

/** The approval of another server's present words about a tool. */
export type ToolApproval = {
  /** The hash of the words that were looked at. */
  sha256: string;
};

/** The approval of several tools as their servers describe them now: of all of them, or of none. */
export type ToolApprovals = {
  /** The tools. */
  tools: NamedTool[];
};

/** The result of an approval. */
export type ToolApproved = {
  /** The tool, of which models are told from now on. */
  name: string;
};

/** The effect of a tool on the world. */
export type ToolEffect = "events" | "repeatable" | "outside";

/** The words of a server about all its tools together, as the space has them. */
export type ToolInstructions = {
  /** Their difference from the words that the space knows, as a unified diff. */
  diff?: string | null;
  /** The name by which it is approved, as a tool is. */
  name: string;
  /** Their hash: an approval names it. */
  sha256?: string | null;
  /** The standing of these words. */
  state: ToolState;
  /** Its words, as models that have one of the tools are told; where they are too long, the beginning. */
  text: string;
  /** The reason that models are not told of them. */
  why?: string | null;
};

/** A server that offers tools. */
export type ToolServer = {
  /** The calls of its tools that wait for a person, besides those that `tools.approval` names. */
  approve: WaitingCalls;
  /** True if it is connected. */
  connected: boolean;
  instructions?: ToolInstructions | null;
  /** Its name, as it is configured. */
  name: string;
  /** The tools with calls that wait for no person, of those that models are told of. */
  unseen: string[];
  /** Why it is not, or another fact that is to be known. */
  why?: string | null;
};

/** The state of a tool. */
export type ToolState = "ready" | "rare" | "new" | "away" | "changed" | "withheld";

/** All that a thread may use. */
export type Tools = {
  /** The tools, in the order in which models are told of them; those that are withheld stand last. */
  items: Tool[];
  /** The servers that offer tools from outside. */
  servers: ToolServer[];
};

/** The tools of which models are told from now on. */
export type ToolsApproved = {
  /** Their names. */
  names: string[];
};

/** The number of tries, and of those that worked. */
export type Tries = {
  /** The number of tries. */
  tried: number;
  /** The number of tries that worked. */
  worked: number;
};

/** A statement as an edge of a graph. */
export type Triple = {
  /** The value that it says of the subject. */
  object: string;
  /** The way in which the two belong together. */
  relation: string;
  /** A subject has one object of this relation at a time. */
  single: boolean;
  /** The thing that it is about. */
  subject: string;
};

/** The record of a turn, as far as the log has it. */
export type Turn = {
  /** The seqs of all that woke the thread and waited. */
  batch: number[];
  /** Calls of models, the decision's with them. */
  calls: number;
  /** The most milliseconds that the decision waited for the voices; null: there was none to wait for, or an older server ran it. */
  deadline_ms?: number | null;
  /** When it ended; null: it runs, or was left to be taken up again. */
  ended_at?: string | null;
  /** Failures of voices, tools and the decision. */
  failures: number;
  /** The seq of its first event. */
  first: number;
  /** The seqs of the messages that joined it while it ran (`"policy": "steer"`). */
  joined: number[];
  /** The seq of its last event so far; words of voices that come late or afterwards count. */
  last: number;
  /** The way it ended: `done`, `cancelled`, `interrupted` or `failed`. */
  outcome?: string | null;
  /** Replies. */
  replies: number;
  /** Calls of the decision's model. */
  rounds: number;
  /** When it began. */
  started_at: string;
  /** The tokens that its calls used. */
  tokens: TokenCounts;
  /** Calls of tools. */
  tools: number;
  /** Its number in the thread. */
  turn: number;
  /** The voices by name. */
  voices: TurnVoice[];
};

/** A voice in a turn. */
export type TurnVoice = {
  /** True if it added something to the decision. */
  followed_up: boolean;
  /** Milliseconds that its calls took before the decision; null: none has come back. */
  ms?: number | null;
  /** Its name. */
  name: string;
  /** `spoke`, `passed`, `late` or `failed`; null: nothing has become of it yet. */
  outcome?: string | null;
};

/** The merges that do not stand any more. */
export type Unmerged = {
  /** The merges that were undone. */
  undone: NameMerge[];
};

/** The sums of the calls of models over a span. */
export type Usage = {
  /** The beginning of the part that was read, if the span has more calls than were read; null: all of the span was. */
  cut?: string | null;
  /** The items that used the most tokens, at most 100. */
  items: UsageItem[];
  /** All others together. */
  rest: CallSums;
  /** By time, the oldest first, where a step was asked for; steps without calls are missing. */
  steps: UsageStep[];
};

/** The sums of the calls of one module, thread, model or purpose. */
export type UsageItem = CallSums & {
  /** The module, thread, model or purpose. */
  key: string;
};

/** The sums of the calls of one step. */
export type UsageStep = CallSums & {
  /** When the step begins: a multiple of its length since 1970. */
  at: string;
};

/** The resources that a thread has used. */
export type Used = {
  /** Model calls. */
  model_calls: number;
  /** Messages to itself since something came from outside or from another thread. */
  self_messages: number;
  /** Messages to others since something came from outside. */
  sends: number;
  /** Subthreads that have not ended. */
  subthreads: number;
  /** Of a mission: milliseconds of work, as far as its events tell; work under way counts with its next event. */
  time_ms?: number | null;
  /** Tokens, in and out, as far as providers said. */
  tokens: number;
};

/** The verdict of a person on a call that waits. */
export type Verdict = {
  /** With `edit`: the arguments that the call runs with instead of those that were proposed, all of them. */
  arguments?: Record<string, unknown> | null;
  /** Why. */
  reason?: string | null;
  /** With `respond`: the result of the call. */
  text?: string | null;
  /** The verdict. */
  verdict: Word;
};

/** A piece of a request. */
export type ViewSection = {
  /** Its size. */
  bytes: number;
  /** `tools`, `system`, `summary`, `event`, `corrections`, `task`, `prompt` (the voice's own), `own` (the voice's acts in this turn) or `self` (the thread's task and mood). */
  kind: string;
  /** The event it is made of; null: it is none. */
  seq?: number | null;
  /** Its share of `usage.input_tokens`, by size; where the provider counted none, a quarter of its bytes. */
  tokens_estimated: number;
};

/** The calls to a server of tools that wait for a person. */
export type WaitingCalls = "all" | "writes" | "none";

/** Days of the week. */
export type Weekday = "monday" | "tuesday" | "wednesday" | "thursday" | "friday" | "saturday" | "sunday";

/** When something is due, as it is written: `kind` says which of the other members there are. */
export type When = {
  /** `once`: the moment, with any offset. */
  at: string;
  day?: null;
  days?: null;
  /** The kind of recurrence. */
  kind: "once";
  seconds?: null;
  start?: null;
  time?: null;
  zone?: null;
} | {
  at?: null;
  day?: null;
  days?: null;
  /** The kind of recurrence. */
  kind: "every";
  /** `every`: how many seconds lie between two. */
  seconds: number;
  /** `every`: one of the moments; all others are whole intervals away from it. When absent: the moment when this is set. */
  start?: string | null;
  time?: null;
  zone?: null;
} | {
  at?: null;
  day?: null;
  days?: null;
  /** The kind of recurrence. */
  kind: "daily";
  seconds?: null;
  start?: null;
  /** `daily`, `weekly`, `monthly`: the local time, `HH:MM` or `HH:MM:SS`. */
  time: string;
  /** `daily`, `weekly`, `monthly`: the time zone, as IANA calls it. */
  zone: string;
} | {
  at?: null;
  day?: null;
  /** `weekly`: the days. */
  days: Weekday[];
  /** The kind of recurrence. */
  kind: "weekly";
  seconds?: null;
  start?: null;
  /** `daily`, `weekly`, `monthly`: the local time, `HH:MM` or `HH:MM:SS`. */
  time: string;
  /** `daily`, `weekly`, `monthly`: the time zone, as IANA calls it. */
  zone: string;
} | {
  at?: null;
  day: number | "last";
  days?: null;
  /** The kind of recurrence. */
  kind: "monthly";
  seconds?: null;
  start?: null;
  /** `daily`, `weekly`, `monthly`: the local time, `HH:MM` or `HH:MM:SS`. */
  time: string;
  /** `daily`, `weekly`, `monthly`: the time zone, as IANA calls it. */
  zone: string;
};

/** Why a statement was found. */
export type Why = Scores & {
  /** The words of the question that it has. */
  matched: string[];
  /** The names in the question that it is about, folded. */
  names: string[];
  /** The ids of the statements by which one comes to it from a name in the question, this one last; empty: there is no such way. */
  path: string[];
};

/** The word of a verdict. */
export type Word = "approve" | "grant" | "edit" | "reject" | "deny" | "respond";

/** The working memory of a mission. */
export type WorkingMemory = {
  /** The worth of the estimates of routes in this space, by kind of route, as counted in its newest 500 verdicts. */
  estimates: Estimates[];
  /** The statements that are held and relevant to the mission. */
  statements: Recalled[];
  /** The tasks that are not over, and then the others, in the order in which they were made; at most 500 of them. */
  tasks: Task[];
  /** The newest thoughts, the oldest of these first; at most 100. */
  thoughts: TaskThought[];
};
