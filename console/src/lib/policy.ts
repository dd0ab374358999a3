// The effect of a message on a turn at work: as the thread is set, as its past shows, and in words.
import { type AnyEvent, partOf, tagged, textOf } from "./events.ts";

const POLICIES = ["enqueue", "steer", "interrupt", "reject"] as const;
/** `enqueue`: it waits; `steer`: it joins the turn; `interrupt`: the turn stops; `reject`: it is not taken. */
export type Policy = (typeof POLICIES)[number];

/** The policy as events tell it; absent: they do not, and the default of the server holds. */
export function policyOf(events: readonly AnyEvent[]): Policy | undefined {
  for (const event of events) {
    if (!tagged(event, "set:thread")) continue;
    const { policy } = (partOf(event, "change").settings ?? {}) as { policy?: unknown };
    const known = POLICIES.find((one) => one === policy);
    if (known) return known;
  }
  // Only a message of a thread that is set so ends a turn with this outcome.
  return events.some((event) => event.meta.tags[0] === "turn" && textOf(event, "outcome") === "interrupted") ? "interrupt" : undefined;
}

/** The effect of a message that is sent now, in words. `stops`: the page is to stop the turn first. `joins`: the message is sent to join it. */
export function policyWords(policy: Policy | undefined, stops: boolean, joins = false): string {
  if (policy === "interrupt") return "Your message stops this turn, as this conversation is set, and is answered next. What was written so far stays.";
  if (!stops && (joins || policy === "steer")) return "Your message joins this turn: it is seen before the next step. If no step follows, it is answered in the next turn.";
  if (stops) return "The turn is stopped first, and your message is answered next. What was written so far stays.";
  if (policy === "reject") return "This conversation takes no message while a turn runs, as it is set: wait until it is over, or interrupt it.";
  return "Your message waits until this turn is over, and is answered in the next one.";
}
