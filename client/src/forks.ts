// Forks: the input that a reply answers, and the words and media with which an input is said again.

import type { Api } from "./api.js";
import type { AnyEvent } from "./events.js";
import type { Said } from "./frames.js";
import type { Options } from "./http.js";
import { pages } from "./pages.js";
import type { Media } from "./schemas.js";

const tagged = ({ meta }: AnyEvent, tag: string) => meta.tags.includes(tag);

/** The same content as these parts of one input have; media by their blobs. */
export function saidOf(parts: readonly AnyEvent[]): Said {
  const text = parts.flatMap(({ payload }) => (typeof payload.text === "string" && typeof payload.blob !== "string" ? payload.text : []));
  const media = (modality: AnyEvent["modality"]): Media[] => parts.flatMap(({ modality: own, payload: { blob, mime } }) => (own === modality && typeof blob === "string" ? { blob, ...(typeof mime === "string" ? { mimeType: mime } : {}) } : []));
  const [images, audio] = [media("image"), media("audio")];
  return { ...(text.length > 0 ? { text: text.join("\n") } : {}), ...(images.length > 0 ? { images } : {}), ...(audio.length > 0 ? { audio } : {}) };
}

/** The last part of the input that this is a part of. */
export async function lastPart(api: Api, thread: string, part: AnyEvent, options: Options): Promise<AnyEvent> {
  if (!tagged(part, "part")) return part;
  for await (const inputs of pages((cursor) => api.listEvents({ thread, tags: ["input"], after: part.seq, order: "asc", ...cursor }, options))) {
    const last = inputs.find((input) => !tagged(input, "part"));
    if (last) return last;
  }
  return part;
}

/** The parts of the message that a reply answers, or of this one if it is an input. Throws where that is no message. */
export async function messageOf(api: Api, thread: string, of: AnyEvent, options: Options): Promise<AnyEvent[]> {
  const batch = tagged(of, "input") ? [(await lastPart(api, thread, of, options)).seq] : await batchOf(api, thread, of, options);
  const parts = batch.length > 0 ? await lastInput(api, thread, batch, options) : [];
  if (parts.length > 0 && parts.every((part) => tagged(part, "type:message"))) return parts;
  throw new Error(parts.length > 0 ? `event ${of.seq} answers no message, but event ${parts.at(-1)!.seq}` : `no input of ${thread} is known that event ${of.seq} answers`);
}

/** The seqs of all that the turn of an event was about. */
async function batchOf(api: Api, thread: string, { seq, payload }: AnyEvent, options: Options): Promise<number[]> {
  if (typeof payload.turn !== "number") return [];
  const { items } = await api.listEvents({ thread, tags: ["turn", "started", `turn:${payload.turn}`], all_tags: true, before: seq, limit: 1 }, options);
  const batch = items[0]?.payload.batch;
  return Array.isArray(batch) ? batch.map(Number) : [];
}

/** The parts of the last input in a batch. The parts before the last one stand directly before it. */
async function lastInput(api: Api, thread: string, batch: readonly number[], options: Options): Promise<AnyEvent[]> {
  const [wanted, before, after] = [new Set(batch), Math.max(...batch) + 1, Math.min(...batch) - 1];
  const parts: AnyEvent[] = [];
  for await (const inputs of pages((cursor) => api.listEvents({ thread, tags: ["input"], before, order: "desc", ...cursor }, options))) {
    for (const input of inputs) {
      const next = parts[0];
      if (next === undefined && input.seq <= after) return parts;
      if (next !== undefined && (input.seq !== next.seq - 1 || !tagged(input, "part"))) return parts;
      if (next !== undefined || wanted.has(input.seq)) parts.unshift(input);
    }
  }
  return parts;
}
