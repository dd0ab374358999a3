// Calls that wait and are alike: the same tool with the same arguments by name, so that one verdict can be of all.
import type { Schemas } from "../../../client/src/index.ts";

/** Calls that are alike, in the order of the log. */
export interface Alike {
  key: string;
  tool: string;
  calls: Schemas.Approval[];
}

/** Verdicts that are under way at once. */
const AT_ONCE = 4;

const names = (value: unknown) => (typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value).sort() : []);

/** Groups of two or more calls that are alike, the largest first. A plan of a mission is read by itself. */
export function alikeOf(approvals: readonly Schemas.Approval[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const one of [...approvals].sort((a, b) => a.seq - b.seq)) {
    const tool = String(one.tool ?? "");
    if (!tool || tool === "mission_plan") continue;
    const key = [tool, ...names(one.arguments)].join("\n");
    const group = groups.get(key) ?? { key, tool, calls: [] };
    group.calls.push(one);
    groups.set(key, group);
  }
  return [...groups.values()].filter(({ calls }) => calls.length > 1).sort((a, b) => b.calls.length - a.calls.length);
}

/** Gives one verdict to all of these, some at once; a refusal of one leaves the others. `told` hears how many are settled. */
export async function decideAll(ids: readonly string[], verdict: (id: string) => Promise<unknown>, told: (settled: number) => void): Promise<{ done: string[]; failed: { id: string; error: unknown }[] }> {
  const [done, failed]: [string[], { id: string; error: unknown }[]] = [[], []];
  const left = [...ids];
  const work = async () => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        await verdict(id);
        done.push(id);
      } catch (error) {
        failed.push({ id, error });
      }
      told(done.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { done, failed };
}
