// Pairs of conditions: rows in which each value of each factor meets each value of each other one at least once. The same rows each time.

/** Factors, each with its values. */
export type Factors = Record<string, readonly string[]>;

/** One row: a value of each factor. */
export type Row = Record<string, string>;

/** The rows. Values in `dear` stand only where a pair needs them. */
export function rowsOf(factors: Factors, dear: ReadonlySet<string> = new Set()): Row[] {
  const names = Object.keys(factors);
  const open = new Set<string>();
  const pair = (a: string, x: string, b: string, y: string) => [a, x, b, y].join("\t");
  names.forEach((a, i) => names.slice(i + 1).forEach((b) => factors[a]!.forEach((x) => factors[b]!.forEach((y) => open.add(pair(a, x, b, y))))));
  const won = (row: Row, name: string, value: string) => names.filter((other) => other in row && other !== name).reduce((sum, other) => {
    const [a, b] = names.indexOf(name) < names.indexOf(other) ? [name, other] : [other, name];
    return sum + Number(open.has(a === name ? pair(a, value, b, row[b]!) : pair(a, row[a]!, b, value)));
  }, 0);
  const rows: Row[] = [];
  while (open.size > 0) {
    const [first] = open;
    const [a, x, b, y] = first!.split("\t") as [string, string, string, string];
    const row: Row = { [a]: x, [b]: y };
    for (const name of names) {
      if (name in row) continue;
      // Of values that win the same the one that was used least is taken, and a dear one only if it wins something.
      const used = (value: string) => rows.filter((one) => one[name] === value).length + (dear.has(value) ? 1e6 : 0);
      const best = [...factors[name]!].sort((x, y) => won(row, name, y) - won(row, name, x) || used(x) - used(y))[0]!;
      row[name] = best;
    }
    names.forEach((a, i) => names.slice(i + 1).forEach((b) => open.delete(pair(a, row[a]!, b, row[b]!))));
    rows.push(row);
  }
  return rows;
}
