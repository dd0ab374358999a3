// A form for a tool's arguments: its fields from the schema where there is one, else from the arguments, and back into arguments.
import { Exact, asWritten, readJson, writeJson } from "../../../client/src/json.ts";

/** One field. `json`: what no simple field holds is edited as JSON. */
export interface Field {
  name: string;
  kind: "text" | "long" | "number" | "boolean" | "choice" | "json";
  choices: string[];
  about: string;
  required: boolean;
  nullable: boolean;
}

type Schema = Record<string, unknown>;

const object = (value: unknown): Schema => (typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact) ? (value as Schema) : {});

/** The fields of a call. */
export function fieldsOf(args: unknown, schema: unknown): Field[] {
  const properties = object(object(schema).properties);
  const required = Array.isArray(object(schema).required) ? (object(schema).required as unknown[]) : [];
  const names = [...new Set([...Object.keys(properties), ...Object.keys(object(args))])];
  return names.map((name) => field(name, object(properties[name]), object(args)[name], required.includes(name)));
}

function field(name: string, schema: Schema, value: unknown, required: boolean): Field {
  const types = Array.isArray(schema.type) ? schema.type.map(String) : [String(schema.type ?? (value instanceof Exact ? "number" : typeof value))];
  const choices = Array.isArray(schema.enum) ? schema.enum.filter((one) => typeof one === "string").map(String) : [];
  const about = typeof schema.description === "string" ? schema.description : "";
  return { name, kind: kindOf(types, choices, value), choices, about, required, nullable: types.includes("null") || value === null };
}

function kindOf(types: string[], choices: string[], value: unknown): Field["kind"] {
  if (choices.length > 0 && (value === null || value === undefined || typeof value === "string")) return "choice";
  if (value !== null && typeof value === "object" && !(value instanceof Exact)) return "json";
  if (types.includes("boolean")) return "boolean";
  if (types.includes("number") || types.includes("integer")) return "number";
  if (types.includes("string")) return typeof value === "string" && (value.length > 60 || value.includes("\n")) ? "long" : "text";
  return "json";
}

/** What a field shows of these arguments, numbers digit by digit. */
export function written(field: Field, args: unknown): string {
  const value = asWritten(args, field.name);
  if (value === null || value === undefined) return "";
  return field.kind === "json" ? writeJson(value, 2) : String(value);
}

/** What a field's text means; throws with words for the reader when it means nothing. */
export function read(field: Field, text: string): unknown {
  if (text === "" && field.nullable) return null;
  if (text === "" && !field.required && field.kind !== "text" && field.kind !== "long") return undefined;
  if (field.kind === "boolean") return text === "true";
  if (field.kind !== "number" && field.kind !== "json") return text;
  const wrong = new Error(`${field.name} has to be ${field.kind === "number" ? "a number, as 12 or 0.5" : "JSON"}`);
  try {
    if (field.kind === "json") return readJson(text);
    const digits = new Exact(text.trim());
    return String(Number(digits)) === String(digits) ? Number(digits) : digits;
  } catch {
    throw wrong;
  }
}

/** The arguments of a whole form: what was changed as it was typed, all else as it was proposed. Members that mean nothing are not there. */
export function argumentsOf(fields: Field[], texts: Record<string, string | undefined>, proposed: unknown = {}): Record<string, unknown> {
  const value = (field: Field) => {
    const text = texts[field.name];
    const kept = text === undefined || text === written(field, proposed);
    return kept && Object.hasOwn(object(proposed), field.name) ? asWritten(proposed, field.name) : read(field, text ?? "");
  };
  return Object.fromEntries(fields.map((field) => [field.name, value(field)]).filter(([, value]) => value !== undefined));
}

/** Most fields of a form; what has more is written as JSON. */
const FIELDS = 12;

/** The fields of an answer that a schema asks for: of a flat object its members, of a single value one field without a name; absent: it asks for more than a form holds. */
export function answerFields(schema: unknown): Field[] | undefined {
  const { type, properties } = object(schema);
  if (type !== "object") {
    const one = answerField("", schema, true);
    return one && [one];
  }
  const required = Array.isArray(object(schema).required) ? (object(schema).required as unknown[]) : [];
  const fields = Object.entries(object(properties)).map(([name, member]) => answerField(name, member, required.includes(name)));
  return fields.length > 0 && fields.length <= FIELDS && fields.every((field) => field !== undefined) ? fields : undefined;
}

function answerField(name: string, schema: unknown, required: boolean): Field | undefined {
  const { type, enum: values, title, description } = object(schema);
  const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== "null").map(String);
  const texts = Array.isArray(values) && values.length > 0 && values.every((one) => typeof one === "string");
  const kind = texts ? "choice" : values !== undefined || types.length !== 1 ? undefined : ({ string: "text", number: "number", integer: "number", boolean: "boolean" } as const)[types[0]!];
  if (kind === undefined) return undefined;
  const about = [title, description].filter((one) => typeof one === "string" && one !== "").join(": ");
  return { name, kind, choices: texts ? values.map(String) : [], about, required, nullable: false };
}

/** An answer out of the texts of its form; throws with words for the reader where one is missing or means nothing. */
export function answerOf(fields: readonly Field[], texts: Readonly<Record<string, string>>): unknown {
  const written = (field: Field) => (texts[field.name] ?? "").trim();
  const missing = fields.find((field) => field.required && written(field) === "");
  if (missing) throw new Error(`${missing.name || "The answer"} is missing.`);
  const value = (field: Field) => (written(field) === "" ? undefined : read(field, written(field)));
  const [only] = fields;
  if (fields.length === 1 && only!.name === "") return value(only!);
  return Object.fromEntries(fields.map((field) => [field.name, value(field)]).filter(([, one]) => one !== undefined));
}
