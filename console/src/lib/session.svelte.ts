// The one session of the page: connection, the tail of the log, drafts, and what the side bar counts. Views read it and never write it.
import { untrack } from "svelte";
import { Client, ProblemError, type Draft, type Hello, type Schemas, type State, type WorkHint } from "../../../client/src/index.ts";
import { ahead } from "./ahead.ts";
import { pages } from "./lists.ts";
import { type Words, words } from "./connection.ts";
import { type AnyEvent, tagged } from "./events.ts";
import { at } from "./format.ts";
import { kept, place } from "./place.ts";
import { Recent } from "./recent.ts";
import { EventStore } from "./store.ts";
import { titleOf } from "./threads.ts";
import type { Work } from "./turns.ts";
import type { Ask } from "./window.ts";

const TAIL = 1_500;
const BATCH = 2_000;
/** Milliseconds between two times that events are taken into the page. */
const FLUSH = 100;
/** Milliseconds between two times that the threads are listed. */
const THREADS = 2_000;
/** When the lists that were read before the socket was there are read again, in milliseconds. */
const AGAIN = 2_000;
/** The tail of the log waits so long for the first page of a view, in milliseconds. */
const FIRST = 10_000;
const KEPT = kept("thinkd.token");

/** What `GET /events` takes beside the paging. */
export interface Where {
  thread?: string;
  subtree?: boolean;
  tags?: string[];
  q?: string;
  debug?: boolean;
}

class Session {
  client: Client;
  state = $state.raw<State>({ kind: "closed", reason: "not started", detail: "" });
  hello = $state.raw<Hello | undefined>(undefined);
  /** Counts up whenever the tail of the log has changed. */
  rev = $state(0);
  /** Windows whose first page is under way, and whether the tail of the log and these were all here once. */
  opening = $state(0);
  filled = $state(false);
  /** Pages behind which something may be missing yet. */
  #closing = $state(0);
  #readOnce = false;
  get #read(): boolean {
    if (this.filled && this.opening === 0 && this.#closing === 0) this.#readOnce = true;
    return this.#readOnce;
  }
  /** The last act of the user on this page, confirmed in words, and the id of its object; empty: none since the view was opened. */
  said = $state.raw<{ text: string; of: string }>({ text: "", of: "" });
  /** The key that was given last was not taken. */
  refused = $state(false);
  #tried = false;
  /** Counts up whenever a draft has changed. */
  draftRev = $state(0);
  /** The log's clock, in milliseconds since 1970; moves once a second. */
  now = $state(Date.now());
  /** Counts up once a second. */
  second = $state(0);
  /** How far the clock here is ahead of the log's, in milliseconds; 0: less than a minute. */
  skew = $state(0);
  behind = $state(0);
  asleep = $state(0);
  epochs = $state(0);
  /** Counts up with each key: what was refused before is asked for again. */
  opened = $state(0);
  #locked = $state(false);
  /** Approvals and questions were read once. */
  knowsInbox = $state(false);
  /** There are more of them than these. */
  moreInbox = $state(false);
  approvals = $state.raw<Schemas.Approval[]>([]);
  questions = $state.raw<Schemas.Question[]>([]);
  threads = $state.raw<Schemas.Thread[]>([]);
  readonly #thinking = $derived(new Set(this.threads.filter(({ status }) => status === "thinking").map(({ id }) => id)));
  readonly #byId = $derived(new Map(this.threads.map((thread) => [thread.id, thread])));
  /** What people call a thread. */
  titleOf(id: string): string {
    return titleOf(id, this.#byId.get(id));
  }
  /** They were read once. */
  knowsThreads = $state(false);
  /** There are more threads than these. */
  moreThreads = $state(false);
  submodules = $state.raw<Schemas.Submodule[]>([]);
  /** They were read once. */
  knowsSubmodules = $state(false);
  metadata = $state.raw<Schemas.Metadata | undefined>(undefined);
  /** Calls and turns at work this moment. */
  work = $state.raw<readonly Work[]>([]);
  /** When the key in use ends; absent: it does not, or not soon. */
  expiring = $state.raw<string | undefined>(undefined);
  /** Why another key was not taken in its place. */
  notTaken = $state.raw<ProblemError | undefined>(undefined);
  /** What the server said without having been asked; the newest. */
  problem = $state.raw<ProblemError | undefined>(undefined);
  /** Views whose list the server does not have. */
  absent = $state.raw<ReadonlySet<string>>(new Set());
  readonly store = new EventStore();
  readonly #recent = new Recent();
  /** The last five minutes of the whole space, as they were this second. */
  readonly recent = $derived.by(() => {
    void [this.second, this.state];
    return untrack(() => ({ now: this.now, ...this.#recent.look(this.store.events, this.work, this.now, this.thinks) }));
  });
  readonly drafts = new Map<string, Draft>();
  readonly statuses = new Map<string, string>();
  #offset: number | undefined;
  #badSince: number | undefined = Date.now();
  #buffer: AnyEvent[] = [];
  #framed = false;
  #flushed = 0;
  #later: ReturnType<typeof setTimeout> | undefined;
  #drafted = false;
  #debug = true;
  /** What the side bar counts was asked for on this connection. */
  #greeted = false;
  /** When the key ends in whose place another one was shown. */
  #renewed: string | undefined;
  /** A page that was asked for before its view was here. */
  #early: { key: string; page: Promise<AnyEvent[]>; newest: Promise<number> } | undefined;
  #listeners = new Set<(events: readonly AnyEvent[]) => void>();
  #ticked = Date.now();
  #work = new Map<string, Work>();
  #threadsAsked = Number.NEGATIVE_INFINITY;
  #due = new Map<string, ReturnType<typeof setTimeout>>();

  constructor() {
    const token = sessionStorage.getItem(KEPT);
    this.client = new Client({ url: place, fetch: ahead, ...(token === null ? {} : { token }) });
  }

  /** Connects and follows the whole space, from a little before its end. */
  start(): void {
    this.client.onState((state) => this.#changed(state));
    this.client.onProblem((problem) => this.#wrong(problem));
    this.client.onExpiring((ends) => (this.expiring = ends));
    this.client.connect();
    this.#follow(true);
    // The lists do not wait for the socket; once it is there they are read again, because something may have changed between.
    // Names come first, and what the side bar counts after the first page of the view: on a slow network all of them share one line.
    this.refresh("threads", 0);
    void this.shown().then(() => (["inbox", "submodules"] as const).forEach((what) => this.refresh(what, 0)));
    // A server that wants a key waits for it on the socket, and says so over HTTP at once.
    void this.#ask();
    setInterval(() => this.#tick(), 1_000);
    document.addEventListener("visibilitychange", () => document.hidden || this.client.wake());
    addEventListener("online", () => this.client.wake());
  }

  /** Resolves when the first page of the view is here. */
  async shown(): Promise<void> {
    while (this.opening > 0 || !this.knowsThreads) await new Promise((done) => setTimeout(done, 50));
  }

  /** The greatest seq that the page has, or else knows of. */
  get newest(): number {
    void this.rev;
    return this.store.newest ?? this.hello?.head ?? 0;
  }

  /** The line at the top right. */
  get words(): Words {
    void this.rev;
    const toGo = Math.max(0, this.client.head - (this.client.cursor ?? 0));
    return words({ state: this.state, badSince: this.#badSince, now: this.#ticked + 0 * this.now, toGo, behind: this.behind, missing: this.#debug ? this.store.missing() : 0, asleep: this.asleep, known: this.hello !== undefined, read: this.#read });
  }

  /** Says of a thread that it thinks, as the server's list has it; undefined before the list is here. Without a server nobody says so. */
  readonly thinks = (thread: string): boolean | undefined => {
    if (this.state.kind !== "live" && this.state.kind !== "catching up") return this.knowsThreads ? false : undefined;
    return this.knowsThreads ? this.#thinking.has(thread) : undefined;
  };

  get needsToken(): boolean {
    return this.#locked || (this.state.kind === "closed" && this.state.reason === "unauthenticated");
  }

  /** Whether the key in use may do what needs this role; unknown roles may, and the server decides. */
  may(role: "member" | "operator" | "admin"): boolean {
    const ranks = ["viewer", "member", "operator", "admin"];
    const own = this.hello?.role;
    return own === undefined || ranks.indexOf(own) >= ranks.indexOf(role);
  }

  /** Whether the key of now is kept until the tab is closed. */
  get keeps(): boolean {
    return sessionStorage.getItem(KEPT) !== null;
  }

  /** Takes a key; `keep`: until the tab is closed, across reloads. What the page shows stays, unless the server refused it so far. */
  use(token: string, keep: boolean): void {
    if (keep) sessionStorage.setItem(KEPT, token);
    else sessionStorage.removeItem(KEPT);
    this.client.token = token;
    this.#tried = true;
    this.refused = false;
    this.#locked = false;
    if (this.expiring !== undefined) {
      this.#renewed = this.expiring;
      this.expiring = this.notTaken = undefined;
      void this.client.renew();
      return;
    }
    if (this.hello === undefined) this.opened += 1;
    // What was said and not acknowledged waits in a connection that the server closed; to close it here would drop that.
    if (this.state.kind !== "closed") this.client.close();
    this.client.connect();
  }

  /** Confirms an act of the user. */
  say(text: string, of = ""): void {
    this.said = { text, of };
  }

  /** Tells of live events, in batches; the function that comes back ends that. */
  listen(listener: (events: readonly AnyEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks for a first page of the whole log before the script of its view is here. What comes meanwhile is part of it. */
  early(where: Where, ask: Ask): void {
    const more: AnyEvent[] = [];
    const stop = this.listen((events) => more.push(...events.filter((event) => where.thread === undefined || event.thread === where.thread)));
    const read = this.history(where, ask);
    const page = read.then((events) => [...new Map([...events, ...more].map((event) => [event.seq, event])).values()].sort((a, b) => b.seq - a.seq)).finally(stop);
    page.catch(() => undefined);
    this.#early = { key: JSON.stringify([where, ask]), page, newest: read.then((events) => events[0]?.seq ?? 0) };
  }

  /** Tells of what was stored behind a page that was asked for before the socket was there, up to where the socket follows. */
  async #since(where: Where, newest: Promise<number>): Promise<void> {
    let after = await newest;
    this.#closing += 1;
    while (this.client.cursor === undefined) await new Promise((done) => setTimeout(done, 50));
    for (let tries = 0; tries < 20; tries += 1) {
      try {
        const events = await this.history(where, { after, order: "asc", limit: 250 });
        for (const listener of this.#listeners) listener(events);
        if (events.length < 250) break;
        after = events.at(-1)!.seq;
      } catch {
        // The connection line says what is wrong.
        await new Promise((done) => setTimeout(done, 1_000));
      }
    }
    this.#closing -= 1;
  }

  /** A page of the log. */
  async history(where: Where, ask: Ask, signal?: AbortSignal): Promise<AnyEvent[]> {
    const early = this.#early;
    this.#early = undefined;
    if (early?.key === JSON.stringify([where, ask])) {
      void this.#since(where, early.newest).catch(() => undefined);
      return early.page;
    }
    const debug = this.#debug && where.debug === true;
    const { debug: _, ...filter } = where;
    const query = { ...filter, ...ask, ...(debug ? { debug } : {}) };
    try {
      const page = await this.client.api.listEvents(query, signal ? { signal } : {});
      return page.items;
    } catch (error) {
      // A server that does not know `debug`: what it has without.
      if (!(error instanceof ProblemError && error.status === 400 && debug)) throw error;
      this.#debug = false;
      return this.history(where, ask, signal);
    }
  }

  /** Reads lists again, soon, and once however often it is asked for; with 0 milliseconds now. */
  refresh(what: "inbox" | "threads" | "submodules", ms = 150): void {
    if (this.#due.has(what) && ms > 0) return;
    clearTimeout(this.#due.get(what));
    const run = async () => {
      this.#due.delete(what);
      if (what === "threads") this.#threadsAsked = performance.now();
      try {
        if (what === "inbox") await this.#inbox();
        else if (what === "threads") {
          const { items, more } = await pages((cursor) => this.client.api.listThreads({ limit: 500, ...cursor }), 20);
          [this.threads, this.moreThreads, this.knowsThreads] = [items, more, true];
        }
        else {
          this.submodules = (await this.client.api.listSubmodules({ limit: 500 })).items;
          this.knowsSubmodules = true;
        }
      } catch {
        // The connection line says what is wrong; the next event or connection asks again.
      }
    };
    // The first change is seen at once; while turns run, threads are not read anew with every one.
    const pause = what !== "threads" || ms === 0 ? 0 : this.threads.length > 1_000 ? 10_000 : THREADS;
    this.#due.set(what, setTimeout(run, Math.max(ms, this.#threadsAsked + pause - performance.now())));
  }

  /** Approvals that were settled here wait no longer, before the list is read anew. */
  settled(ids: readonly string[]): void {
    this.approvals = this.approvals.filter((one) => !ids.includes(one.approval_id));
  }

  async #inbox(): Promise<void> {
    const [approvals, questions] = await Promise.all([this.client.api.listApprovals({ limit: 500 }), this.client.api.listQuestions({ limit: 500 })]);
    this.knowsInbox = true;
    this.moreInbox = Boolean(approvals.next || questions.next);
    this.approvals = approvals.items;
    this.questions = questions.items;
  }

  #follow(debug: boolean, after?: number): void {
    this.#debug = debug;
    this.client.subscribe({ ...(debug ? { debug: true } : {}), ...(after === undefined ? {} : { after }) }, {
      event: (event, replay) => this.#take(event, replay),
      draft: (draft) => this.#draft(draft),
      status: ({ thread, status }) => {
        this.statuses.set(thread, status);
        this.refresh("threads", 400);
        this.#frame();
      },
      work: (hint) => this.#hint(hint),
      caughtUp: (cursor) => {
        this.#frame();
        void this.#fill(cursor);
      },
      epoch: ({ head }) => this.#anew(head),
      refused: () => this.#follow(false, this.client.cursor),
    });
  }

  /** Who is at work, as the server hints: it begins and ends with each call. */
  #hint({ thread, turn, phase, at: ts, module = "", purpose = "", limit_ms: limit }: WorkHint): void {
    const key = `${thread} ${turn} ${module} ${purpose}`;
    const now = Math.max(at(ts), 0) || Date.now();
    this.#moment(now);
    if (phase === "ended") this.#work.delete(key);
    else if (this.#work.size < 2_000) this.#work.set(key, { thread, turn, module, purpose, since: now, limit: module ? undefined : limit });
    this.work = [...this.#work.values()];
    this.#frame();
  }

  /** The log is another one: everything is read anew. */
  #anew(head: number): number {
    this.#clear();
    this.epochs += 1;
    return head;
  }

  #clear(): void {
    this.store.clear();
    this.drafts.clear();
    this.#buffer = [];
    this.filled = false;
  }

  /** Another key may lead into another space: nothing of the one before is shown. */
  #elsewhere(head: number): void {
    this.#clear();
    this.opened += 1;
    this.#follow(true, head);
  }

  /** Once: the tail of the log before the cursor. Later: what is missing between. */
  async #fill(cursor: number): Promise<void> {
    // What the view is made of comes first.
    for (const end = performance.now() + FIRST; (this.opening > 0 || !this.knowsThreads) && performance.now() < end; ) await new Promise((done) => setTimeout(done, 20));
    try {
      for (let before = cursor + 1, page = 0; !this.filled && page < TAIL / 500 && before > 1; page += 1) {
        const events = await this.history({ debug: true }, { before, order: "desc", limit: 500 });
        this.store.add(events);
        before = events.at(-1)?.seq ?? 0;
        this.rev += 1;
      }
      this.filled = true;
      for (let hole = this.store.hole(), page = 0; this.#debug && hole && page < 50; hole = this.store.hole(), page += 1) {
        if (this.store.add(await this.history({ debug: true }, { after: hole.after, order: "asc", limit: 500 })) === 0) break;
      }
      this.rev += 1;
    } catch {
      // The connection line says how many are missing; the next catching up tries again.
    }
  }

  #take(event: AnyEvent, replay: boolean): void {
    this.#buffer.push(event);
    if (!replay) this.#moment(at(event.ts));
    this.drafts.delete(event.event_id);
    if (tagged(event, "approval") || tagged(event, "question") || tagged(event, "answer")) this.refresh("inbox");
    if (tagged(event, "turn") || tagged(event, "thread") || tagged(event, "set:thread") || tagged(event, "set:plan")) this.refresh("threads", 400);
    if (tagged(event, "set:submodule")) this.refresh("submodules");
    this.#frame();
  }

  /** It was this moment at the server, a little while ago. */
  #moment(ts: number): void {
    const by = ts - Date.now();
    this.#offset = this.#offset === undefined ? by : Math.max(by, this.#offset - 50);
    this.skew = Math.abs(this.#offset) < 60_000 ? 0 : -Math.round(this.#offset / 60_000) * 60_000;
  }

  #draft(draft: Draft): void {
    if (draft.state === "gone") this.drafts.delete(draft.event_id);
    else this.drafts.set(draft.event_id, draft);
    this.#drafted = true;
    this.#frame();
  }

  /** What came is taken into the page together, drafts once a frame, events ten times a second at most; a page that cannot follow takes them in portions. Events
   * are taken between two frames: what they change is computed in one task and drawn in the next. */
  #frame(): void {
    if (this.#framed) return;
    this.#framed = true;
    const run = () => {
      this.#framed = false;
      if (this.#drafted) this.draftRev += 1;
      this.#drafted = false;
      this.#later ??= setTimeout(() => this.#flush(), Math.max(0, this.#flushed + FLUSH - performance.now()));
    };
    if (document.hidden) setTimeout(run, 250);
    else requestAnimationFrame(run);
  }

  #flush(): void {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#flushed = performance.now();
    const events = this.#buffer.splice(0, BATCH);
    this.behind = this.#buffer.length;
    if (events.length > 0) {
      this.store.add(events);
      for (const listener of this.#listeners) listener(events);
    }
    const now = Date.now() + (this.#offset ?? 0);
    if (Math.abs(now - this.now) >= 500) this.now = now;
    this.rev += 1;
    if (this.#buffer.length > 0) this.#frame();
  }

  #wrong(problem: ProblemError): void {
    this.problem = problem;
    if (this.#renewed === undefined || (problem.status !== 401 && problem.status !== 403)) return;
    this.notTaken = problem;
    this.expiring = this.#renewed;
  }

  #changed(state: State): void {
    const good = state.kind === "live" || state.kind === "catching up";
    if (good) this.#badSince = undefined;
    else {
      this.#badSince ??= Date.now();
      this.#greeted = false;
      this.#work.clear();
      this.work = [];
    }
    if (state.kind === "closed") this.expiring = this.#renewed = this.notTaken = undefined;
    this.state = state;
    const { hello } = this.client;
    if (this.hello && hello && hello.space !== this.hello.space) this.#elsewhere(hello.head);
    this.hello = hello;
    if (good) this.#tried = this.refused = false;
    if (state.kind === "closed" && state.reason === "unauthenticated" && this.#tried) this.refused = true;
    if (state.kind === "live") this.asleep = 0;
    if (good && !this.#greeted) {
      this.#greeted = true;
      for (const what of ["inbox", "threads", "submodules"] as const) this.refresh(what, this.#readOnce ? undefined : AGAIN);
      if (!this.metadata || this.#readOnce) void this.#ask();
    }
  }

  async #ask(): Promise<void> {
    try {
      this.metadata = await this.client.api.metadata();
    } catch (error) {
      // What else is wrong is said by the connection line.
      if (error instanceof ProblemError && error.status === 401) {
        this.#locked = true;
        this.refused ||= this.#tried;
      }
    }
  }

  #tick(): void {
    const now = Date.now();
    if (now - this.#ticked > 30_000) {
      this.asleep = now - this.#ticked;
      this.client.wake();
    }
    this.#ticked = now;
    this.second += 1;
    this.now = now + (this.#offset ?? 0);
    if (this.#renewed !== undefined && at(this.#renewed) < this.now) this.#renewed = undefined;
  }
}

export const session = new Session();
