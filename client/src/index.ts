// What the package offers. README.md shows how it is used.

export { Client, type Settings } from "./client.js";
export { Api } from "./api.js";
export type { Backoff, Final } from "./closing.js";
export type { Socket, SocketClass, State } from "./connection.js";
export { Drafts, type Draft } from "./drafts.js";
export type { AnyEvent, ThinkdEvent } from "./events.js";
export type * as Events from "./events.js";
export type { Delta, DeltaEnd, Filter, Hello, Said, ServerFrame, StatusHint, WorkHint } from "./frames.js";
export type { Options } from "./http.js";
export { Exact, asWritten, readJson, writeJson } from "./json.js";
export { pages } from "./pages.js";
export { ClosedError, ProblemError, UnreachableError } from "./problem.js";
export type * as Schemas from "./schemas.js";
export type { EpochChange, Following, Handlers } from "./subscription.js";
export { uuid } from "./uuid.js";
