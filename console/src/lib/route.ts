// Addresses: what stands after # in the URL holds all that is needed to see the same again. Never a key, never text that was typed to an agent.

/** A place in the console. */
export interface Route {
  view: string;
  /** What the path names: a thread, a turn, a seq, an id. */
  parts: string[];
  query: Record<string, string>;
}

/** The views that have an address, with the key that goes there after `g`. */
export const VIEWS: { view: string; title: string; sign: string; key: string; group: string; path: string }[] = [
  { view: "chat", title: "Chat", sign: "chat", key: "c", group: "Now", path: "#/t/main" },
  { view: "live", title: "Live", sign: "live", key: "l", group: "Now", path: "#/live" },
  { view: "inbox", title: "Inbox", sign: "inbox", key: "i", group: "Now", path: "#/inbox" },
  { view: "log", title: "Log", sign: "log", key: "o", group: "Record", path: "#/log" },
  { view: "threads", title: "Threads", sign: "thread", key: "t", group: "Record", path: "#/threads" },
  { view: "pipelines", title: "Pipelines", sign: "pipe", key: "p", group: "Record", path: "#/pipelines" },
  { view: "voices", title: "Submodules", sign: "voices", key: "s", group: "Agent", path: "#/voices" },
  { view: "missions", title: "Missions", sign: "mission", key: "m", group: "Agent", path: "#/missions" },
  { view: "world", title: "World model", sign: "world", key: "w", group: "Agent", path: "#/world" },
  { view: "usage", title: "Usage and health", sign: "usage", key: "u", group: "Server", path: "#/usage" },
];

/** Reads an address; what is none leads to the chat of `main`. */
export function parse(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decoded);
  const query = Object.fromEntries(new URLSearchParams(search));
  const [first, second, third, fourth] = parts;
  if (first === "t" && third === "turn" && second) return { view: "live", parts: [second, fourth ?? ""], query };
  if (first === "t" && third === "about" && second) return { view: "threads", parts: [second], query };
  if (first === "t" && second) return { view: "chat", parts: [second], query };
  if (first === "run") return { view: "pipelines", parts: parts.slice(1), query };
  if (first === "recall") return { view: "world", parts: [], query: { ...query, recall: query.q ?? "" } };
  if (first === "m") return { view: "missions", parts: parts.slice(1), query };
  if (first === "call" || first === "help" || VIEWS.some((known) => known.view === first)) return { view: first ?? "", parts: parts.slice(1), query };
  return { view: "chat", parts: ["main"], query: {} };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The number that a part of an address is: a turn, a seq. Anything else is none. */
export function numberIn(part: string | undefined): number | undefined {
  const n = part !== undefined && /^\d{1,16}$/.test(part) ? Number(part) : Number.NaN;
  return Number.isSafeInteger(n) ? n : undefined;
}

/** Writes an address; empty members of the query are left out. */
export function address(path: string, query: Record<string, string | number | boolean | undefined> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "" && value !== false) search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

/** What of a view is looked at, as the top bar names it beside the title. */
export function placeOf({ view, parts, query }: Route, counts: { waiting: number; voices: number }, mission: (id: string) => string): string {
  const [first, second] = parts;
  switch (view) {
    case "chat":
      return first ?? "";
    case "live":
      return query.span ? "all threads" : first && second ? `${first}, turn ${second}` : (first ?? "");
    case "inbox":
      return counts.waiting > 0 ? (counts.waiting === 1 ? "1 waits for you" : `${counts.waiting} wait for you`) : "";
    case "log":
      return query.thread ? `${query.thread}${query.subtree === undefined ? "" : " and below"}` : "";
    case "voices":
      return counts.voices > 0 ? (counts.voices === 1 ? "1 submodule" : `${counts.voices} submodules`) : "";
    case "missions":
      return first ? mission(first) : "";
    default:
      return "";
  }
}

export const chatOf = (thread: string) => `#/t/${encodeURIComponent(thread)}`;
export const turnOf = (thread: string, turn: number) => `#/t/${encodeURIComponent(thread)}/turn/${turn}`;
export const aboutOf = (thread: string) => `#/t/${encodeURIComponent(thread)}/about`;
export const logOf = (seq: number) => `#/log/${seq}`;
export const missionOf = (thread: string) => `#/missions/${encodeURIComponent(thread)}`;
export const taskOf = (thread: string, task: string) => `${missionOf(thread)}/task/${encodeURIComponent(task)}`;
export const runOf = (id: string, place?: string) => `#/run/${encodeURIComponent(id)}${place === undefined ? "" : `/${encodeURIComponent(place)}`}`;
export const callOf = (id: string) => `#/call/${encodeURIComponent(id)}`;

/** The server of a page of the console, without a slash at its end. */
export const serverOf = (page: string) => new URL("..", page).href.replace(/\/$/, "");
