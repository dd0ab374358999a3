// Why a call asks people: the decision's own reason first, then what it had read.
import assert from "node:assert/strict";
import { test } from "node:test";
import { reasonsOf } from "../src/lib/reasons.ts";
import { event } from "./events.ts";

const pending = (turn = 2, args: object = { to: "bob" }) => event(["approval", "pending", "tool:send"], { turn, approval_id: "a", tool: "send", arguments: args });

test("the reason of the decision comes first, with the reason in its arguments; remarks come behind it, of this turn alone", () => {
  const said = event(["input", "type:message"], { text: "write to Bob" });
  const old = event(["submodule:critic"], { turn: 1, text: "of the turn before" });
  const started = event(["turn", "started", "turn:2"], { turn: 2, text: "turn 2 started" });
  const remark = event(["submodule:critic"], { turn: 2, text: "Bob is away" });
  const failed = event(["failure", "timeout", "submodule:poet"], { turn: 2, text: "nothing within 20 s" });
  const words = event(["decision"], { turn: 2, text: "Bob has to know." });
  const thought = event(["decision", "thought"], { turn: 2, text: "By mail, then." });
  const action = event(["decision", "action", "tool:send"], { turn: 2, text: "send {}" });
  const asked = pending(2, { to: "bob", reason: "He asked to be told." });
  const later = event(["decision"], { turn: 2, text: "I asked." });
  const found = reasonsOf([said, old, started, remark, failed, words, thought, action, asked, later], asked);
  assert.deepEqual(found.own.map(({ seq }) => seq), [words.seq, thought.seq]);
  assert.equal(found.argument, "He asked to be told.");
  assert.deepEqual(found.read.map(({ seq }) => seq), [remark.seq, failed.seq]);
});

test("a decision that gave no reason has none, and its arguments alone are no reason", () => {
  const asked = pending();
  assert.deepEqual(reasonsOf([asked], asked), { own: [], argument: "", read: [] });
  assert.equal(reasonsOf([], { seq: 9, turn: 2, arguments: { why: "so that it is there" } }).argument, "so that it is there");
});
