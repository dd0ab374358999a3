// What a proposed prompt brought over past turns, from the output of the pipeline `trial`.

/** What a submodule said of one view, then and with the proposed prompt. */
export interface Tried {
  thread: string;
  turn: number;
  /** Absent: it passed, or had no answer. */
  then: string | undefined;
  now: string | undefined;
  /** Tools that it would have called. */
  calls: string[];
  /** Why there is no answer. */
  failure: string | undefined;
  /** It failed then, was late or was stopped: that it said nothing does not mean that it passed. */
  thenFailed: boolean;
  /** The models of then and now, where they differ. */
  modelThen: string | undefined;
  model: string | undefined;
}

/** Reads an output; what is none of this form is left out. */
export function triedOf(output: unknown): Tried[] {
  const items: unknown[] = Array.isArray(output) ? output : [];
  return items.flatMap((item) => {
    if (typeof item !== "object" || item === null) return [];
    const { thread, turn, then, now, calls, failure, then_failed: thenFailed, model_then: modelThen, model } = item as Record<string, unknown>;
    if (typeof thread !== "string" || typeof turn !== "number") return [];
    const text = (value: unknown) => (typeof value === "string" ? value : undefined);
    return [{ thread, turn, then: text(then), now: text(now), calls: Array.isArray(calls) ? calls.filter((name) => typeof name === "string") : [], failure: text(failure), thenFailed: thenFailed === true, modelThen: text(modelThen), model: text(model) }];
  });
}
