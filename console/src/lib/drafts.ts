// Words that were typed and not sent yet, by thread: kept until the tab is closed, across reloads.
import { kept } from "./place.ts";

const nameOf = (thread: string) => `${kept("thinkd.draft")} ${thread}`;

/** The words typed for a thread. */
export function draftOf(thread: string): string {
  return sessionStorage.getItem(nameOf(thread)) ?? "";
}

/** Keeps the words typed for a thread; none: they are forgotten. */
export function keepDraft(thread: string, words: string): void {
  try {
    if (words) sessionStorage.setItem(nameOf(thread), words);
    else sessionStorage.removeItem(nameOf(thread));
  } catch {
    // Storage is full or forbidden: the words stand in the box as long as the page does.
  }
}
