// The requests that were settled in this browser: of these a talk says "you", where the log has no name or another one.
import { kept } from "./place.ts";

const KEY = kept("thinkd.acted");
const MOST = 200;

function read(): string[] {
  try {
    const ids: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(ids) ? ids.map(String) : [];
  } catch {
    return [];
  }
}

let mine = $state.raw<ReadonlySet<string>>(new Set(read()));

/** Keeps that a request was settled here. */
export function acted(id: string): void {
  mine = new Set([...read().filter((known) => known !== id), id].slice(-MOST));
  try {
    localStorage.setItem(KEY, JSON.stringify([...mine]));
  } catch {
    // Storage is full or forbidden: after a reload the talk names who did it as the log does.
  }
}

/** True if a request was settled here. */
export const wasMine = (id: string) => mine.has(id);
