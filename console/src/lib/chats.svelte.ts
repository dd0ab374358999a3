// The list of conversations while it is looked at: lines of the server and of live events, what was seen in this browser, and changes of a title or a place.
import { ProblemError, type Schemas } from "../../../client/src/index.ts";
import { requester } from "../../../client/src/http.ts";
import { tagged, textOf } from "./events.ts";
import { type ChatLine, type Lines, lineOf } from "./chats.ts";
import { kept, place } from "./place.ts";
import { session } from "./session.svelte.ts";
import { settings } from "./theme.svelte.ts";

const SEEN = kept("thinkd.seen");
/** Most threads whose last seen line is kept. */
const MOST = 1_000;
/** Most pages of lines that are read; a page of the server has at most 100 threads. */
const PAGES = 10;

const request = requester(place, async () => (typeof session.client.token === "function" ? session.client.token() : session.client.token), fetch.bind(globalThis));

type Listed = { items: (Schemas.Thread & Lines)[]; next?: string | null };

/** The lines of a log that were seen: a new browser has seen all that was there when it came. */
interface Seen {
  epoch: string;
  from: number;
  threads: [string, number][];
}

function stored(epoch: string): Seen | undefined {
  try {
    const read = JSON.parse(localStorage.getItem(SEEN) ?? "null") as Seen | null;
    return read?.epoch === epoch && typeof read.from === "number" && Array.isArray(read.threads) ? read : undefined;
  } catch {
    // Text that is no JSON was not written here.
    return undefined;
  }
}

class Chats {
  lines = $state.raw<ReadonlyMap<string, Lines>>(new Map());
  /** The server tells lines, and takes titles; absent: it was not asked yet. */
  able = $state<boolean>();
  suggests = $state(true);
  #seen = $state.raw<Seen>({ epoch: "", from: 0, threads: [] });
  readonly #bySeen = $derived(new Map(this.#seen.threads));
  #reading = 0;

  /** Reads the lines, and follows them until the function that comes back is called. */
  follow(): () => void {
    const mine = (this.#reading += 1);
    this.lines = new Map();
    void this.#read(mine);
    const stop = session.listen((events) => {
      const more = new Map<string, Lines>();
      for (const event of events) {
        const line = lineOf(event);
        if (line) more.set(event.thread, this.#with(more.get(event.thread) ?? this.lines.get(event.thread), line));
      }
      if (more.size > 0) this.lines = new Map([...this.lines, ...more]);
    });
    return () => {
      this.#reading += 1;
      stop();
    };
  }

  /** A chat begins with a message of this browser. */
  began(thread: string): void {
    if (!settings.titles || !this.suggests) return;
    const stop = session.listen((events) => {
      if (!events.some((event) => event.thread === thread && event.meta.tags[0] === "turn" && tagged(event, "ended") && textOf(event, "outcome") === "done")) return;
      stop();
      void this.#entitle(thread);
    });
  }

  /** Asks for the title of a chat that began here, once its first turn is over and has replied: never before, so that the first reply waits for nothing. */
  async #entitle(thread: string): Promise<void> {
    const known = session.threads.find(({ id }) => id === thread);
    if (!settings.titles || known?.title || known?.parent || (known && known.kind !== "conversation")) return;
    try {
      await this.suggest(thread);
    } catch (error) {
      session.say(`No title was made for the new chat: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #with(known: Lines | undefined, line: ChatLine): Lines {
    return { first: known?.first && known.first.seq <= line.seq ? known.first : line, last: known?.last && known.last.seq >= line.seq ? known.last : line };
  }

  async #read(mine: number): Promise<void> {
    let cursor: string | undefined;
    try {
      for (let page = 0; page < PAGES; page += 1) {
        const query = { kind: "conversation", lines: true, limit: 100, ...(cursor ? { cursor } : {}) };
        const { items, next } = (await request("GET", "/threads", "json", { query })) as Listed;
        if (mine !== this.#reading) return;
        this.able = true;
        const read = new Map(this.lines);
        for (const { id, first, last } of items) for (const line of [first, last]) if (line) read.set(id, this.#with(read.get(id), line));
        this.lines = read;
        if (!next) return;
        cursor = next;
      }
    } catch (error) {
      // An older server knows no lines: titles are ids until something is said. Any other failure is said by the connection line.
      if (error instanceof ProblemError && (error.status === 400 || error.status === 404)) this.able = false;
    }
  }

  /** The last line of a thread that was seen here. */
  seen = (thread: string): number => Math.max(this.#bySeen.get(thread) ?? 0, this.#seen.from);

  /** Reads what was seen of this log; of another one nothing was. */
  recall(epoch: string, head: number): void {
    if (this.#seen.epoch === epoch) return;
    this.#seen = stored(epoch) ?? { epoch, from: head, threads: [] };
    this.#keep();
  }

  /** Keeps that a thread was seen up to here, beside what other tabs have kept. */
  see(thread: string, seq: number): void {
    const { epoch } = this.#seen;
    if (!epoch || seq <= this.seen(thread)) return;
    const known = stored(epoch) ?? this.#seen;
    const threads = new Map([...this.#seen.threads, ...known.threads.map(([id, at]) => [id, Math.max(at, this.#bySeen.get(id) ?? 0)] as [string, number])]);
    threads.delete(thread);
    this.#seen = { epoch, from: known.from, threads: [...threads, [thread, seq] as [string, number]].slice(-MOST) };
    this.#keep();
  }

  #keep(): void {
    try {
      localStorage.setItem(SEEN, JSON.stringify(this.#seen));
    } catch {
      // Storage is full or forbidden: what was seen lasts as long as the page.
    }
  }

  /** Changes a thread's title or puts it aside. */
  async change(thread: string, change: { title?: string | null; archived?: boolean }): Promise<void> {
    await request("PATCH", `/threads/${encodeURIComponent(thread)}`, "json", { body: change });
    session.refresh("threads", 0);
  }

  /** Asks for a title; the server sets it. */
  async suggest(thread: string): Promise<void> {
    try {
      await request("POST", `/threads/${encodeURIComponent(thread)}/title`, "json", {});
      session.refresh("threads", 0);
    } catch (error) {
      if (error instanceof ProblemError && (error.status === 404 || error.status === 405)) this.suggests = false;
      throw error;
    }
  }
}

export const chats = new Chats();
