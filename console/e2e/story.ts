// The story that pictures and tests tell: a greenhouse, six voices of which one is late, one fails and one passes.
import type { Answer, Asked } from "./model.ts";

const WORDS: Record<string, string> = {
  understanding: "They want a yes or no first, then a building order. “We” is two people; €2,400 is a ceiling, not a target.",
  memory: "Notes garden/wall and heating/preference: brick, 36 cm, faces 170°. Would rather insulate than heat.",
  critic: "“Above 5 °C” needs the coldest night, not a mean: check the station’s minima before you promise anything.",
  botanist: "Citrus wants 7 °C, not 5. If that is what they keep, say so.",
};

const REPLY = `Yes, down to about **−9 °C** outside, if the wall does half of the work. I checked the last twenty winters at your place: nine nights went below that, all in two cold spells.

I would build in this order:

1. The lean-to frame, fixed to the wall, so that its warmth stays inside (€780).
2. 16 mm twin-wall on roof and sides; the wall itself stays bare.
3. A max-min thermometer, before anything that heats.

| part | price |
| --- | --- |
| frame | €780 |
| twin-wall | €1,120 |`;

/** How fast the story goes: 1 is as people would see it. */
export function story(pace = 1): (asked: Asked) => Answer {
  const wait: Record<string, number> = { understanding: 600, memory: 1000, critic: 1500, warmth: 400, frugal: 300, botanist: 3600 };
  return (asked) => {
    if (asked.voice) return voice(asked, (wait[asked.voice] ?? 500) * pace);
    return decision(asked, pace);
  };
}

function voice(asked: Asked, after: number): Answer {
  if (asked.followUp) return { text: asked.voice === "memory" ? "Keep: €2,400 is a ceiling, two people." : "PASS", after: after / 3 };
  if (asked.voice === "warmth") return { text: "PASS", after };
  if (asked.voice === "frugal") return { status: 400, after };
  return { text: WORDS[asked.voice] ?? `${asked.voice} has nothing scripted.`, after };
}

function decision(asked: Asked, pace: number): Answer {
  if (/doomed/.test(asked.prompt)) return { status: 400 };
  const between = /very slowly/.test(asked.said) ? 900 : /slowly/.test(asked.said) ? 150 : 30 * pace;
  const since = asked.prompt.slice(asked.prompt.lastIndexOf(`: ${asked.said}`));
  const did = (tool: string) => new RegExp(`(call|result) ${tool}`).test(since);
  if (/permit/.test(asked.said) && !did("send_mail") && !did("state_put")) return { calls: [{ name: "state_put", arguments: { key: "office/permit", content: "Ask the building office whether a 12 m² lean-to is free of permit", related_keys: [] } }], after: 700 * pace };
  if (/which plants/i.test(asked.said) && !did("ask_user")) return { calls: [{ name: "ask_user", arguments: { question: "Which plants stay over winter?", choices: ["citrus", "olives", "none"], schema: null, who: null, expires_s: null } }], after: 500 * pace };
  if (/say nothing/i.test(asked.said)) return { calls: [{ name: "do_nothing", arguments: { reason: "“Thanks” needs no answer." } }], after: 400 * pace };
  if (/greenhouse|winter/.test(asked.said) && !did("state_search")) return { calls: [{ name: "state_search", arguments: { query: "wall heating", limit: 5 } }], after: 900 * pace };
  return { calls: [{ name: "reply", arguments: { text: /greenhouse|winter/.test(asked.said) ? REPLY : `You said: ${asked.said}` } }], after: 900 * pace, between };
}
