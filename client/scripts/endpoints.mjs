// The operations of an OpenAPI document as methods of one class: path parameters first, then the body, then the query.

import { comment, named, type } from "./schemas.mjs";

const camel = (id) => id.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase());
const json = (content) => content?.["application/json"];

function query(parameters) {
  const members = parameters.filter((one) => one.in === "query");
  if (members.length === 0) return undefined;
  const lines = members.map((one) => `${comment(one.description, "    ")}    ${one.name}${one.required ? "" : "?"}: ${type(one.schema, "    ")};\n`);
  return { text: `{\n${lines.join("")}  }`, required: members.some((one) => one.required) };
}

function answer(operation) {
  const [, ok] = Object.entries(operation.responses).find(([status]) => status.startsWith("2"));
  if (!ok.content) return { type: "void", as: "nothing" };
  const kinds = Object.keys(ok.content);
  if (kinds.length === 1 && json(ok.content)) return { type: type(json(ok.content).schema, "  "), as: "json" };
  return { type: "Response", as: "response" };
}

function method(path, verb, operation) {
  const parameters = operation.parameters ?? [];
  const inPath = parameters.filter((one) => one.in === "path").map((one) => one.name);
  const asked = query(parameters);
  const body = operation.requestBody && (json(operation.requestBody.content) ? type(json(operation.requestBody.content).schema, "  ") : "BodyInit");
  const result = answer(operation);
  const optional = asked && !asked.required ? " = {}" : "";
  const args = [
    ...inPath.map((name) => `${name}: string`),
    ...(body ? [`body${operation.requestBody.required ? "" : "?"}: ${body}`] : []),
    ...(asked ? [`query: ${asked.text}${optional}`] : []),
    "options: Options = {}",
  ];
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => `\${encodeURIComponent(${name})}`);
  const members = [body ? "body" : "", asked ? "query" : "", "...options"].filter(Boolean).join(", ");
  return (
    `${comment(operation.summary, "  ")}  ${camel(operation.operationId)}(${args.join(", ")}): Promise<${result.type}> {\n` +
    `    return this.#request("${verb.toUpperCase()}", \`${address}\`, "${result.as}", { ${members} }) as Promise<${result.type}>;\n  }\n`
  );
}

/** The class with all operations. */
export function endpoints(openapi) {
  const used = new Set();
  const methods = Object.entries(openapi.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => {
      const text = method(path, verb, operation);
      for (const [, name] of JSON.stringify(operation).matchAll(/"#\/components\/schemas\/(\w+)"/g)) for (const one of named(name).split(/[<>]/)) if (one) used.add(one);
      return text;
    }),
  );
  const text = methods.join("\n");
  const names = [...used].filter((name) => name !== "AnyEvent" && new RegExp(`\\b${name}\\b`).test(text)).sort();
  return [
    'import type { AnyEvent } from "./events.js";',
    'import type { Options, Request } from "./http.js";',
    `import type { ${names.join(", ")} } from "./schemas.js";`,
    "",
    "/** Every documented operation of the server's HTTP API, under its documented name. */",
    "export class Api {",
    "  readonly #request: Request;",
    "",
    "  constructor(request: Request) {",
    "    this.#request = request;",
    "  }",
    "",
    `${text}}`,
    "",
  ].join("\n");
}
