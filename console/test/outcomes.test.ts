// Outcomes in a talk: requests and their ends, turns without a reply, failures, missions.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyEvent } from "../src/lib/events.ts";
import { adviceOf, causeOf, failureOf, missionBegun, settledOf, silenceOf, wordsOf, recalledIn, refusedWords } from "../src/lib/outcomes.ts";
import { ProblemError } from "../../client/src/index.ts";
import { Talk, linesOf } from "../src/lib/talk.ts";
import { turnsOf } from "../src/lib/turns.ts";
import { event } from "./events.ts";

const asked = (kind: "approval" | "question", id: string, turn = 1) =>
  kind === "approval" ? event(["approval", "pending", "tool:send"], { turn, approval_id: id, tool: "send", arguments: { to: "bob" } }) : event(["question", "user"], { turn, question_id: id, text: "Which?" });
const verdict = (word: string, id: string, payload: object = {}) => event(["approval", word, "tool:send"], { approval_id: id, tool: "send", reason: "", ...payload });
const answer = (id: string, payload: object = {}, ...tags: string[]) => event(["answer", ...tags], { question_id: id, ...payload });
const end = (turn: number, payload: object = {}) => event(["turn", "ended", `turn:${turn}`], { turn, outcome: "done", ...payload });
const start = (turn: number, batch: number[] = []) => event(["turn", "started", `turn:${turn}`], { turn, batch, submodules: [] });
const lines = (events: AnyEvent[]) => linesOf(events, turnsOf(events));
const sentence = (events: AnyEvent[], id: string, mine = false) => wordsOf(settledOf(events).get(id)!, mine);

test("requests stand at their place, and the first verdict settles them; a start of the call does not", () => {
  const [a, q] = [asked("approval", "a"), asked("question", "q")];
  const open = [start(1), a, event(["response"], { turn: 1, text: "I asked" }), q, end(1)];
  assert.deepEqual(lines(open).map(({ kind, settled }) => [kind, settled]), [["approval", undefined], ["mind", undefined], ["question", undefined]]);
  const events = [...open, verdict("granted", "a", { by: "ann" }), verdict("denied", "a", { by: "bob" }), event(["approval", "started", "tool:send"], { turn: 2, approval_id: "a" })];
  assert.equal(lines(events)[0]!.settled?.by, events[5]);
  assert.equal(sentence(events, "a")?.sentence, "ann approved it.");
  const ran = event(["result", "tool:send"], { turn: 2, approval_id: "a", text: "sent" });
  assert.equal(sentence([...events, ran], "a")?.sentence, "ann approved it. It ran.");
  assert.equal(sentence([...events, ran], "a", true)?.sentence, "You approved it. It ran.");
  const failed = event(["result", "tool:send", "failure", "tool"], { turn: 2, approval_id: "a", text: "no route" });
  assert.deepEqual([sentence([...events, failed], "a")?.sentence, sentence([...events, failed], "a")?.role], ["ann approved it. It failed: no route", "fail"]);
});

test("each end of a request has its own words, and nobody is called you who was not", () => {
  const words = (...events: AnyEvent[]) => {
    const found = sentence(events, "x");
    return `${found?.sentence} ${found?.said}`.trim();
  };
  assert.equal(words(verdict("granted", "x", { edited: true })), "Approved it, with changes.");
  assert.equal(words(verdict("denied", "x", { by: "ann", reason: "not now" })), "ann rejected it. not now");
  assert.equal(words(verdict("answered", "x", { by: "ann", reason: "done already" })), "ann answered in its place: done already");
  assert.equal(words(verdict("expired", "x")), "Nobody decided in time. It counts as rejected.");
  assert.equal(words(verdict("withdrawn", "x")), "Withdrawn: the work that asked has ended.");
  assert.equal(words(answer("x", { by: "ann", text: "olives" })), "ann answered: olives");
  assert.equal(words(answer("x", { text: "12", value: 12 })), "Answered: 12");
  assert.equal(words(answer("x", {}, "expired")), "Nobody answered in time.");
  assert.equal(words(answer("x", {}, "away")), "Not asked: the setting says that you are away.");
  assert.equal(words(answer("x", {}, "withdrawn")), "Withdrawn: the work that asked has ended.");
  assert.equal(words(event(["input", "type:message", "answer"], { question_id: "x", text: "by a message", user: "bob" })), "bob answered: by a message");
  assert.equal(sentence([event(["result", "tool:send"], { approval_id: "x" })], "x"), undefined, "a result alone is no verdict");
});

test("a turn without a reply is one line with its reason; one whose beginning is not here claims nothing", () => {
  const why = (middle: AnyEvent[], payload: object = {}) => {
    const events = [start(1), ...middle, end(1, payload)];
    const quiet = lines(events).filter(({ kind }) => kind === "quiet");
    assert.equal(quiet.length, 1);
    const { sentence, reason } = silenceOf(quiet[0]!.turn!, quiet[0]!.events[0]!);
    return `${sentence} ${reason}`.trim();
  };
  const used = (tool: string) => event(["decision", "action", `tool:${tool}`], { turn: 1, tool, call_id: tool });
  assert.equal(why([event(["decision", "no-action"], { turn: 1, text: "Nobody asked." })]), "It decided to stay silent: Nobody asked.");
  assert.equal(why([event(["decision", "no-action"], { turn: 1 })]), "It decided to stay silent, and gave no reason.");
  assert.equal(why([used("send"), asked("approval", "a")]), "No reply in this turn: it only asked for approval of send.");
  assert.equal(why([asked("question", "q"), asked("approval", "a")]), "No reply in this turn: it only asked for an answer and approval of send.");
  assert.equal(why([used("a"), used("b"), used("c"), used("d")]), "No reply in this turn: it used a, b, c and 1 more.");
  assert.equal(why([], { wait: { from: "main.bob", name: "bob", reason: "the price" } }), "No reply in this turn: it waits for bob. the price");
  assert.equal(why([], { outcome: "cancelled" }), "Stopped before there was a reply.");
  assert.equal(why([], { outcome: "interrupted" }), "A newer message stopped this turn before there was a reply.");
  assert.equal(why([]), "No reply in this turn, and it gave no reason.");
  assert.deepEqual(lines([start(1), event(["response"], { turn: 1, text: "so" }), end(1)]).map(({ kind }) => kind), ["mind"]);
  // The window begins in the middle: the reply may be before it.
  assert.deepEqual(lines([event(["decision", "thought"], { turn: 1, text: "hm" }), end(1)]), []);
  assert.deepEqual(lines([end(1, { outcome: "failed" })]).map(({ kind }) => kind), ["failed"]);
});

test("a failure says what to do next", () => {
  const advice = (payload: object) => adviceOf(event(["failure"], payload as Record<string, unknown>));
  assert.match(advice({ kind: "budget", detail: { key: "turn.max_rounds", limit: 6 } }), /turn\.max_rounds/);
  assert.match(advice({ kind: "model", retryable: true }), /Say it again/);
  assert.match(advice({ kind: "model", retryable: false }), /doctor/);
  assert.match(advice({ kind: "timeout", retryable: true }), /say it again/);
  assert.match(advice({ kind: "tool", retryable: false }), /otherwise/);
  assert.equal(adviceOf(undefined), "");
});

test("a mission is known by the call that began it, and by no text that only looks so", () => {
  const result = (text: string, ...tags: string[]) => event(["result", "tool:start_mission", ...tags], { turn: 1, text });
  assert.equal(missionBegun(result('{"mission":"missions.01ab","note":"…"}')), "missions.01ab");
  for (const text of ["", "null", "[]", '{"mission":7}', '{"mission":"main"}', '{"mission":"missions.<b>"}', "{"]) assert.equal(missionBegun(result(text)), undefined, text);
  assert.equal(missionBegun(result('{"mission":"missions.01ab"}', "failure", "tool")), undefined);
  assert.equal(missionBegun(event(["result", "tool:send"], { text: '{"mission":"missions.01ab"}' })), undefined);
});

test("a line is another object when its request is settled, and the same one while nothing comes", () => {
  const events = [start(1), asked("approval", "a"), end(1)];
  const talk = new Talk();
  const before = talk.lines(events, turnsOf(events));
  const turns = turnsOf(events);
  talk.lines(events, turns);
  const after = [...events, verdict("granted", "a")];
  const [first, second] = [talk.lines(events, turns)[0], talk.lines(after, turns)[0]];
  assert.notEqual(first, second);
  assert.equal(talk.lines(after, turns)[0], second);
  assert.equal(before.length, 2);
});

test("a verdict on a tool that has changed names the acts that there are; other refusals stay as they are", () => {
  const problem = (slug: string) => new ProblemError({ type: `/problems/${slug}`, title: "No", status: 409, detail: "reject the call, or respond to it" } as never);
  assert.match(String(refusedWords(problem("tool-changed"), "send")), /tool send is gone.*: reject it, and ask again/);
  const other = problem("already-settled");
  assert.equal(refusedWords(other, "send"), other);
});

test("the facts that a turn recalled are told once each, of the turn itself and of its tools", () => {
  const events = [event(["recall", "recalled:a", "recalled:b"], { turn: 1 }), event(["result", "tool:recall", "recalled:b", "recalled:c"], { turn: 1 })];
  assert.deepEqual(recalledIn({ events }), ["a", "b", "c"]);
});

test("lines stand as they are read: a message that waited stands where its turn began, and one that still waits last", () => {
  const said = (text: string) => event(["input", "type:message"], { text }, 0, { source: "user" });
  const reply = (turn: number, text: string) => event(["response"], { turn, text });
  const [one, first, two, three] = [said("one"), (batch: number[]) => start(1, batch), said("two"), said("three")];
  const running = [one, first([one.seq]), two, three];
  const words = (events: AnyEvent[]) => lines(events).map(({ kind, events: [at], waits, joined }) => `${kind} ${String(at!.payload.text)}${waits ? " waits" : ""}${joined ? " joined" : ""}`);
  assert.deepEqual(words(running), ["you one", "you two waits", "you three waits"]);
  const answered = [...running, reply(1, "to one")];
  assert.deepEqual(words(answered), ["you one", "mind to one", "you two waits", "you three waits"], "the reply comes before what waits behind it");
  const second = [...answered, end(1), start(2, [two.seq, three.seq])];
  assert.deepEqual(words(second), ["you one", "mind to one", "you two", "you three"]);
  assert.deepEqual(words([...second, reply(2, "to both"), end(2)]), ["you one", "mind to one", "you two", "you three", "mind to both"]);
  // One that was taken back before a turn had it stays at its place, and so does one that joined the turn at work.
  const back = event(["withdrawn"], { input: two.seq });
  assert.deepEqual(words([...running, back, reply(1, "to one")]), ["you one", "you two", "mind to one", "you three waits"]);
  const joins = event(["turn", "steered", "turn:1"], { turn: 1, round: 1, inputs: [[two.seq, two.seq]] });
  assert.deepEqual(words([...running, joins, reply(1, "to both")]), ["you one", "you two joined", "mind to both", "you three waits"]);
});

test("a reply behind a verdict or an answer says because of it, and by whom", () => {
  const words = (...[of, mine = false]: [AnyEvent, boolean?]) => {
    const cause = causeOf(of, mine);
    return cause && `${cause.words} ${cause.of}`;
  };
  assert.equal(words(verdict("granted", "x", { by: "ann" })), "because ann approved send");
  assert.equal(words(verdict("granted", "x", { by: "ann" }), true), "because you approved send");
  assert.equal(words(verdict("granted", "x")), "because a person approved send");
  assert.equal(words(verdict("denied", "x", { by: "ann" }), true), "because you rejected send");
  assert.equal(words(verdict("answered", "x", { by: "ann" })), "because ann answered in the place of send");
  assert.equal(words(verdict("expired", "x")), "because there was no verdict in time on send");
  assert.equal(words(answer("x", { text: "olives" }), true), "because you answered the question");
  assert.equal(words(answer("x", { by: "ann", text: "olives" })), "because ann answered the question");
  assert.equal(words(answer("x", {}, "expired")), "because there was no answer in time to the question");
  assert.equal(words(event(["timer"], { text: "Water the plants" })), "because of the timer Water the plants");
  assert.equal(words(event(["decision", "thought"], { text: "hm" })), undefined);
});

test("a model's failure is one plain sentence that says the next step, and the provider's own words come apart from it", () => {
  const says = (payload: Record<string, unknown>) => failureOf(event(["failure", "model", "decision"], { kind: "model", text: "model m at http://x/v1 answered 429 Too Many Requests: {…} (tried 4 times)", ...payload }));
  for (const [detail, sentence, step] of [
    [{ status: 429 }, /takes no more requests/, /Wait a moment/],
    [{ status: 401 }, /did not take the key/, /api_key/],
    [{ status: 404 }, /does not know this model/, /doctor/],
    [{ status: 503 }, /fault of its own/, /again/],
    [{ status: 400, reason: "too_long" }, /too long for the model/, /[Ss]horter/],
    [{ status: 400, reason: "filtered" }, /filter/, /other words/],
    [{ status: 400, reason: "media" }, /image or sound/, /without/],
    [{ status: 400, reason: "unsaid" }, /refused the request/, /doctor/],
    [{}, /did not answer/, /doctor/],
  ] as const) {
    const found = says({ detail });
    assert.match(found.sentence, sentence);
    assert.match(found.step, step);
    assert.doesNotMatch(found.sentence + found.step, /http|\{|429/);
    assert.match(found.raw, /^model m at/);
    assert.match(found.sentence, /[^.]\.$/);
  }
  // Words of our own stay in the sentence.
  const own = failureOf(event(["failure", "budget", "decision"], { kind: "budget", text: "the turn has used its 6 rounds", detail: { key: "turn.max_rounds" } }));
  assert.deepEqual([own.sentence, own.raw], ["The turn has used its 6 rounds.", ""]);
  assert.equal(failureOf(event(["failure"], { kind: "tool", text: "Nothing there." })).sentence, "Nothing there.");
  assert.equal(failureOf(undefined).sentence, "");
});
