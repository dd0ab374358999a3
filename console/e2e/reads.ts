// Faults that a person sees in a page and a picture does not tell: names cut, texts over each other, times that wrap, boxes beyond the edge, ids in the place of titles, signs without a word.
import type { Page } from "playwright-core";

/** The faults of the page as it stands, in words. */
export function faults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    interface Piece { element: Element; text: string; box: DOMRect; seen: DOMRect }
    const found: string[] = [];
    const say = (what: string, { element, text }: Pick<Piece, "element" | "text">) => found.push(`${what}: “${text.trim().slice(0, 60)}” in ${element.closest("[class]")?.className.toString().slice(0, 40) ?? element.tagName}`);
    const meet = (a: DOMRect, b: DOMRect) => new DOMRect(Math.max(a.left, b.left), Math.max(a.top, b.top), Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)), Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)));
    /** The part of a box that is not clipped by what is around it. */
    const seenOf = (element: Element, box: DOMRect) => {
      let seen = meet(box, new DOMRect(0, 0, innerWidth, innerHeight));
      for (let at: Element | null = element; at; at = at.parentElement) if (getComputedStyle(at).overflow !== "visible" || getComputedStyle(at).clipPath !== "none") seen = meet(seen, at.getBoundingClientRect());
      return seen;
    };
    const pieces: Piece[] = [];
    const walk = document.createTreeWalker(document.querySelector(".app")!, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const element = node.parentElement!;
      const text = node.textContent ?? "";
      if (!text.trim() || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || element.closest(".vh, .sprite, .skip, option, noscript, textarea")) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) if (box.width > 1 && box.height > 1) pieces.push({ element, text, box, seen: seenOf(element, box) });
    }
    const visible = pieces.filter(({ seen }) => seen.width > 1 && seen.height > 2);

    // Nothing lies beyond the right edge, scrolled to or not; drawings scroll in their own frame.
    for (const piece of pieces) if (piece.box.right > innerWidth + 1 && !piece.element.closest(".graph, pre, .lanes, .axis, .ell, .reason, .wide-cell, .fold") && piece.box.top < innerHeight && piece.seen.width < piece.box.width - 2) say("beyond the right edge", piece);
    for (const box of document.querySelectorAll(".app :is(button, a.btn, input, select, textarea, .tag)")) {
      const { right, width } = box.getBoundingClientRect();
      if (width > 0 && right > innerWidth + 1 && box.checkVisibility() && !box.closest(".graph, .lanes")) say("beyond the right edge", { element: box, text: box.textContent || box.getAttribute("aria-label") || "" });
    }

    // Names are whole: no part of one is clipped sideways, and none has shrunk to nothing.
    for (const name of document.querySelectorAll(".t td:first-child a, .t td:first-child bdi, .drawer h2 bdi, .card .ti bdi, h1, .task-card b")) {
      if (!name.checkVisibility() || !name.textContent?.trim()) continue;
      const mine = pieces.filter(({ element }) => name.contains(element));
      if (mine.length === 0 && name.getBoundingClientRect().top < innerHeight) say("a name is not there", { element: name, text: name.textContent });
      for (const { box, element, text } of mine) {
        const clips = [];
        for (let at: Element | null = element; at && at !== document.body; at = at.parentElement) if (/hidden|clip|auto|scroll/.test(getComputedStyle(at).overflowX)) clips.push(at.getBoundingClientRect());
        const cut = Math.max(0, ...clips.map(({ right }) => box.right - right));
        if (cut > 2 && box.width - cut < Math.min(box.width, 160)) say("a name is cut", { element, text });
      }
    }

    // No text lies on another one.
    const flat = visible.filter(({ element }) => !element.closest(".lanes, .axis, svg, .tabbar, .log-pill, .over-all, .graph, th, .drawer > header"));
    const rows = flat.sort((a, b) => a.seen.top - b.seen.top);
    for (let i = 0; i < rows.length && found.length < 40; i += 1) {
      for (let j = i + 1; j < rows.length && rows[j]!.seen.top < rows[i]!.seen.bottom - 3; j += 1) {
        const [a, b] = [rows[i]!, rows[j]!];
        const both = meet(a.seen, b.seen);
        // A drawer lies over the page where there is no room beside it.
        if (a.element !== b.element && a.element.closest(".drawer") === b.element.closest(".drawer") && both.width > 3 && both.height > 4) say(`over “${b.text.trim().slice(0, 30)}”`, a);
      }
    }

    // A time stands in one line, is not cut, and its title has the date.
    for (const time of document.querySelectorAll("time, .tm")) {
      if (!time.checkVisibility() || !time.textContent?.trim()) continue;
      const mine = visible.filter(({ element }) => element === time || time.contains(element));
      if (mine.length === 0) continue;
      if (mine.length > 1) say("a time wraps", { element: time, text: time.textContent });
      for (const one of mine) if (one.seen.width < one.box.width - 1 && one.box.right < innerWidth) say("a time is cut", one);
      if (!/\d/.test(time.getAttribute("title") ?? time.closest("[title]")?.getAttribute("title") ?? "")) say("a time without its date", { element: time, text: time.textContent });
    }
    for (const { element, text } of visible) if (/\b\d{4}-\d\d-\d\d \d\d:\d\d\b/.test(text) && !element.closest("pre, .tx, .say, .said")) say("a time as machines write it", { element, text });

    // A sign stands beside a word: nobody has to know a legend. Buttons with a sign alone have a name, and the marks of the timeline stand on named lanes.
    for (const sign of document.querySelectorAll<SVGElement>(".app svg.ic")) {
      if (!sign.checkVisibility() || sign.closest("button[aria-label], .lanes .pt")) continue;
      let words = "";
      for (let at = sign.parentElement, depth = 0; at && depth < 4 && !words; at = at.parentElement, depth += 1) words = at.innerText.trim();
      if (!words) say("a sign without a word", { element: sign, text: sign.innerHTML });
    }

    // Things go by their titles.
    for (const { element, text } of visible) if (/[0-9a-f]{24,}|[0-9a-f]{8}-[0-9a-f]{4}-7/.test(text) && !element.closest("pre, code, .hash, .tx, .say, .said, .kv, [data-varies]")) say("an id in the place of a title", { element, text });
    return [...new Set(found)].slice(0, 25);
  });
}
