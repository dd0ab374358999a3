// Lists of the server that come in pages.

type List<T> = (cursor: { cursor?: string }) => Promise<{ items: T[]; next?: string | null }>;

/** All pages of a list, up to so many. */
export async function all<T>(list: List<T>, most: number): Promise<T[]> {
  return (await pages(list, most)).items;
}

/** The same, and whether there are more. */
export async function pages<T>(list: List<T>, most: number): Promise<{ items: T[]; more: boolean }> {
  const items: T[] = [];
  let cursor: { cursor?: string } = {};
  for (let page = 0; page < most; page += 1) {
    const { items: more, next } = await list(cursor);
    items.push(...more);
    if (!next) return { items, more: false };
    cursor = { cursor: next };
  }
  return { items, more: true };
}
