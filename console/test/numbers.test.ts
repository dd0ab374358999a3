// Numbers that JavaScript would round: what is shown of a call, its schema and its result is what runs, digit by digit.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readJson, writeJson } from "../../client/src/json.ts";
import { brief } from "../src/lib/events.ts";
import { argumentsOf, fieldsOf, written } from "../src/lib/form.ts";
import { json } from "../src/lib/format.ts";
import { valueOf } from "../src/lib/kept.ts";
import { type PromptView, sectionsOf } from "../src/lib/prompt.ts";

// Of each number that a call may have: as it stands in the log.
const NUMBERS = ["9007199254740993", "-9007199254740993", "18446744073709551615", "-9223372036854775808", "123456789012345678901234567890", "1e400", "0.100000000000000005551115123126", "1.0", "-0.0", "1e16", "12"];

test("a number of a call is shown and sent back digit by digit, also where another field is edited", () => {
  for (const digits of NUMBERS) {
    for (const type of ["number", "integer", undefined]) {
      const source = `{"to":"bob","n":${digits},"deep":{"list":[[${digits}]]}}`;
      const args = readJson(source);
      const fields = fieldsOf(args, { properties: { n: { type, minimum: 0 } } });
      const shownOf = (name: string) => written(fields.find((field) => field.name === name)!, args);
      assert.equal(fields[0]!.kind, "number");
      assert.equal(shownOf("n"), digits);
      assert.match(shownOf("deep"), new RegExp(`\\s${digits.replace(".", "\\.")}\\s`));
      assert.equal(json(args), source);
      assert.match(brief(args), new RegExp(`n: ${digits.replace(".", "\\.")},`));
      const sorted = (text: string) => text.replace("anne", "bob").match(/"to":"bob"|"n":[^,}]+|"deep":\{[^}]+\}/g)?.sort();
      assert.deepEqual(sorted(writeJson(argumentsOf(fields, { to: "anne" }, args))), sorted(source));
      // The same by way of what the fields show.
      const texts = { to: "anne", deep: shownOf("deep").replace(/$/, " ") };
      assert.deepEqual(sorted(writeJson(argumentsOf(fields, texts, args))), sorted(source));
      assert.equal(writeJson(argumentsOf(fields, { n: `${digits} ` }, { to: "bob" })), `{"n":${digits},"to":"bob"}`, "as it was typed");
    }
  }
});

test("a field that was not edited stays as it was, and a number is one as JSON has it", () => {
  const args = { note: "", none: null, n: 1 };
  const fields = fieldsOf(args, { properties: { note: { type: ["string", "null"] }, none: { type: ["integer", "null"] } } });
  assert.deepEqual(argumentsOf(fields, { n: "2" }, args), { note: "", none: null, n: 2 });
  for (const wrong of ["0x10", "Infinity", "NaN", "1_0", "1e", "०", ""]) assert.throws(() => argumentsOf(fieldsOf({ n: 1 }, { required: ["n"] }), { n: wrong }, { n: 1 }), /n has to be a number/, wrong);
});

test("what was asked of a model has the numbers of its tools digit by digit", () => {
  const request = readJson('{"messages":[],"tools":[{"enum":[9007199254740993,1.0],"maximum":1e400}]}') as PromptView["request"];
  const [tools] = sectionsOf({ call: "x", exact: true, model: "m", module: "decision", purpose: "turn", thread: "main", request });
  assert.match(tools!.text, /9007199254740993,\s+1\.0\s[^]*1e400/);
});

test("a value that a blob has is read digit by digit", async () => {
  const value = await valueOf({ blob: "a", bytes: 20 }, async () => new Response('[9007199254740993]'));
  assert.equal(json(value), "[9007199254740993]");
});
