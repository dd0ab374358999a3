// JSON schemas as TypeScript. Only the keywords that the server's document uses; another one stops the script.

const KNOWN = new Set(
  ("type description properties required example examples $ref format items pattern minimum maximum exclusiveMinimum minLength maxLength additionalProperties enum " +
    "oneOf allOf anyOf const maxItems minItems contentEncoding contentMediaType propertyNames default title explode uniqueItems").split(" "),
);

/** The TypeScript name of a schema: a page is generic, and an event is that of the catalogue. */
export function named(ref) {
  const name = ref.split("/").pop();
  if (name.startsWith("Page_")) return `Page<${named(name.slice(5))}>`;
  return name === "Event" ? "AnyEvent" : name;
}

/** The type of a schema. */
export function type(schema, indent = "") {
  if (schema === undefined || schema === true) return "unknown";
  if (schema === false) return "never";
  for (const key of Object.keys(schema)) if (!KNOWN.has(key)) throw new Error(`schemas.mjs does not know the keyword ${key}`);
  if (schema.$ref) return named(schema.$ref);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const several = schema.oneOf ?? schema.anyOf;
  if (several && schema.properties) return several.map((one) => object(narrowed(schema, one), indent)).join(" | ");
  if (several) return several.map((one) => wrapped(type(one, indent))).join(" | ");
  if (schema.allOf) return schema.allOf.map((one) => wrapped(type(one, indent))).join(" & ");
  if (Array.isArray(schema.type)) return schema.type.map((one) => type({ ...schema, type: one }, indent)).join(" | ");
  switch (schema.type) {
    case "string": return "string";
    case "integer":
    case "number": return "number";
    case "boolean": return "boolean";
    case "null": return "null";
    case "array": return `${wrapped(type(schema.items, indent))}[]`;
    case "object": return object(schema, indent);
    default: return "unknown";
  }
}

const wrapped = (text) => (/^[^{]*[|&]/.test(text) ? `(${text})` : text);

function object(schema, indent) {
  const deeper = `${indent}  `;
  if (!schema.properties) {
    const values = typeof schema.additionalProperties === "object" ? type(schema.additionalProperties, deeper) : "unknown";
    return `Record<string, ${values}>`;
  }
  const required = new Set(schema.required);
  const lines = Object.entries(schema.properties).map(([name, member]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return `${comment(member.description, deeper)}${deeper}${key}${required.has(name) ? "" : "?"}: ${type(member, deeper)};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

/** An object with what one of its alternatives says more of its members. */
function narrowed(schema, one) {
  const properties = { ...schema.properties };
  for (const [name, says] of Object.entries(one.properties ?? {})) {
    const known = properties[name] ?? {};
    // What has to be absent needs no words; a constant or a choice takes the place of what is known, and keeps its words.
    if (says.type === "null") properties[name] = { type: "null" };
    else if ("const" in says || says.oneOf) properties[name] = { ...says, description: known.description };
    else properties[name] = { ...known, ...says };
  }
  return { ...schema, properties, required: [...(schema.required ?? []), ...(one.required ?? [])] };
}

/** A description as a comment. */
export function comment(text, indent = "") {
  return text ? `${indent}/** ${text.replaceAll("*/", "*\\/").replaceAll(/\s*\n\s*/g, " ")} */\n` : "";
}

/** All schemas of the document. */
export function interfaces(openapi) {
  const written = Object.entries(openapi.components.schemas)
    .filter(([name]) => name !== "Event" && !name.startsWith("Page_"))
    .map(([name, schema]) => `${comment(schema.description)}export type ${name} = ${type(schema)};\n`);
  return [
    'import type { AnyEvent } from "./events.js";\n',
    "/** A page of a list. */\nexport interface Page<T> {\n  items: T[];\n  /** The cursor of the next page; null on the last one. */\n  next: string | null;\n}\n",
    ...written,
  ].join("\n");
}
