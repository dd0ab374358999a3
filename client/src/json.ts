// JSON without rounding: every number is read so that it can be shown and sent back digit by digit.

/** A JSON number that no JavaScript number is, such as 9007199254740993 or 1e400: its digits, as they were written. */
export class Exact {
  readonly digits: string;

  constructor(digits: string) {
    if (!NUMBER.test(digits)) throw new SyntaxError(`${JSON.stringify(digits)} is no JSON number`);
    this.digits = digits;
  }

  toString(): string {
    return this.digits;
  }

  /** Under `JSON.stringify`, which rounds: the digits where it can be told to leave them alone, elsewhere a text of them. `writeJson` always has the number. */
  toJSON(): unknown {
    return (JSON as { rawJSON?: (text: string) => unknown }).rawJSON?.(this.digits) ?? this.digits;
  }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Whether a text may have a number that JavaScript would write in another way: a long one, an exponent, a last zero, a minus zero. */
const SUSPECT = /(?:^|[[:,\s])-?(?:\d[\d.]{15}|\d[\d.]*[eE]|\d+\.\d*0(?!\d)|0+(?<=-0)(?![.\d]))/;

/** How numbers were written that JavaScript holds and writes otherwise, as 1.0 and 1e16, by the object or array that they are in. */
const written = new WeakMap<object, Map<string, string>>();

/** Reads JSON as `JSON.parse` does. A number that JavaScript would round becomes an `Exact`. */
export function readJson(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  return SUSPECT.test(text) ? new Reader(text).value() : plain;
}

/** Writes JSON as `JSON.stringify` does, each number that was read and not changed as it was written. A `bigint` is its digits. */
export function writeJson(value: unknown, indent = 0): string {
  return write({ "": value }, "", " ".repeat(indent), "\n") ?? "null";
}

/** A member or item; a number that was written in another way than JavaScript writes it is an `Exact`. */
export function asWritten(of: unknown, name: string | number): unknown {
  if (typeof of !== "object" || of === null || !Object.hasOwn(of, name)) return undefined;
  const value = (of as Record<string, unknown>)[name];
  if (typeof value !== "number") return value;
  const digits = written.get(of)?.get(String(name));
  if (digits !== undefined && Object.is(Number(digits), value)) return new Exact(digits);
  return Object.is(value, -0) ? new Exact("-0") : value;
}

/** The number of these digits: one of JavaScript where it is the same number, else an `Exact`. */
function numberOf(digits: string): number | Exact {
  const number = Number(digits);
  return Number.isFinite(number) && decimal(String(number)) === decimal(digits) ? number : new Exact(digits);
}

/** A number as digits without zeros around them, and the power of ten behind the last: the same for each way to write it. */
function decimal(text: string): string {
  const [, whole = "", behind = "", power = "0"] = /^-?(\d+)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const all = (whole + behind).replace(/^0+/, "");
  const digits = all.replace(/0+$/, "");
  const sign = text.startsWith("-") ? "-" : "";
  return digits ? `${sign}${digits}e${BigInt(power) - BigInt(behind.length) + BigInt(all.length - digits.length)}` : "0";
}

/** Reads a text that is known to be JSON. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    const sign = this.#sign();
    if (sign === "{" || sign === "[") return this.#many(sign);
    const from = this.#at;
    if (sign === '"') this.#at = end(this.#text, from);
    else while (this.#at < this.#text.length && !",]} \t\n\r".includes(this.#text[this.#at]!)) this.#at += 1;
    const word = this.#text.slice(from, this.#at);
    return NUMBER.test(word) ? numberOf(word) : JSON.parse(word);
  }

  #many(sign: "{" | "["): unknown {
    const entries: [string, unknown][] = [];
    const digits = new Map<string, string>();
    this.#at += 1;
    while (!"]}".includes(this.#sign())) {
      const name = sign === "{" ? String(this.value()) : String(entries.length);
      if (":" === this.#sign()) this.#at += 1;
      this.#sign();
      const from = this.#at;
      const value = this.value();
      entries.push([name, value]);
      digits.delete(name);
      const word = typeof value === "number" && this.#text.slice(from, this.#at);
      if (word && word !== String(value)) digits.set(name, word);
      if ("," === this.#sign()) this.#at += 1;
    }
    this.#at += 1;
    // As JSON.parse does: a member `__proto__` is one, and of two of one name the last counts.
    const all = sign === "{" ? Object.fromEntries(entries) : entries.map(([, value]) => value);
    if (digits.size > 0) written.set(all, digits);
    return all;
  }

  /** The next character that is no blank. */
  #sign(): string {
    while (" \t\n\r".includes(this.#text[this.#at]!)) this.#at += 1;
    return this.#text[this.#at]!;
  }
}

/** Returns the end of a string that begins here. */
function end(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); ; at = text.indexOf('"', at + 1)) {
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return at + 1;
  }
}

function write(of: object, name: string | number, step: string, margin: string): string | undefined {
  let value = asWritten(of, name);
  if (value instanceof Exact) return value.digits;
  if (typeof value === "bigint") return String(value);
  const { toJSON } = (value ?? {}) as { toJSON?: unknown };
  if (typeof toJSON === "function") value = toJSON.call(value, String(name)) as unknown;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = value;
  const below = step && margin + step;
  const parts = Array.isArray(inner)
    ? Array.from(inner, (_, at) => write(inner, at, step, below) ?? "null")
    : Object.keys(inner).flatMap((key) => {
        const text = write(inner, key, step, below);
        return text === undefined ? [] : [`${JSON.stringify(key)}:${step && " "}${text}`];
      });
  const [open, close] = Array.isArray(inner) ? "[]" : "{}";
  return parts.length === 0 ? `${open}${close}` : `${open}${below}${parts.join(`,${below}`)}${step && margin}${close}`;
}
