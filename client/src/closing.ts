// What becomes of a connection that is lost: which close codes are final, and how long to wait before the next try.

/** Why there will be no further try. */
export type Final = "unauthenticated" | "forbidden" | "protocol";

/** Whether a close code is final. All others pass: the server drains (1001), is gone (1006), has no room (4429), … */
export function final(code: number): Final | undefined {
  if (code === 4401) return "unauthenticated";
  if (code === 4403) return "forbidden";
  return code === 1002 || code === 1003 || code === 1007 ? "protocol" : undefined;
}

/** How tries are spread. */
export interface Backoff {
  /** The first wait, in milliseconds. */
  first: number;
  /** The longest wait, in milliseconds. */
  most: number;
}

/** How long to wait before try number `attempt` (from 1), in milliseconds: doubled each time, with half of it by chance. */
export function pause({ first, most }: Backoff, attempt: number, code: number): number {
  // A server that drains is not overloaded: another one, or its successor, takes the client at once.
  if (code === 1001 && attempt === 1) return Math.random() * first;
  const slow = code === 4429 ? 8 : 1;
  const whole = Math.min(most, first * slow * 2 ** Math.min(attempt - 1, 30));
  return whole / 2 + (Math.random() * whole) / 2;
}
