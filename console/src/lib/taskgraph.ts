// The tasks of a mission as layers: what is required stands left of what requires it. From so many tasks on, those of one parent share a box, which opens.
import { type Required, arrange, curve, layersOf, place } from "./layers.ts";
import { type Task, numberOf, progressOf, type Progress } from "./missions.ts";

/** A box: a task, and of many the parts that it stands for. */
export interface Box {
  task: Task;
  /** How its parts stand, where it stands for them, too. */
  parts: Progress | undefined;
  layer: number;
  x: number;
  y: number;
}

/** A line from what is required to what requires it. */
export interface Line {
  from: string;
  to: string;
  path: string;
}

/** Boxes and lines, in pixels. */
export interface Graph {
  boxes: Box[];
  lines: Line[];
  width: number;
  height: number;
  /** Tasks that have no box. */
  left: number;
}

/** From so many tasks on parts are drawn as their parent. */
export const MANY = 60;
/** Most boxes. */
const MOST = 200;
/** Parts of parts are followed up so far: a circle of parents ends there. */
const DEEPEST = 64;

export const BOX = { width: 168, height: 46, gapX: 40, gapY: 12 };

/** Lays out the tasks of a mission, or the parts of one task and that task behind them. */
export function graphOf(tasks: readonly Task[], within = ""): Graph {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const inside = within && byId.has(within) ? tasks.filter((task) => isBelow(task, within, byId)) : [...tasks];
  const grouped = inside.length >= MANY;
  /** Whom a task is drawn as. */
  const drawnAs = (task: Task): Task => {
    let top = task;
    for (let up = 0; grouped && top.parent && top.parent !== within && up < DEEPEST; up += 1) top = byId.get(top.parent) ?? top;
    return top;
  };
  const members = new Map<string, Task[]>();
  for (const task of inside) {
    const { id } = drawnAs(task);
    members.set(id, [...(members.get(id) ?? []), task]);
  }
  if (within && byId.has(within)) members.set(within, []);
  const shown = [...members.keys()].sort((a, b) => numberOf(a) - numberOf(b)).slice(0, MOST);
  const required = requirements(new Set(shown), byId, drawnAs, within);
  const layers = layersOf(shown, required.ordering);
  const drawn = direct(layers, required.drawn);
  const lines = [...drawn].flatMap(([to, all]) => [...all].map((from) => [from, to] as const));
  arrange(layers, lines, (a, b) => numberOf(a) - numberOf(b));
  const { of, width, height } = place(layers, BOX);
  const boxes = layers.flatMap((ids, layer) => ids.map((id) => {
    const below = (members.get(id) ?? []).filter((task) => task.id !== id);
    return { task: byId.get(id)!, parts: below.length > 0 ? progressOf(below) : undefined, layer, ...of.get(id)! };
  }));
  return { boxes, lines: lines.map(([from, to]) => ({ from, to, path: curve(of.get(from)!, of.get(to)!, BOX) })), width, height, left: members.size - shown.length };
}

function isBelow(task: Task, top: string, byId: ReadonlyMap<string, Task>): boolean {
  let at = task.parent;
  for (let up = 0; at && up < DEEPEST; up += 1) {
    if (at === top) return true;
    at = byId.get(at)?.parent;
  }
  return false;
}

/** What each box requires: the lines that are drawn; and for the order also that parts come behind what their parent waited for. */
function requirements(shown: ReadonlySet<string>, byId: ReadonlyMap<string, Task>, drawnAs: (task: Task) => Task, within: string): { drawn: Required; ordering: Required } {
  const drawn: Required = new Map([...shown].map((id) => [id, new Set()]));
  const ordering: Required = new Map([...shown].map((id) => [id, new Set()]));
  const box = (id: string) => {
    const task = byId.get(id);
    return task ? (id === within ? id : drawnAs(task).id) : "";
  };
  for (const task of byId.values()) {
    const to = box(task.id);
    if (!shown.has(to)) continue;
    const parent = task.parent ? byId.get(task.parent) : undefined;
    const inherited = (parent?.tasks_required ?? []).filter((id) => byId.get(id)?.parent !== task.parent);
    for (const [ids, maps] of [[task.tasks_required, [drawn, ordering]], [inherited, [ordering]]] as const) {
      for (const from of ids.map(box)) if (from !== to && shown.has(from)) for (const map of maps) map.get(to)!.add(from);
    }
  }
  return { drawn, ordering };
}

/** What is required without a way around: a line that others say already is not drawn. */
function direct(layers: readonly string[][], required: Required): Required {
  const before = new Map<string, Set<string>>();
  const out: Required = new Map();
  for (const id of layers.flat()) {
    const all = [...required.get(id)!];
    const far = new Set(all.flatMap((from) => [...(before.get(from) ?? [])]));
    before.set(id, new Set([...far, ...all]));
    out.set(id, new Set(all.filter((from) => !far.has(from))));
  }
  return out;
}
