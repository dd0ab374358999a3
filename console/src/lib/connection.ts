// What the line at the top right says of the connection: one sentence, one colour, from facts.
import type { State } from "../../../client/src/index.ts";
import { count, span } from "./format.ts";

/** What is known when the line is written. */
export interface Facts {
  state: State;
  /** Since when the state is a bad one, in milliseconds since 1970; absent: it is not. */
  badSince: number | undefined;
  now: number;
  /** Events that are known to exist and not handed over yet. */
  toGo: number;
  /** Events that came and are not drawn yet. */
  behind: number;
  /** Seqs between the oldest and the newest that are not here. */
  missing: number;
  /** How long the page was asleep before this catching up, in milliseconds. */
  asleep: number;
  /** The page was connected before. */
  known: boolean;
  /** The newest page of the log is here, and the first page of the view. */
  read: boolean;
}

/** The line. */
export interface Words {
  tone: "ok" | "late" | "fail";
  text: string;
  /** Long enough without a server that a banner says so. */
  banner: boolean;
}

/** Bad news waits so long: most of it is over before anybody could read it. */
const PATIENCE = 1_000;
const BANNER = 5_000;

/** Writes the line. */
export function words({ state, badSince, now, toGo, behind, missing, asleep, known, read }: Facts): Words {
  const bad = badSince === undefined ? 0 : now - badSince;
  const ok = (text: string): Words => ({ tone: "ok", text, banner: false });
  if (state.kind === "closed" && state.reason === "unauthenticated") return { tone: "fail", text: "no access", banner: false };
  if (state.kind === "closed" && state.reason !== "not started") return { tone: "fail", text: `closed: ${state.detail || state.reason}`, banner: true };
  if (state.kind === "live" && behind > 2_000) return { tone: "late", text: `this page is slow, ${count(behind)} events behind`, banner: false };
  if (state.kind === "live" && !read) return { tone: "late", text: "connected, reading the log", banner: false };
  if (state.kind === "live") return missing === 0 ? ok("up to date") : { tone: "late", text: `connected, ${missing === 1 ? "1 event" : `${count(missing)} events`} missing`, banner: false };
  if (state.kind === "catching up") return { tone: "late", text: `${asleep > 60_000 ? `asleep for ${span(asleep)}, ` : ""}behind by ${count(toGo)} events, catching up`, banner: false };
  const trying = known ? "reconnecting" : "connecting";
  if (bad < PATIENCE) return { tone: "late", text: trying, banner: false };
  if (state.kind !== "waiting") return { tone: "fail", text: `${trying}, no server yet`, banner: bad >= BANNER };
  return { tone: "fail", text: `disconnected: no server, again in ${Math.max(0, Math.ceil((state.at - now) / 1000))} s`, banner: bad >= BANNER };
}
