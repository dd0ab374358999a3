// A fact is corrected by a person: the new one is stated, the old one withdrawn where the key may do that at once.
import { type Client, ProblemError } from "../../../client/src/index.ts";
import { asSentence, line } from "./format.ts";

/** The fact that is corrected. */
export interface Fact {
  id: string;
  text: string;
  thread?: string;
}

/** The outcome, in words, and the fact that stands in the place of the old one; absent: none does. */
export interface Corrected {
  words: string;
  id: string | undefined;
}

/** Corrects a fact. Without a text in its place it is withdrawn alone. What the server refuses is thrown, and then nothing has changed. */
export async function correct({ api }: Pick<Client, "api">, old: Fact, text: string): Promise<Corrected> {
  const next = text.trim();
  const was = `“${line(old.text, 160)}”`;
  if (!next) {
    await api.retractStatement(old.id, { reason: "A person says that it is not so." });
    return { words: `${was} is withdrawn, and not relied on any more.`, id: undefined };
  }
  const { id, status } = await api.rememberStatement({ statement: next, ...(old.thread === undefined ? {} : { thread: old.thread }) });
  const becomes = `“${line(next, 160)}” ${status === "surviving" ? "is known now, on your word" : "is being checked, and used in answers when it has passed"}.`;
  try {
    await api.retractStatement(old.id, { reason: line(`A person corrected it: ${next}`, 900) });
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const why = error.status === 403 ? "to withdraw it at once needs the role operator" : error.message;
    return { words: `${becomes} ${was} stays until then: ${asSentence(why)}`, id };
  }
  return { words: `${was} is withdrawn. ${becomes}`, id };
}
