// What changed between two texts, line by line, and how a unified diff is read.

/** One line of a difference. */
export interface Line {
  kind: "same" | "add" | "del";
  text: string;
}

/** More lines than this on a side are not compared: everything counts as replaced. */
const MOST = 600;

/** The difference of two texts: the fewest lines taken and given. */
export function diff(before: string, after: string): Line[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  if (a.length > MOST || b.length > MOST) return [...a.map((text) => ({ kind: "del" as const, text })), ...b.map((text) => ({ kind: "add" as const, text }))];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i] === b[j] ? longest[(i + 1) * width + j + 1]! + 1 : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const out: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push({ kind: "same", text: a[(j += 1, i++)]! });
    else if (j >= b.length || (i < a.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) out.push({ kind: "del", text: a[i++]! });
    else out.push({ kind: "add", text: b[j++]! });
  }
  return out;
}

/** The lines of a unified diff. */
export function unified(text: string): Line[] {
  return text.split("\n").slice(0, 2_000).map((line) => {
    if (line.startsWith("+") && !line.startsWith("+++")) return { kind: "add", text: line.slice(1) };
    if (line.startsWith("-") && !line.startsWith("---")) return { kind: "del", text: line.slice(1) };
    return { kind: "same", text: line.replace(/^ /, "") };
  });
}
