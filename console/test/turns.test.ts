// A turn folded from its events, and laid out as lanes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { layout, ticks } from "../src/lib/lanes.ts";
import { type Colours, laneFile } from "../src/lib/lanefile.ts";
import { strip } from "../src/lib/picture.ts";
import { TurnFold } from "../src/lib/fold.ts";
import { begin, hasTurns, keptWord, keyOf, stateOf, stateWord, tally, took, turnsOf } from "../src/lib/turns.ts";
import { type AnyEvent, lookOf } from "../src/lib/events.ts";
import { linesOf, thoughtsOf, waiting } from "../src/lib/talk.ts";
import { call, event, moment, story } from "./events.ts";

const folded = () => turnsOf(story()).get(keyOf("main", 1))!;

test("each voice has the outcome that the log says", () => {
  const outcomes = Object.fromEntries(folded().voices.map((voice) => [voice.name, voice.outcome]));
  assert.deepEqual(outcomes, { critic: "in time", botanist: "late", frugal: "failed", warmth: "passed" });
  assert.equal(tally(folded()).late, 1);
});

test("the deadline is where the log says that it went on without a voice, not where the beginning was stored", () => {
  assert.equal(folded().deadline, moment(2510));
  const inTime = turnsOf(story().filter((one) => !JSON.stringify(one).includes("botanist") || one.meta.tags[0] === "turn"));
  // The first call began at 10 ms: the voices were asked before the beginning of the turn was stored.
  assert.equal(inTime.get(keyOf("main", 1))!.deadline, moment(10 + 2500));
});

test("tokens of which the provider did not say anything are not known, and are not 0", () => {
  assert.equal(folded().tokens.known, false);
  assert.equal(folded().tokens.input, 600);
});

test("a late voice is drawn to the deadline, and hatched behind it", () => {
  const picture = layout(folded(), moment(9_000));
  const lane = picture.lanes.findIndex((one) => one.name === "botanist");
  const bars = picture.bars.filter((bar) => bar.lane === lane);
  assert.deepEqual(bars.map((bar) => bar.texture), ["until", "hatched"]);
  assert.equal(bars[0]!.to, 2510);
  assert.equal(bars[1]!.from, 2510);
  assert.equal(bars[1]!.to, 3600);
});

test("only what was in time runs into the first round; what was late into the round that saw it", () => {
  const picture = layout(folded(), moment(9_000));
  const decision = picture.lanes.findIndex((one) => one.name === "decision");
  const reached = picture.links.filter((link) => link.kind === "reached");
  assert.equal(reached.length, 1);
  assert.equal(picture.lanes[reached[0]!.from.lane]!.name, "critic");
  assert.equal(reached[0]!.to.lane, decision);
  const late = picture.links.find((link) => link.kind === "late");
  assert.equal(late?.to.t, 3700);
});

test("a turn that is done does not grow with the clock, and one at work does", () => {
  const turn = folded();
  assert.equal(layout(turn, moment(9_000)).width, layout(turn, moment(99_000)).width);
  const open = turnsOf(story().slice(0, 5)).get(keyOf("main", 1))!;
  assert.ok(layout(open, moment(5_000)).width > layout(open, moment(3_000)).width);
  assert.ok(layout(open, moment(1_000)).now !== undefined);
});

test("what is at work is drawn before the log has a word of it", () => {
  const input = event(["input", "type:message"], { text: "hello" }, 0);
  const work = [
    { thread: "main", turn: 7, module: "", purpose: "", since: moment(10), limit: 2500 },
    { thread: "main", turn: 7, module: "submodule:critic", purpose: "turn", since: moment(12), limit: undefined },
  ];
  const turn = turnsOf([input], work).get(keyOf("main", 7))!;
  assert.equal(turn.voices[0]!.outcome, "at work");
  assert.equal(turn.deadline, moment(10 + 2500));
  assert.deepEqual(turn.inputs, [input]);
});

test("thirty-two voices have thirty-two lanes, and a strip that fits", () => {
  const names = Array.from({ length: 32 }, (_, i) => `v${i}`);
  const input = event(["input", "type:message"], { text: "x" }, 0);
  const events = [input, event(["turn", "started", "turn:1"], { turn: 1, batch: [input.seq], submodules: names }, 5), ...names.map((name, i) => event([`submodule:${name}`], { turn: 1, text: "…" }, 10 + i))];
  const picture = layout(turnsOf(events).get(keyOf("main", 1))!, moment(100));
  assert.equal(picture.voices.count, 32);
  const drawn = strip(picture, 112, 20);
  assert.ok(drawn.strokes.every((stroke) => stroke.y >= 0 && stroke.y <= 20 && stroke.x1 >= 0 && stroke.x2 <= 113));
});

test("the file of the lanes stands for itself, and markup in a text stays text", () => {
  const hostile = story().map((one) => (one.meta.tags[0] === "submodule:critic" ? { ...one, payload: { ...one.payload, text: '<script>alert(1)</script>"&' } } : one));
  const colours = new Proxy({}, { get: () => "#123456" }) as Colours;
  const file = laneFile(layout(turnsOf(hostile).get(keyOf("main", 1))!, moment(9_000)), "main <b>", colours);
  assert.ok(file.startsWith("<svg xmlns="));
  assert.ok(!file.includes("<script>"));
  assert.ok(file.includes("&lt;script&gt;"));
  assert.deepEqual([...file.matchAll(/(?:href|src|url)\s*[=(]\s*["']?([^"')]*)/g)].map((found) => found[1]).filter((target) => !target!.startsWith("#")), []);
});

test("an axis begins at 0 and names its unit once", () => {
  for (const width of [20, 900, 5_600, 61_000, 4_000_000, 999_999_999]) {
    const marks = ticks(width);
    assert.match(marks[0]!.label, /^0 (ms|s|min)$/);
    assert.ok(marks.length <= 9 && marks.slice(1).every((mark) => /^[\d.]+$/.test(mark.label)), `${width}: ${marks.map((mark) => mark.label).join(" ")}`);
  }
});

test("a talk has what was said, and the thoughts stand beside with the deadline in its place", () => {
  const events = story();
  const turns = turnsOf(events);
  assert.deepEqual(linesOf(events, turns).map((line) => line.kind), ["you", "mind"]);
  const list = thoughtsOf(turns.get(keyOf("main", 1))!, { tools: true, silence: true });
  const cut = list.findIndex((one) => one.kind === "deadline");
  assert.ok(cut > 0);
  assert.ok(list.slice(0, cut).every((one) => one.kind === "deadline" || one.event.ts <= new Date(moment(2510)).toISOString()));
  assert.ok(list.some((one) => one.kind === "passed" && one.name === "warmth"));
  assert.ok(!thoughtsOf(turns.get(keyOf("main", 1))!, { tools: false, silence: false }).some((one) => one.kind === "passed" || (one.kind === "event" && one.action)));
});

test("the parts of one message stand together, and what no turn has taken up waits", () => {
  const events = [...story(), event(["input", "type:message", "part"], { text: "look" }, 6_000), event(["input", "type:message"], { blob: "ab", mime: "image/png" }, 6_000, { modality: "image" })];
  const turns = turnsOf(events);
  assert.equal(linesOf(events, turns).at(-1)!.events.length, 2);
  assert.equal(waiting(events, turns).length, 1);
});

test("a message that joined the turn at work waits no more, and one before it does", () => {
  const past = story();
  const [first, joins] = [event(["input", "type:message"], { text: "first" }, 6_000), event(["input", "type:message", "policy:steer"], { text: "joins" }, 6_100)];
  const steered = event(["turn", "steered", "turn:1"], { turn: 1, round: 1, inputs: [[joins.seq, joins.seq]], handled: 1 }, 6_200);
  const events = [...past, first, joins, steered];
  const turns = turnsOf(events);
  assert.deepEqual(waiting(events, turns).map((one) => one.payload.text), ["first"]);
  assert.equal(turns.get(keyOf("main", 1))!.inputs.at(-1), joins);
});

test("what was taken back does not wait any more, and its line says so", () => {
  const input = event(["input", "type:message"], { text: "look" }, 6_000);
  const events = [...story(), input, event(["input", "type:message"], { text: "wait" }, 6_100), event(["withdrawn"], { input: input.seq }, 6_200)];
  const turns = turnsOf(events);
  assert.deepEqual(waiting(events, turns).map((one) => one.payload.text), ["wait"]);
  assert.deepEqual(linesOf(events, turns).slice(-2).map((line) => line.back), [true, false]);
});

test("a reply is drawn from the first piece of its round; where that is not known, over all of it", () => {
  const from = (events: ReturnType<typeof story>) => layout(turnsOf(events).get(keyOf("main", 1))!, moment(9_000)).bars.find((bar) => bar.role === "reply")!.from;
  assert.equal(from(story()), 3700);
  const noted = story().map((one) => (one.payload.round === 1 ? { ...one, payload: { ...one.payload, first_piece_ms: 1200 } } : one));
  assert.equal(from(noted), 4900);
});

test("a turn works where the server hints so, or where it began and the server does not deny it; else nobody knows", () => {
  const turn = { thread: "main", end: undefined, begun: true, hinted: false };
  assert.equal(stateOf(turn), "working");
  assert.equal(stateOf(turn, () => true), "working");
  assert.equal(stateOf(turn, () => false), "not known");
  assert.equal(stateOf({ ...turn, hinted: true }, () => false), "working");
  assert.equal(stateOf({ ...turn, begun: false }, () => true), "not known");
  assert.equal(stateOf({ ...turn, end: 1, hinted: true }, () => true), "ended");
});

test("a turn of which only the middle is here is not at work, and does not grow with the clock", () => {
  const middle = turnsOf(story().slice(2, 6)).get(keyOf("main", 1))!;
  assert.deepEqual([middle.state, stateWord(middle)], ["not known", "not known"]);
  assert.equal(took(middle, moment(99_000)), took(middle, moment(9_000)));
  assert.equal(layout(middle, moment(9_000)).now, undefined);
  assert.equal(layout(middle, moment(99_000)).width, layout(middle, moment(9_000)).width);
});

test("missions, their tasks and runs have no turns, whatever number their calls have", () => {
  for (const thread of ["missions.01", "missions.01.t6", "runs.02"]) {
    assert.equal(hasTurns(thread), false);
    const work = [{ thread, turn: 1, module: "mission:solve", purpose: "turn", since: moment(0), limit: undefined }];
    assert.equal(turnsOf([event(["debug", "call:mission:solve"], { turn: 1, module: "mission:solve" }, 5, { thread })], work).size, 0);
  }
  assert.ok(hasTurns("main") && hasTurns("missionary"));
});

test("a verdict that comes hours after the end of a turn, and the call that it lets run, leave its picture as it was", () => {
  const whole = [...story(), event(["approval", "pending", "tool:send"], { turn: 1, call_id: "c1.9.0", approval_id: "a" }, 5_300)].sort((a, b) => a.ts.localeCompare(b.ts));
  const later = [...whole, event(["approval", "granted", "tool:send"], { turn: 1, approval_id: "a" }, 9_000_000), event(["result", "tool:send"], { turn: 1, tool: "send", call_id: "c1.9.0", approval_id: "a" }, 9_000_100)];
  const width = (events: typeof whole) => layout([...turnsOf(events).values()][0]!, moment(9_100_000)).width;
  assert.equal(width(later), width(whole));
});

test("a reply says how it was kept: whole, stopped, or cut off", () => {
  const reply = (...tags: string[]) => event(["response", ...tags], { turn: 1, text: "half a" });
  assert.equal(keptWord({ outcome: "done" }, reply()), "stored whole");
  assert.equal(keptWord({ outcome: "cancelled" }, reply("partial")), "stopped, kept as far as it came");
  assert.equal(keptWord({ outcome: "failed" }, reply("partial")), "cut off, kept as far as it came");
});

test("a recall is shown as its facts, without an id and without the words that are for the model", () => {
  const recall = event(["recall", "recalled:0193a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5b"], { turn: 1, text: "Held so far, and no news:\n- The library opens at nine.\n- Clara eats no nuts. (said by Clara)" });
  const { who, text } = lookOf(recall);
  assert.deepEqual([who, text], ["facts recalled", "The library opens at nine.\nClara eats no nuts. (said by Clara)"]);
});

test("a turn takes from its message to its end, however late its beginning was stored: that comes with the first output", () => {
  const said = event(["input", "type:message"], { text: "hello" }, 0);
  const slow = [
    said,
    event(["turn", "started", "turn:1"], { turn: 1, batch: [said.seq], submodules: ["critic"], deadline_ms: 20_000 }, 7_010),
    call("submodule:critic", 7_010, 7_000),
    call("decision", 8_010, 990),
    event(["response", "result", "tool:reply"], { turn: 1, text: "yes" }, 8_010),
    event(["turn", "ended", "turn:1"], { turn: 1, outcome: "done" }, 8_010),
  ];
  const [turn] = [...turnsOf(slow).values()];
  assert.equal(took(turn!, 0), 8_010);
  // One that waited behind another turn takes from where its first call began.
  const queued = [event(["input", "type:message"], { text: "next" }, -60_000), ...slow.slice(1)];
  queued[1]!.payload.batch = [queued[0]!.seq];
  const [late] = [...turnsOf(queued).values()];
  assert.equal(begin(late!), moment(10));
});

test("a turn knows the verdict or the answer that woke it, and begins with it", () => {
  const asked = event(["approval", "pending", "tool:send"], { turn: 1, tool: "send", approval_id: "a1" }, 0);
  const verdict = event(["approval", "granted", "tool:send"], { tool: "send", approval_id: "a1", by: "admin" }, 90_000);
  const events = [asked, verdict, event(["turn", "started", "turn:2"], { turn: 2, batch: [verdict.seq], submodules: [] }, 91_000), call("decision", 91_000, 900, { turn: 2 }), event(["turn", "ended", "turn:2"], { turn: 2, outcome: "done" }, 91_000)];
  for (const turns of [turnsOf(events), new TurnFold().turns(events)]) {
    const turn = turns.get(keyOf("main", 2))!;
    assert.deepEqual(turn.woken.map(({ seq }) => seq), [verdict.seq]);
    assert.deepEqual(turn.inputs, [], "a verdict is no message");
    assert.equal(took(turn, 0), 1_000);
  }
});

test("a failure's text says submodule, whatever the server calls it", () => {
  const gone = event(["failure", "timeout", "submodule:critic"], { turn: 1, kind: "timeout", text: "the voice critic had nothing to say within 20000 ms; the decision goes on without it" });
  assert.match(lookOf(gone).text, /^the submodule critic had nothing/);
  assert.match(lookOf(event(["result", "tool:ask", "failure", "tool"], { tool: "ask", text: "there is no voice \"x\"" })).text, /no submodule/);
  assert.match(lookOf(event(["submodule:singer"], { text: "She has the voice of a bird" })).text, /the voice/, "what somebody says stays as it was said");
});

test("a call without a result is at work only while its turn is, and one that waits for a person says so", () => {
  const action = event(["decision", "action", "tool:send"], { turn: 1, tool: "send", call_id: "c1" }, 500);
  const begun = event(["turn", "started", "turn:1"], { turn: 1, batch: [], submodules: [] }, 400);
  const over = event(["turn", "ended", "turn:1"], { turn: 1, outcome: "done" }, 900);
  const words = (...events: AnyEvent[]) => layout([...turnsOf(events).values()][0]!, moment(90_000)).bars.filter(({ label }) => label === "send").map(({ word, texture }) => [word, texture]);
  assert.match(String(words(begun, action)[0]![0]), /^send, at work/);
  assert.deepEqual(words(begun, action, over), [["send, no result here, 400 ms".replace("400 ms", "0.4 s"), "dashed"]]);
  const gate = event(["approval", "pending", "tool:send"], { turn: 1, tool: "send", call_id: "c1", approval_id: "a" }, 500);
  assert.match(String(words(begun, action, gate, over)[0]![0]), /^send, waits for a person/);
});
