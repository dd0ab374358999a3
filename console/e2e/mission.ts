// A mission that pictures and tests tell: a greenhouse below a price, in tasks of which one is split, one is tried twice and one asks.
import type { Answer, Asked } from "./model.ts";

/** What is wanted. */
export const WANTED = "A greenhouse of 12 m² against the south wall for less than €2,400 that stays above 5 °C all winter: say what to build, in which order.";

const TASKS: [string, number[]][] = [
  ["Coldest nights", []],
  ["Wall and sun", []],
  ["Prices", []],
  ["Which plants", [2]],
  ["Heat loss", [1, 2]],
  ["Glazing choice", [4, 5]],
  ["Order list", [3, 6]],
];

const ANSWERS: Record<string, string> = {
  "Coldest nights": "−9 °C, nine nights in twenty winters",
  "Wall and sun": "brick, 36 cm, faces 170°",
  "Heat loss": "1,120 W at −9 °C",
  "Glazing choice": "16 mm twin-wall: 32 mm never pays for itself",
};

/** A step of a mission, by the one tool that it is given. */
export function stepOf(asked: Asked): string {
  const [tool = "", ...more] = asked.tools;
  return more.length === 0 && ["decompose", "consider", "solve", "judge", "replan", "answer"].includes(tool) ? tool : "";
}

/** What a request says behind a word, as JSON. */
function told(asked: Asked, word: string): Record<string, unknown> {
  const found = asked.prompt.split("\n").findLast((line) => line.trim().startsWith(word));
  return found ? (JSON.parse(found.trim().slice(word.length)) as Record<string, unknown>) : {};
}

/** The name of the task that is asked about. */
export function taskIn(asked: Asked): string {
  return String(told(asked, "Task: ").name ?? told(asked, "Task to be split: ").name ?? "");
}

const call = (name: string, args: Record<string, unknown>, after: number): Answer => ({ calls: [{ name, arguments: args }], after });
const parts = (list: [string, number[]][]) => list.map(([name, requires]) => ({ name, description: `Find out: ${name.toLowerCase()}.`, requires, value: null, brought_by: [] }));

/** How the mission goes; `ms`: how long each call takes. */
export function mission(asked: Asked, ms = 120): Answer {
  const name = taskIn(asked);
  switch (stepOf(asked)) {
    case "decompose":
      return call("decompose", { tasks: name ? parts([["Frame", []], ["Panes", [1]]]) : parts(TASKS) }, ms);
    case "consider":
      return call("consider", considered(name), ms);
    case "solve":
      return call("solve", solved(name, String(told(asked, "Route: ").name)), ms);
    case "judge":
      return call("judge", /climate table/.test(asked.prompt) ? { passes: false, why: "The climate table knows no 32 mm." } : { passes: true, why: "Nothing is missing." }, ms);
    case "replan":
      return call("replan", { possible: false, description: null, why: "It needs it." }, ms);
    default:
      return call("answer", { answer: "Build **the frame** first, then 16 mm twin-wall. The heater can wait." }, ms);
  }
}

function solved(name: string, route: string): Record<string, unknown> {
  // The judge sees the answer and nothing of how it came about.
  const answer = /climate table/.test(route) ? "The climate table has 16 mm only." : (ANSWERS[name] ?? `${name} is settled`);
  return { thought: `Of ${name.toLowerCase()} enough is known by this: ${route}.`, answer, program: null };
}

function considered(name: string): Record<string, unknown> {
  const ways: [string, number][] = name === "Glazing choice" ? [["Ask the climate table", 0.8], ["Compute both, compare over ten winters", 0.55]] : [["Look it up", 0.9]];
  return {
    split: name === "Prices", split_why: name === "Prices" ? "Frame and panes are sold apart." : "It is small.", split_estimate: name === "Prices" ? 0.95 : 0,
    question: name === "Which plants" ? "Which plants stay over winter?" : null,
    routes: ways.map(([route, estimate]) => ({ name: route, how: `${route}, and say where from.`, estimate })),
    check: "rubric", program: null, query: null, rubric: "It says what was found, and where.",
  };
}
