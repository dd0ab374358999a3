import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schemas } from "../../client/src/index.ts";
import { alikeOf, decideAll } from "../src/lib/alike.ts";

const call = (id: string, tool: string, args: Record<string, unknown>, seq: number) => ({ approval_id: id, tool, arguments: args, thread: "main", seq }) as unknown as Schemas.Approval;

test("calls of one tool with the same arguments by name are alike, in the order of the log; others stand alone", () => {
  const groups = alikeOf([
    call("c", "send", { to: "c", text: "x" }, 3),
    call("a", "send", { text: "y", to: "a" }, 1),
    call("b", "send", { to: "b", text: "z", copy: true }, 2),
    call("d", "delete", { to: "d", text: "x" }, 4),
    call("e", "mission_plan", { tasks: [] }, 5),
    call("f", "mission_plan", { tasks: [] }, 6),
  ]);
  assert.deepEqual(groups.map(({ tool, calls }) => [tool, calls.map((one) => one.approval_id)]), [["send", ["a", "c"]]]);
});

test("one refusal leaves the other verdicts, and is told with its reason", async () => {
  const told: number[] = [];
  let most = 0;
  let now = 0;
  const { done, failed } = await decideAll(Array.from({ length: 10 }, (_, i) => `id-${i}`), async (id) => {
    most = Math.max(most, (now += 1));
    await new Promise((go) => setTimeout(go, 2));
    now -= 1;
    if (id === "id-3") throw new Error("settled before");
  }, (n) => told.push(n));
  assert.equal(done.length, 9);
  assert.deepEqual(failed.map(({ id, error }) => [id, (error as Error).message]), [["id-3", "settled before"]]);
  assert.deepEqual(told, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.ok(most <= 4, `${most} at once`);
});
