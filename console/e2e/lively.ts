// A scene with much in it, for the pairs: the story of the pictures, and beside it names that are short, long, Chinese and Arabic, ten like approvals, a thread that is stuck, missions
// that ended solved in part and not at all, a statement that was refused. Two keys open it: one that may look, one that may speak.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AnyEvent } from "../src/lib/events.ts";
import { mission, stepOf, taskIn } from "./mission.ts";
import { type Answer, type Asked, endpoint } from "./model.ts";
import { scene } from "./scene.ts";
import { type Thinkd, until } from "./server.ts";
import { story } from "./story.ts";

/** Names by how hard they are to lay out: the label of a thread, and its title. */
export const NAMES = {
  short: ["bob", "Bob"],
  long: ["suppliers-of-the-northern-valley", "Suppliers of twin-wall polycarbonate in the northern valley"],
  cjk: ["onshitsu", "温室の暖房費と冬の最低気温について調べる"],
  rtl: ["dafia", "تكلفة تدفئة الدفيئة الصغيرة في الشتاء"],
} as const;
export type NameKind = keyof typeof NAMES;

/** What each key may do. */
export const KEYS = { viewer: "tk_viewer", member: "tk_member" } as const;
export type Role = keyof typeof KEYS;

/** The thread that cannot go on. */
export const STUCK = "trains";
/** Missions that ended: one solved in part, one not at all. */
export const ENDED = ["Compare three venues for twelve people, and order a bus.", "Order five talks of 30 to 90 minutes between 9 and 17 h so that none clash."];

const call = (name: string, args: Record<string, unknown>): Answer => ({ calls: [{ name, arguments: args }] });
const told = story(0.02);

function answer(asked: Asked): Answer {
  const step = stepOf(asked);
  if (step === "decompose") return call("decompose", { tasks: (/venues/.test(asked.prompt) ? ["Compare venues", "Order the bus"] : ["Sort the talks"]).map((name) => ({ name, description: `${name}.`, requires: [], value: null, brought_by: [] })) });
  if (step === "judge") return call("judge", taskIn(asked) === "Compare venues" ? { passes: true, why: "Nothing is missing." } : { passes: false, why: "It names no time." });
  if (step === "consider") return call("consider", { split: false, split_why: "It is small.", split_estimate: 0, question: null, routes: [{ name: "Look it up", how: "Look it up.", estimate: 0.9 }], check: "rubric", program: null, query: null, rubric: "It says when." });
  if (step) return mission(asked, 1);
  if (asked.voice) return told(asked);
  const since = asked.prompt.slice(asked.prompt.lastIndexOf(`: ${asked.said}`));
  if (/ten permits/.test(asked.said) && !/state_put/.test(since)) return { calls: Array.from({ length: 10 }, (_, i) => ({ name: "state_put", arguments: { key: `office/permit-${i}`, content: `Ask the building office whether part ${i} is free of permit`, related_keys: [] } })) };
  if (/keep in mind/.test(asked.said) && !/remember/.test(since)) return call("remember", { statement: "The lean-to is free of permit in every state of the country.", quote: "free of permit in every state" });
  return told(asked);
}

/** The scene, and the moment of its last event. */
export interface Lively {
  server: Thinkd;
  last: number;
  get: <T>(path: string) => Promise<T>;
}

/** Acts it, and starts it again with its keys, so that nothing goes on. */
export async function lively(): Promise<Lively> {
  const model = await endpoint(answer);
  const server = await scene({ OPENAI_BASE_URL: model.url, THINKD_MISSION__WIDTH: "2" });
  type Items<T> = { items: T[] };
  for (const [label, title] of Object.values(NAMES)) await server.call("POST", "/threads", { label, title, kind: "conversation" });
  await Promise.all(Object.values(NAMES).map(([label, title]) => server.say(`What of ${title}?`, label)));
  await server.say("File the ten permits, please.");
  await server.say("Please keep in mind what the office said.");
  await server.call("POST", "/threads", { label: STUCK, kind: "process", title: "Trains to the coast", prompt: "You are doomed." });
  await server.call("POST", `/threads/${STUCK}/messages`, { text: "go" });
  const missions = await Promise.all(ENDED.map(async (text) => (await server.call<{ id: string }>("POST", "/threads", { kind: "mission", mission: text, value: "low" })).id));
  const over = async (id: string) => (await server.call<{ outcome?: string }>("GET", `/threads/${id}`)).outcome;
  await until(async () => (await Promise.all(missions.map(over))).every(Boolean));
  await until(async () => (await server.call<Items<{ id: string; status: string; reason?: string }>>("GET", "/threads?limit=500")).items.every(({ id, status, reason }) => status !== "thinking" && (id !== STUCK || reason)));
  await server.kill();
  await model.close();
  const keys = Object.entries(KEYS).map(([role, key]) => `[[keys]]\nsha256 = "${createHash("sha256").update(key).digest("hex")}"\nspace = "default"\nrole = "${role}"\n`);
  writeFileSync(join(server.folder, "thinkd.toml"), keys.join("\n"));
  await server.start();
  const get = async <T>(path: string) => (await (await fetch(server.url + path, { headers: { authorization: `Bearer ${KEYS.member}` } })).json()) as T;
  await until(async () => (await get<{ items: { status: string }[] }>("/threads?limit=500")).items.every(({ status }) => status !== "thinking"));
  const last = (await get<Items<AnyEvent>>("/events?limit=1&debug=true")).items[0]!;
  return { server, last: Date.parse(last.ts), get };
}
