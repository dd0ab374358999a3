// The errors of this client: what the server refused, and what never reached it.

import type { Problem } from "./schemas.js";

/** The server refused something, and says why (RFC 9457). */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  /** What kind of problem it is: `queue-full`, `forbidden`, … */
  readonly slug: string;
  /** As the server sent it. */
  readonly problem: Problem;
  /** Seconds after which to try again, where the server says so. */
  readonly retryAfter: number | undefined;

  constructor(problem: Problem, retryAfter?: number) {
    super(`${problem.title}: ${problem.detail}`);
    this.problem = problem;
    this.slug = problem.type.replace(/^.*\//, "");
    this.retryAfter = retryAfter;
  }

  /** The HTTP status. */
  get status(): number {
    return this.problem.status;
  }
}

/** The server was not reached, or what answered is no thinkd. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
}

/** The client was closed, or the server closed it for good, before this was answered. It may have been stored: the same `event_id` tells. */
export class ClosedError extends Error {
  override readonly name = "ClosedError";
}

/** A refusal by the client itself, in the words the server would use. */
export function refusal(slug: string, status: number, title: string, detail: string): ProblemError {
  return new ProblemError({ type: `/problems/${slug}`, title, status, detail });
}
