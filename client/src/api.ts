// Generated from openapi/openapi.json by `npm run generate`. Not to be edited.
import type { AnyEvent } from "./events.js";
import type { Options, Request } from "./http.js";
import type { Ack, Approval, Audit, CancelTurns, Cancelled, ChangeThread, ChatMessage, CreateThread, Decided, EditTask, Entity, Entry, ForkThread, Forked, Framework, FrameworkChange, FrameworkOutcome, GraphPart, Kind, Metadata, Modality, ModelList, NewFramework, NewMerge, NewSchedule, NewStatement, NewSubmodule, NewUnmerge, Page, Pipeline, PostMessage, Posted, PromptView, Question, QuestionAnswer, Recollection, Remembered, Retraction, Run, Schedule, ScheduleChange, SelfView, Servers, SettingsChange, Source, SpaceSettings, StartRun, Statement, StatementTrial, StoredBlob, Submodule, SubmoduleChange, SubmoduleFigures, SubmoduleVersions, SuggestedTitle, Task, TaskThought, Thread, ToolApproval, ToolApprovals, ToolApproved, Tools, ToolsApproved, Turn, Unmerged, Usage, Verdict, WorkingMemory } from "./schemas.js";

/** Every documented operation of the server's HTTP API, under its documented name. */
export class Api {
  readonly #request: Request;

  constructor(request: Request) {
    this.#request = request;
  }

  /** Tool calls that wait for a person, the oldest first. */
  listApprovals(query: {
    /** only this thread's */
    thread?: string;
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
  } = {}, options: Options = {}): Promise<Page<Approval>> {
    return this.#request("GET", `/approvals`, "json", { query, ...options }) as Promise<Page<Approval>>;
  }

  /** One tool call that waits for a person. Calls that are settled are in the log. */
  getApproval(id: string, options: Options = {}): Promise<Approval> {
    return this.#request("GET", `/approvals/${encodeURIComponent(id)}`, "json", { ...options }) as Promise<Approval>;
  }

  /** Says whether a call may run. The first verdict is the only one. Of a call that may run, the result follows in its thread. */
  decideApproval(id: string, body: Verdict, options: Options = {}): Promise<Decided> {
    return this.#request("POST", `/approvals/${encodeURIComponent(id)}`, "json", { body, ...options }) as Promise<Decided>;
  }

  /** Stores an image or a sound. */
  uploadBlob(body: BodyInit, options: Options = {}): Promise<StoredBlob> {
    return this.#request("POST", `/blobs`, "json", { body, ...options }) as Promise<StoredBlob>;
  }

  /** One blob. A browser is told to run nothing of it and to take it for nothing else. */
  getBlob(sha256: string, options: Options = {}): Promise<Response> {
    return this.#request("GET", `/blobs/${encodeURIComponent(sha256)}`, "response", { ...options }) as Promise<Response>;
  }

  /** History. */
  listEvents(query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
    /** only this thread */
    thread?: string;
    /** with `thread`: and all below it */
    subtree?: boolean;
    /** any of these tags, without regard to case; `debug` events only when asked for here */
    tags?: string[];
    /** with `tags`: all of them */
    all_tags?: boolean;
    /** `debug` events, too, beside the others */
    debug?: boolean;
    /** only from this source */
    source?: Source;
    /** only of this modality */
    modality?: Modality;
    /** a greater `seq` */
    after?: number;
    /** a smaller `seq` */
    before?: number;
    /** at or after this moment */
    since?: string;
    /** strictly older than this moment */
    before_ts?: string;
    /** full text: all these words */
    q?: string;
    /** `desc` (newest first) or `asc`, by `seq` */
    order?: "desc" | "asc";
    /** the incarnation of the log that `after`, `before` and `cursor` belong to; another one is `epoch-changed` */
    epoch?: string;
  } = {}, options: Options = {}): Promise<Page<AnyEvent>> {
    return this.#request("GET", `/events`, "json", { query, ...options }) as Promise<Page<AnyEvent>>;
  }

  /** Live events. */
  streamEvents(query: {
    /** only this thread */
    thread?: string;
    /** with `thread`: and all below it */
    subtree?: boolean;
    /** any of these tags, without regard to case; `debug` events only when asked for here */
    tags?: string[];
    /** with `tags`: all of them */
    all_tags?: boolean;
    /** `debug` events, too, beside the others */
    debug?: boolean;
    /** only from this source */
    source?: Source;
    /** only of this modality */
    modality?: Modality;
    /** a greater `seq` */
    after?: number;
    /** full text: all these words */
    q?: string;
    /** the incarnation of the log that `after` belongs to; another one is `epoch-changed` */
    epoch?: string;
  } = {}, options: Options = {}): Promise<Response> {
    return this.#request("GET", `/events/stream`, "response", { query, ...options }) as Promise<Response>;
  }

  /** One event. */
  getEvent(event_id: string, options: Options = {}): Promise<AnyEvent> {
    return this.#request("GET", `/events/${encodeURIComponent(event_id)}`, "json", { ...options }) as Promise<AnyEvent>;
  }

  /** The frameworks in the order in which they were created; with `task`, those that the task is like, at most two, each with whether it is to be used and why. */
  listFrameworks(query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
    /** only of this kind: `text`, `program` or `external_tool` */
    kind?: "text" | "program" | "external_tool";
    /** only those that this task is like and that may be of use, the likest first, on one page */
    task?: string;
    /** only these members, between commas */
    fields?: string;
  } = {}, options: Options = {}): Promise<Page<Framework>> {
    return this.#request("GET", `/frameworks`, "json", { query, ...options }) as Promise<Page<Framework>>;
  }

  /** Creates a framework. Nothing is known of it: it is on probation. */
  createFramework(body: NewFramework, options: Options = {}): Promise<Framework> {
    return this.#request("POST", `/frameworks`, "json", { body, ...options }) as Promise<Framework>;
  }

  /** Removes a framework. */
  removeFramework(id: string, query: {
    /** the `seq` that was read before: if something has been said of it since, it stays */
    expected_seq?: number;
  } = {}, options: Options = {}): Promise<void> {
    return this.#request("DELETE", `/frameworks/${encodeURIComponent(id)}`, "nothing", { query, ...options }) as Promise<void>;
  }

  /** One framework. */
  getFramework(id: string, query: {
    /** only these members, between commas */
    fields?: string;
  } = {}, options: Options = {}): Promise<Framework> {
    return this.#request("GET", `/frameworks/${encodeURIComponent(id)}`, "json", { query, ...options }) as Promise<Framework>;
  }

  /** Changes a framework. */
  changeFramework(id: string, body: FrameworkChange, options: Options = {}): Promise<Framework> {
    return this.#request("PATCH", `/frameworks/${encodeURIComponent(id)}`, "json", { body, ...options }) as Promise<Framework>;
  }

  /** Tells the outcome of a task that a framework is for, with it or without it. By these outcomes it is used, dropped or unusable. */
  tellFrameworkOutcome(id: string, body: FrameworkOutcome, options: Options = {}): Promise<Framework> {
    return this.#request("POST", `/frameworks/${encodeURIComponent(id)}/outcomes`, "json", { body, ...options }) as Promise<Framework>;
  }

  /** Returns `ok` while the process lives. */
  livez(options: Options = {}): Promise<Response> {
    return this.#request("GET", `/livez`, "response", { ...options }) as Promise<Response>;
  }

  /** The newest messages of user and assistant before a moment, oldest first, without those that were taken back. */
  listMessages(query: {
    /** 20 when absent */
    n?: number;
    /** strictly older than these seconds since 1970 */
    before?: number;
    /** only this thread; of all of them when absent */
    thread?: string;
  } = {}, options: Options = {}): Promise<ChatMessage[]> {
    return this.#request("GET", `/messages`, "json", { query, ...options }) as Promise<ChatMessage[]>;
  }

  /** Returns the description of this server, and the space the credential opens. */
  metadata(options: Options = {}): Promise<Metadata> {
    return this.#request("GET", `/metadata`, "json", { ...options }) as Promise<Metadata>;
  }

  /** The metrics of all spaces, in Prometheus' text format. For a key with `role = "admin"`. */
  metrics(options: Options = {}): Promise<Response> {
    return this.#request("GET", `/metrics`, "response", { ...options }) as Promise<Response>;
  }

  /** Lists the models and the habits learned of them */
  listModels(options: Options = {}): Promise<ModelList> {
    return this.#request("GET", `/models`, "json", { ...options }) as Promise<ModelList>;
  }

  /** The pipelines by name. */
  listPipelines(query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
  } = {}, options: Options = {}): Promise<Page<Pipeline>> {
    return this.#request("GET", `/pipelines`, "json", { query, ...options }) as Promise<Page<Pipeline>>;
  }

  /** Runs a pipeline on an input. */
  startRun(name: string, body: StartRun, query: {
    /** seconds to wait for its end */
    wait?: number;
  } = {}, options: Options = {}): Promise<Run> {
    return this.#request("POST", `/pipelines/${encodeURIComponent(name)}`, "json", { body, query, ...options }) as Promise<Run>;
  }

  /** The runs of a pipeline, the newest first. */
  listRuns(name: string, query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before; a page may be short and have one */
    cursor?: string;
  } = {}, options: Options = {}): Promise<Page<Run>> {
    return this.#request("GET", `/pipelines/${encodeURIComponent(name)}/runs`, "json", { query, ...options }) as Promise<Page<Run>>;
  }

  /** Returns a run and its outcome. */
  getRun(name: string, run: string, options: Options = {}): Promise<Run> {
    return this.#request("GET", `/pipelines/${encodeURIComponent(name)}/runs/${encodeURIComponent(run)}`, "json", { ...options }) as Promise<Run>;
  }

  /** Cancels a run; its end follows, wherever it runs. One that has ended stays as it is. */
  cancelRun(name: string, run: string, options: Options = {}): Promise<Run> {
    return this.#request("POST", `/pipelines/${encodeURIComponent(name)}/runs/${encodeURIComponent(run)}/cancel`, "json", { ...options }) as Promise<Run>;
  }

  /** Returns the view of a model call. */
  getPromptView(event_id: string, options: Options = {}): Promise<PromptView> {
    return this.#request("GET", `/prompt-views/${encodeURIComponent(event_id)}`, "json", { ...options }) as Promise<PromptView>;
  }

  /** Open questions, the oldest first. */
  listQuestions(query: {
    /** only this thread's */
    thread?: string;
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
  } = {}, options: Options = {}): Promise<Page<Question>> {
    return this.#request("GET", `/questions`, "json", { query, ...options }) as Promise<Page<Question>>;
  }

  /** One open question. Questions that are answered are in the log. */
  getQuestion(id: string, options: Options = {}): Promise<Question> {
    return this.#request("GET", `/questions/${encodeURIComponent(id)}`, "json", { ...options }) as Promise<Question>;
  }

  /** Answers a question. The first answer is the only one. */
  answerQuestion(id: string, body: QuestionAnswer, options: Options = {}): Promise<void> {
    return this.#request("POST", `/questions/${encodeURIComponent(id)}`, "nothing", { body, ...options }) as Promise<void>;
  }

  /** Tells whether it is worth sending requests. With `full`, for the person in charge of the server: all that cannot be served, and why; where it is not ready, its `detail` has the words of the database. */
  readyz(query: {
    /** spaces that are not served, and damage, too; with the credentials of an admin */
    full?: boolean;
  } = {}, options: Options = {}): Promise<Response> {
    return this.#request("GET", `/readyz`, "response", { query, ...options }) as Promise<Response>;
  }

  /** Statements that are held and relevant to a question, best first: by its words, its meaning and the graph of names. Nothing relevant is an empty list. */
  recall(query: {
    /** the question */
    q: string;
    /** 8 when absent */
    limit?: number;
    /** most tokens of all statements together, estimated; 1500 when absent */
    tokens?: number;
    /** only what is held to have been so at this time; of a relation that has one value at a time the newest */
    at?: string;
    /** as it was when the event of this seq was the last one */
    as_of?: number;
    /** what is looked through, between commas: `statements`, `notes`, `thoughts`, `frameworks`; statements alone when absent. `at` and `as_of` are of statements alone */
    in?: string;
  }, options: Options = {}): Promise<Recollection> {
    return this.#request("GET", `/recall`, "json", { query, ...options }) as Promise<Recollection>;
  }

  /** The schedules by name. */
  listSchedules(query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
    /** only those of this thread */
    thread?: string;
  } = {}, options: Options = {}): Promise<Page<Schedule>> {
    return this.#request("GET", `/schedules`, "json", { query, ...options }) as Promise<Page<Schedule>>;
  }

  /** Creates a schedule. */
  createSchedule(body: NewSchedule, options: Options = {}): Promise<Schedule> {
    return this.#request("POST", `/schedules`, "json", { body, ...options }) as Promise<Schedule>;
  }

  /** Removes a schedule. */
  removeSchedule(name: string, options: Options = {}): Promise<void> {
    return this.#request("DELETE", `/schedules/${encodeURIComponent(name)}`, "nothing", { ...options }) as Promise<void>;
  }

  /** One schedule. */
  getSchedule(name: string, options: Options = {}): Promise<Schedule> {
    return this.#request("GET", `/schedules/${encodeURIComponent(name)}`, "json", { ...options }) as Promise<Schedule>;
  }

  /** Changes a schedule, pauses or resumes it. */
  changeSchedule(name: string, body: ScheduleChange, options: Options = {}): Promise<Schedule> {
    return this.#request("PATCH", `/schedules/${encodeURIComponent(name)}`, "json", { body, ...options }) as Promise<Schedule>;
  }

  /** Fires a schedule now, paused or not. When it is due stays as it is. */
  runSchedule(name: string, options: Options = {}): Promise<Ack> {
    return this.#request("POST", `/schedules/${encodeURIComponent(name)}/run`, "json", { ...options }) as Promise<Ack>;
  }

  /** Returns the identity of a thread, its mission, its task, its mood, and its latest thoughts. */
  getSelf(query: {
    /** which thread; `main` when absent */
    thread?: string;
  } = {}, options: Options = {}): Promise<SelfView> {
    return this.#request("GET", `/self`, "json", { query, ...options }) as Promise<SelfView>;
  }

  /**  The servers on the log. Each says how it is while it looks for threads that no server runs : changes with its next look, the rest every third time. One that is stopped in order is not there any more; one that is lost is shown for a day. For a key with `role = "admin"`. */
  listServers(options: Options = {}): Promise<Servers> {
    return this.#request("GET", `/servers`, "json", { ...options }) as Promise<Servers>;
  }

  /** The settings of the space. */
  getSettings(options: Options = {}): Promise<SpaceSettings> {
    return this.#request("GET", `/settings`, "json", { ...options }) as Promise<SpaceSettings>;
  }

  /** Changes settings: one event for each that is named. */
  changeSettings(body: SettingsChange, options: Options = {}): Promise<SpaceSettings> {
    return this.#request("PUT", `/settings`, "json", { body, ...options }) as Promise<SpaceSettings>;
  }

  /** The notes by key, or with `q` those that have its words, best first. */
  listState(query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
    /** any of these words; best first, one page */
    q?: string;
  } = {}, options: Options = {}): Promise<Page<Entry>> {
    return this.#request("GET", `/state`, "json", { query, ...options }) as Promise<Page<Entry>>;
  }

  /** One note. */
  getState(key: string, options: Options = {}): Promise<Entry> {
    return this.#request("GET", `/state/${encodeURIComponent(key)}`, "json", { ...options }) as Promise<Entry>;
  }

  /** The voices by name. */
  listSubmodules(query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
  } = {}, options: Options = {}): Promise<Page<Submodule>> {
    return this.#request("GET", `/submodules`, "json", { query, ...options }) as Promise<Page<Submodule>>;
  }

  /** Adds a voice; it is heard from the next turn on. */
  createSubmodule(body: NewSubmodule, options: Options = {}): Promise<Submodule> {
    return this.#request("POST", `/submodules`, "json", { body, ...options }) as Promise<Submodule>;
  }

  /** Removes a voice. */
  removeSubmodule(name: string, options: Options = {}): Promise<void> {
    return this.#request("DELETE", `/submodules/${encodeURIComponent(name)}`, "nothing", { ...options }) as Promise<void>;
  }

  /** Gives a voice another prompt, or has it follow up or not. */
  changeSubmodule(name: string, body: SubmoduleChange, options: Options = {}): Promise<Submodule> {
    return this.#request("PATCH", `/submodules/${encodeURIComponent(name)}`, "json", { body, ...options }) as Promise<Submodule>;
  }

  /** Returns the outcomes of a voice over a span, made of its newest 10,000 events there. */
  getSubmoduleFigures(name: string, query: {
    /** only what was stored at or after this moment */
    since?: string;
    /** only what was stored before this moment */
    before_ts?: string;
  } = {}, options: Options = {}): Promise<SubmoduleFigures> {
    return this.#request("GET", `/submodules/${encodeURIComponent(name)}/figures`, "json", { query, ...options }) as Promise<SubmoduleFigures>;
  }

  /** Returns the versions of a voice, past and present, among the newest 10,000 changes of voices. */
  listSubmoduleVersions(name: string, options: Options = {}): Promise<SubmoduleVersions> {
    return this.#request("GET", `/submodules/${encodeURIComponent(name)}/versions`, "json", { ...options }) as Promise<SubmoduleVersions>;
  }

  /** The threads by id. One request looks at 2,004 threads at most: where few match, a page has fewer than `limit`, or none, and `next` to go on with. The last page has no `next`. */
  listThreads(query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
    /** only those that do this: `idle`, `thinking`, `waiting`, `done`, `failed`, `stopped` */
    status?: "idle" | "thinking" | "waiting" | "done" | "failed" | "stopped";
    /** only of this kind */
    kind?: Kind;
    /** only subthreads of this thread */
    parent?: string;
    /** only this thread and all below it */
    subtree?: string;
    /** only forks of this thread */
    forked_from?: string;
    /** only those that wait because they cannot go on, or only others */
    stuck?: boolean;
    /** true: each thread has `first` and `last`, the first and the last thing that was said in it; with a `limit` of at most 100 */
    lines?: boolean;
  } = {}, options: Options = {}): Promise<Page<Thread>> {
    return this.#request("GET", `/threads`, "json", { query, ...options }) as Promise<Page<Thread>>;
  }

  /** Creates a thread. */
  createThread(body: CreateThread, options: Options = {}): Promise<Thread> {
    return this.#request("POST", `/threads`, "json", { body, ...options }) as Promise<Thread>;
  }

  /** One thread. */
  getThread(thread: string, options: Options = {}): Promise<Thread> {
    return this.#request("GET", `/threads/${encodeURIComponent(thread)}`, "json", { ...options }) as Promise<Thread>;
  }

  /** Changes the title of a thread, and puts it aside or takes it up again. Both are for lists that people read: the thread goes on as before. */
  changeThread(thread: string, body: ChangeThread, options: Options = {}): Promise<Thread> {
    return this.#request("PATCH", `/threads/${encodeURIComponent(thread)}`, "json", { body, ...options }) as Promise<Thread>;
  }

  /** Cancels the turn that runs; with `subtree` those of all threads below, too. The body may be left out. */
  cancelTurn(thread: string, body?: CancelTurns | null, options: Options = {}): Promise<Cancelled> {
    return this.#request("POST", `/threads/${encodeURIComponent(thread)}/cancel`, "json", { body, ...options }) as Promise<Cancelled>;
  }

  /** Ends a thread, and all below it. */
  endThread(thread: string, query: {
    /** false: the threads below live on, and their parent becomes the nearest living thread above; true when absent */
    subtree?: boolean;
  } = {}, options: Options = {}): Promise<Thread> {
    return this.#request("POST", `/threads/${encodeURIComponent(thread)}/end`, "json", { query, ...options }) as Promise<Thread>;
  }

  /** Forks a thread: a new one with its past up to the end of a turn, and with its settings and contacts. The summaries, corrections, plan and mood that it had there come along, too. Nothing is copied; both threads go on for themselves. Timers, watches, questions, approvals and subthreads stay behind. To change a message, name it as `instead_of`, and send its new text as `message`; to ask for another answer, send the same text again. All that waited for a turn by then counts as handled. */
  forkThread(thread: string, body: ForkThread, options: Options = {}): Promise<Forked> {
    return this.#request("POST", `/threads/${encodeURIComponent(thread)}/fork`, "json", { body, ...options }) as Promise<Forked>;
  }

  /** Takes back an input. Of the withdrawal of an input that waits and a turn that begins, one is first. A turn that has the input keeps it, and the withdrawal is refused (`input-taken`). An input that was taken back is in no turn, and models are not shown it any more. Members take back the inputs said in their own name, operators those of anybody. An input with a turn that is over can be taken back, together with that turn, only before a later turn of the thread begins. Models are shown neither any more, and the log keeps both. A turn stays (`input-taken`) if it ran a tool with an effect outside, proposed a call to people, sent messages to other threads or made a thread. It stays, too, if it set a timer, a schedule, a watch or a plan. */
  withdrawInput(thread: string, event_id: string, options: Options = {}): Promise<void> {
    return this.#request("DELETE", `/threads/${encodeURIComponent(thread)}/inputs/${encodeURIComponent(event_id)}`, "nothing", { ...options }) as Promise<void>;
  }

  /** The tasks of a mission, the thoughts that were had last, the statements held and relevant to it, and the worth of estimates of routes, in one call. */
  workingMemory(thread: string, options: Options = {}): Promise<WorkingMemory> {
    return this.#request("GET", `/threads/${encodeURIComponent(thread)}/memory`, "json", { ...options }) as Promise<WorkingMemory>;
  }

  /** Says something in a thread. */
  postMessage(thread: string, body: PostMessage, query: {
    /** seconds to wait for what comes of it */
    wait?: number;
  } = {}, options: Options = {}): Promise<Posted> {
    return this.#request("POST", `/threads/${encodeURIComponent(thread)}/messages`, "json", { body, query, ...options }) as Promise<Posted>;
  }

  /** Has a mission rest: work under way is left, and begun again when it goes on. */
  pauseMission(thread: string, options: Options = {}): Promise<Thread> {
    return this.#request("POST", `/threads/${encodeURIComponent(thread)}/pause`, "json", { ...options }) as Promise<Thread>;
  }

  /** Has a mission go on that rests. */
  resumeMission(thread: string, options: Options = {}): Promise<Thread> {
    return this.#request("POST", `/threads/${encodeURIComponent(thread)}/resume`, "json", { ...options }) as Promise<Thread>;
  }

  /** The tasks of a mission, in the order in which they were made. */
  listTasks(thread: string, query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
  } = {}, options: Options = {}): Promise<Page<Task>> {
    return this.#request("GET", `/threads/${encodeURIComponent(thread)}/tasks`, "json", { query, ...options }) as Promise<Page<Task>>;
  }

  /** Skips a task that is not over, and its parts: it counts as failed, and work under way is stopped. */
  skipTask(thread: string, task: string, options: Options = {}): Promise<Task> {
    return this.#request("DELETE", `/threads/${encodeURIComponent(thread)}/tasks/${encodeURIComponent(task)}`, "json", { ...options }) as Promise<Task>;
  }

  /** One task, with its stream of consciousness. */
  getTask(thread: string, task: string, options: Options = {}): Promise<Task> {
    return this.#request("GET", `/threads/${encodeURIComponent(thread)}/tasks/${encodeURIComponent(task)}`, "json", { ...options }) as Promise<Task>;
  }

  /** Changes a task before work on it begins: its words, the tasks it requires, its place among its siblings. */
  editTask(thread: string, task: string, body: EditTask, options: Options = {}): Promise<Task> {
    return this.#request("PATCH", `/threads/${encodeURIComponent(thread)}/tasks/${encodeURIComponent(task)}`, "json", { body, ...options }) as Promise<Task>;
  }

  /** The thoughts that were had while the tasks of a mission were worked on, the oldest first. A page may have fewer than `limit`, or none, and `next` to go on with. */
  listThoughts(thread: string, query: {
    /** only those with all of these words in their names or in what was thought */
    q?: string;
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
  } = {}, options: Options = {}): Promise<Page<TaskThought>> {
    return this.#request("GET", `/threads/${encodeURIComponent(thread)}/thoughts`, "json", { query, ...options }) as Promise<Page<TaskThought>>;
  }

  /** Gives a thread a title that the ordinary model makes of its first messages. One call, which counts in `/usage` (`purpose` is `title`); the log has its cost, and not its words. */
  suggestTitle(thread: string, options: Options = {}): Promise<SuggestedTitle> {
    return this.#request("POST", `/threads/${encodeURIComponent(thread)}/title`, "json", { ...options }) as Promise<SuggestedTitle>;
  }

  /** The turns of a thread, the newest first. Words of a voice later than two turns after its own are not counted. One request reads 10,000 events at most: where turns have very many, a page has fewer than `limit`, and `next` to go on with. */
  listTurns(thread: string, query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
  } = {}, options: Options = {}): Promise<Page<Turn>> {
    return this.#request("GET", `/threads/${encodeURIComponent(thread)}/turns`, "json", { query, ...options }) as Promise<Page<Turn>>;
  }

  /** Returns all that a thread may use: where it is from, how it stands, how often it was called. */
  listTools(query: {
    /** the thread; without it `main` */
    thread?: string;
  } = {}, options: Options = {}): Promise<Tools> {
    return this.#request("GET", `/tools`, "json", { query, ...options }) as Promise<Tools>;
  }

  /** Takes these tools as their servers describe them now, if the hashes are those: all of them, or none. */
  approveTools(body: ToolApprovals, options: Options = {}): Promise<ToolsApproved> {
    return this.#request("POST", `/tools/approve`, "json", { body, ...options }) as Promise<ToolsApproved>;
  }

  /** Lets models be told of another server's present words about a tool, if these are the words that were looked at. */
  approveTool(name: string, body: ToolApproval, options: Options = {}): Promise<ToolApproved> {
    return this.#request("POST", `/tools/${encodeURIComponent(name)}/approve`, "json", { body, ...options }) as Promise<ToolApproved>;
  }

  /** Returns the sums of calls of models, by the module that asked, by thread, by model or by purpose. They are made of the newest 10,000 calls of the span. */
  getUsage(query: {
    /** what calls are told apart by: `module` (when absent), `thread`, `model` or `purpose` */
    by?: "module" | "thread" | "model" | "purpose";
    /** only calls that ended at or after this moment */
    since?: string;
    /** only calls that ended before this moment */
    before_ts?: string;
    /** seconds of a step, to have them by time, too */
    step_s?: number;
  } = {}, options: Options = {}): Promise<Usage> {
    return this.#request("GET", `/usage`, "json", { query, ...options }) as Promise<Usage>;
  }

  /** Statements in the order in which they were claimed. With `at`, those that are held of that time; with `entity`, `relation` and `at`, of a relation that has one value at a time the newest. */
  listStatements(query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
    /** only of this status: `proposed`, `surviving`, `contested`, `untested`, `falsified`, `ended` or `retracted` */
    status?: "proposed" | "surviving" | "contested" | "untested" | "falsified" | "ended" | "retracted";
    /** only with this subject or object, by any of its names */
    entity?: string;
    /** only of this relation */
    relation?: string;
    /** only with all of these words */
    text?: string;
    /** only what is held to have been so at this time */
    at?: string;
    /** as it was when the event of this seq was the last one */
    as_of?: number;
  } = {}, options: Options = {}): Promise<Page<Statement>> {
    return this.#request("GET", `/world-model`, "json", { query, ...options }) as Promise<Page<Statement>>;
  }

  /** Claims something. It is tried beside everything else, and held only if it survives. A statement that begins with the name of its claimant (`The user`, in a space without names) is their word, and held at once. */
  rememberStatement(body: NewStatement, options: Options = {}): Promise<Remembered> {
    return this.#request("POST", `/world-model`, "json", { body, ...options }) as Promise<Remembered>;
  }

  /** Returns the statements of the memory that are wrong or doubtful. A statement is doubtful if others say the same or look alike, if no mind recalled it, or if one instrument or reflection alone has tested it. It is also doubtful if it was not tested for long, is contested, waits or has no outcome. Nothing is changed. */
  auditStatements(query: {
    /** so many statements are looked at; 50 when absent. Those without a doubt are left out of the page */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
    /** only this one: `duplicate`, `near`, `never-recalled`, `one-instrument`, `reflection-only`, `overdue`, `contested`, `waiting`, `undecided` or `untested` */
    doubt?: "duplicate" | "near" | "never-recalled" | "one-instrument" | "reflection-only" | "overdue" | "contested" | "waiting" | "undecided" | "untested";
    /** after so many days without a test a statement is overdue; 90 when absent */
    overdue_days?: number;
  } = {}, options: Options = {}): Promise<Audit> {
    return this.#request("GET", `/world-model/audit`, "json", { query, ...options }) as Promise<Audit>;
  }

  /** The entities that have several names, the one that was merged first first. */
  listEntities(query: {
    /** 50 when absent */
    limit?: number;
    /** `next` of the page before */
    cursor?: string;
    /** only the entity of this name */
    name?: string;
  } = {}, options: Options = {}): Promise<Page<Entity>> {
    return this.#request("GET", `/world-model/entities`, "json", { query, ...options }) as Promise<Page<Entity>>;
  }

  /** Merges names: they are one from now on. Statements are not changed; those that now contradict another one are contested. */
  mergeEntities(body: NewMerge, options: Options = {}): Promise<Entity> {
    return this.#request("POST", `/world-model/entities/merge`, "json", { body, ...options }) as Promise<Entity>;
  }

  /** Undoes all merges of a name. Statements made with it, before or since, are about it alone. */
  unmergeEntity(body: NewUnmerge, options: Options = {}): Promise<Unmerged> {
    return this.#request("POST", `/world-model/entities/unmerge`, "json", { body, ...options }) as Promise<Unmerged>;
  }

  /** Returns the surroundings of a name, nearest first; with `to`, the shortest way between two. */
  lookAtGraph(query: {
    /** the name: a subject or an object of statements that are held */
    entity: string;
    /** another name: the statements along the shortest way to it; none: there is no way of that length */
    to?: string;
    /** so many steps; 1 when absent, 4 with `to` */
    depth?: number;
    /** 50 when absent */
    limit?: number;
  }, options: Options = {}): Promise<GraphPart> {
    return this.#request("GET", `/world-model/graph`, "json", { query, ...options }) as Promise<GraphPart>;
  }

  /** One statement with its whole trial. */
  getStatement(id: string, options: Options = {}): Promise<StatementTrial> {
    return this.#request("GET", `/world-model/${encodeURIComponent(id)}`, "json", { ...options }) as Promise<StatementTrial>;
  }

  /** Withdraws a statement, without a trial. Members withdraw a statement that is recalled on their own word alone, operators any. */
  retractStatement(id: string, body: Retraction, options: Options = {}): Promise<Statement> {
    return this.#request("POST", `/world-model/${encodeURIComponent(id)}/retract`, "json", { body, ...options }) as Promise<Statement>;
  }
}
