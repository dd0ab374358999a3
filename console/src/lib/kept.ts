// Values that are too large for an event: a blob has them, as JSON, and the event says which one and how large.
import { readJson } from "../../../client/src/json.ts";
import { count } from "./format.ts";

/** Where a large value is. */
export interface Kept {
  blob: string;
  bytes: number;
}

/** Of a larger one the page reads nothing. */
const MOST = 4_000_000;

/** Reads where a value is; what is none of this form is none. */
export function keptOf(value: unknown): Kept | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { blob, bytes } = value as Record<string, unknown>;
  return typeof blob === "string" && /^[0-9a-f]{64}$/.test(blob) && Number.isSafeInteger(bytes) && (bytes as number) >= 0 ? { blob, bytes: bytes as number } : undefined;
}

/** How large it is, in words. */
export function keptWords({ bytes }: Kept): string {
  if (bytes < 1_000) return `${count(bytes)} bytes of JSON`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB of JSON` : `${(bytes / 1_000_000).toFixed(1)} MB of JSON`;
}

/** Reads a value; of one that is too large nothing. */
export async function valueOf({ blob, bytes }: Kept, get: (blob: string) => Promise<Response>): Promise<unknown> {
  return bytes > MOST ? undefined : readJson(await (await get(blob)).text());
}
