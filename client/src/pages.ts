// Lists page by page: the cursor of each page is taken to the next.

import type { Page } from "./schemas.js";

/** The pages of a list: `for await (const threads of pages((cursor) => client.api.listThreads({ stuck: true, ...cursor })))`. */
export async function* pages<T>(list: (cursor: { cursor?: string }) => Promise<Page<T>>): AsyncGenerator<T[]> {
  for (let cursor: { cursor?: string } = {}; ; ) {
    const { items, next } = await list(cursor);
    yield items;
    if (next === null) return;
    cursor = { cursor: next };
  }
}
