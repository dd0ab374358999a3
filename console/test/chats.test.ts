// The list of conversations: titles, branches, order, unread and waiting; days in words; what a message does to a turn at work.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProblemError } from "../../client/src/index.ts";
import { type ChatLine, type Lines, branchTree, chatsOf, hasWords, lineOf, shutBy, titleOf } from "../src/lib/chats.ts";
import { dayName, dayOf, fullDate, moment, shortMoment } from "../src/lib/days.ts";
import { markdown } from "../src/lib/markdown.ts";
import { policyOf, policyWords } from "../src/lib/policy.ts";
import { correct } from "../src/lib/correct.ts";
import { type Thread, stuck, threadMark, waitsFor } from "../src/lib/threads.ts";
import { event } from "./events.ts";

const thread = (id: string, more: Partial<Thread> = {}) => ({ id, kind: "conversation", title: null, head: 1, archived: false, ...more }) as Thread;
const fork = (id: string, from: string, at: number) => thread(id, { forked_from: { thread: from, at } });
const line = (seq: number, text: string, by: ChatLine["by"] = "mind"): ChatLine => ({ seq, ts: "2026-11-26T15:17:00Z", by, text });
const about = (lines: Record<string, Lines>, seen: Record<string, number> = {}, waits: Record<string, number> = {}) => ({ lines: new Map(Object.entries(lines)), seen: (id: string) => seen[id] ?? 0, waits: new Map(Object.entries(waits)) });

test("a title is the one given, else the first words without their marks, else the id", () => {
  const lines = { first: line(1, "**Can** it\nstay above 5 °C all winter, what would you build first of all of it?", "person") };
  assert.equal(titleOf(thread("t", { title: "Greenhouse" }), lines), "Greenhouse");
  assert.equal(titleOf(thread("t"), lines), "Can it stay above 5 °C all winter, what would you build firs …");
  assert.equal(titleOf(thread("t", { title: "" }), undefined), "t");
  assert.match(titleOf(thread("t", { title: "a\u202eb" }), undefined), /⟨U\+202E⟩/);
});

test("the conversation that was spoken in last is first; branches are one entry, which leads to the newest of them", () => {
  const threads = [thread("a"), fork("a2", "a", 41), fork("a3", "a2", 60), thread("b"), thread("p", { kind: "process" }), thread("runs.trials"), thread("new", { head: 2 })];
  const chats = chatsOf(threads, about({ a: { first: line(1, "one"), last: line(40, "x") }, a2: { last: line(90, "y") }, a3: { last: line(70, "z") }, b: { first: line(50, "two"), last: line(80, "w", "person") } }, {}, { a3: 2, b: 1 }));
  assert.deepEqual(chats.map((chat) => [chat.root.id, chat.newest.id, chat.branches.length, chat.waits]), [["a", "a2", 3, 2], ["b", "b", 1, 1], ["new", "new", 1, 0]]);
});

test("a chat is found by words of its title, else of its first line, or by its id", () => {
  const lines = new Map<string, Lines>([["a", { first: line(1, "All about Bees") }], ["b", { first: line(2, "hidden") }]]);
  const found = (words: string) => chatsOf([thread("a"), thread("b", { title: "Plums" })], { ...about({}), lines }).filter((chat) => hasWords(chat, lines, words)).map(({ root }) => root.id);
  assert.deepEqual([found("bees"), found("PLUMS"), found("hidden"), found("b")], [["a"], ["b"], [], ["b", "a"].sort()]);
});

test("unread is what the mind said since it was seen, and nothing that a person said", () => {
  const unread = (lines: Lines, seen: number) => chatsOf([thread("a")], about({ a: lines }, { a: seen }))[0]!.unread;
  assert.equal(unread({ last: line(40, "x") }, 39), true);
  assert.equal(unread({ last: line(40, "x") }, 40), false);
  assert.equal(unread({ last: line(40, "x", "person") }, 39), false);
  assert.equal(unread({}, 0), false);
});

test("branches stand below the one that they were made from, also in a circle and without their root", () => {
  const threads = [thread("a"), fork("late", "a", 90), fork("early", "a", 41), fork("deep", "early", 60), thread("b"), fork("lost", "gone", 5), fork("x", "y", 1), fork("y", "x", 1)];
  for (const id of ["a", "deep", "late"]) assert.deepEqual(branchTree(threads, id).map(({ thread, depth }) => [thread.id, depth]), [["a", 0], ["early", 1], ["deep", 2], ["late", 1]]);
  assert.deepEqual(branchTree(threads, "lost").map(({ thread }) => thread.id), ["lost"]);
  assert.equal(branchTree(threads, "x").length, 2);
  assert.deepEqual(branchTree(threads, "nobody"), []);
});

test("messages and replies are lines, and nothing else is", () => {
  assert.deepEqual(lineOf(event(["input", "type:message"], { text: "hello" }))?.by, "person");
  assert.deepEqual(lineOf(event(["response", "result", "tool:reply"], { text: "hello" }))?.by, "mind");
  assert.equal(lineOf(event(["input", "type:message"], { text: "", blob: "ab" }, 0, { modality: "image" }))?.text, "[image]");
  for (const tags of [["input", "type:trigger"], ["message", "from:main.bob"], ["turn", "ended"]]) assert.equal(lineOf(event(tags)), undefined);
});

test("days are named as one says them, with the year where it is another one", () => {
  const at = (day: number, hour = 12, month = 10, year = 2026) => new Date(year, month, day, hour, 5, 9).getTime();
  const today = dayOf(at(26, 9));
  assert.equal(dayOf(at(26, 0)), dayOf(at(26, 23)));
  assert.deepEqual([at(26, 0), at(25, 23), at(27, 1), at(3), at(26, 12, 10, 2025)].map((ms) => dayName(ms, today)), ["Today", "Yesterday", "Tomorrow", "3 November", "26 November 2025"]);
  assert.deepEqual([at(26, 15), at(25), at(3), at(9, 12, 4, 2025), Number.NaN].map((ms) => shortMoment(ms, today)), ["15:05", "Yesterday", "3 Nov", "9 May 2025", ""]);
  assert.deepEqual([at(26, 15), at(27, 8), at(7, 8, 11)].map((ms) => moment(ms, today)), ["today at 15:05", "tomorrow at 08:05", "7 December at 08:05"]);
  assert.equal(fullDate(new Date(at(26, 15)).toISOString()), "Thursday, 26 November 2026, 15:05:09");
  assert.equal(fullDate("no date"), "not known");
});

test("the columns of a table stand as their dashes say", () => {
  const table = (dashes: string) => markdown(`| a | b | c |\n${dashes}\n| 1 | 2 | 3 |`).flatMap((block) => (block.kind === "table" ? [block.align] : []))[0];
  assert.deepEqual(table("| :--- | ---: | :---: |"), ["left", "right", "center"]);
  assert.deepEqual(table("|---|---|---|"), ["", "", ""]);
});

test("the policy of a thread is known by how it was made, or by what became of a turn, else it is not", () => {
  const made = (policy: unknown) => event(["state", "set:thread"], { kind: "thread", key: "main", change: { settings: { policy } } });
  assert.equal(policyOf([made("reject")]), "reject");
  assert.equal(policyOf([made("steer")]), "steer");
  assert.equal(policyOf([made("nonsense")]), undefined);
  assert.equal(policyOf([event(["turn", "ended", "turn:1"], { turn: 1, outcome: "interrupted" })]), "interrupt");
  assert.equal(policyOf([event(["turn", "ended", "turn:1"], { turn: 1, outcome: "cancelled" })]), undefined);
  assert.equal(new Set([policyWords("enqueue", false), policyWords("interrupt", false), policyWords("reject", false), policyWords("enqueue", true)]).size, 4);
  assert.equal(policyWords(undefined, false), policyWords("enqueue", false));
  assert.equal(policyWords("enqueue", false, true), policyWords("steer", false));
  assert.match(policyWords("reject", false, true), /joins this turn/);
  assert.equal(policyWords("steer", true), policyWords("enqueue", true));
  assert.equal(policyWords("interrupt", true), policyWords("interrupt", false));
});

test("acts that the server would refuse are not offered, with the reason", () => {
  assert.equal(shutBy(thread("t", { status: "idle" }), true), "");
  assert.equal(shutBy(undefined, true), "", "nothing is known of a new one");
  assert.match(shutBy(thread("t", { status: "idle" }), false), /role member/);
  assert.match(shutBy(thread("t", { status: "idle", archived: true }), true), /archive/);
  assert.match(shutBy(thread("t", { status: "done", archived: true }), true), /has ended/);
  assert.match(shutBy(thread("t", { status: "idle", kind: "mission" }), true), /mission/);
});

test("a worker that a person stopped waits for a message; one that failed cannot go on", () => {
  const worker = (reason: string) => thread("w", { status: "waiting", reason, gatherings: [] });
  assert.equal(stuck(worker("its last turn was cancelled")), undefined);
  assert.equal(threadMark(worker("its last turn was cancelled")).word, "stopped");
  assert.match(waitsFor(worker("its last turn was cancelled")), /^a message/);
  assert.equal(stuck(worker("its last turn failed")), "its last turn failed");
});

test("a fact is corrected in two steps, and the words say what came of each; what is refused changes nothing", async () => {
  const calls: unknown[] = [];
  const api = (status: string, refused?: number) => ({ api: {
    rememberStatement: async (body: unknown) => (calls.push(body), { id: "new", status }),
    retractStatement: async (id: string, { reason }: { reason: string }) => {
      calls.push([id, reason]);
      if (refused) throw new ProblemError({ type: "/problems/forbidden", title: "No", status: refused, detail: "not yours" } as never);
    },
  } }) as never;
  const old = { id: "old", text: "It opens at nine.", thread: "main" };
  assert.deepEqual(await correct(api("proposed"), old, " It opens at ten. "), { words: "“It opens at nine.” is withdrawn. “It opens at ten.” is being checked, and used in answers when it has passed.", id: "new" });
  assert.deepEqual(calls, [{ statement: "It opens at ten.", thread: "main" }, ["old", "A person corrected it: It opens at ten."]]);
  assert.equal((await correct(api("surviving"), old, "It opens at ten.")).words, "“It opens at nine.” is withdrawn. “It opens at ten.” is known now, on your word.");
  assert.match((await correct(api("proposed", 403), old, "It opens at ten.")).words, /“It opens at nine.” stays until then: to withdraw it at once needs the role operator\.$/);
  assert.deepEqual(await correct(api("proposed"), old, ""), { words: "“It opens at nine.” is withdrawn, and not relied on any more.", id: undefined });
  await assert.rejects(correct(api("proposed", 403), old, ""));
});
