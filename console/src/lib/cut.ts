// Text that has no room shows its beginning; the whole is in the title of its element, as soon as one points at it or comes to it by the keyboard.

/** Gives each element that cuts its text the whole of it as a title, until the function that comes back is called. */
export function titleCuts(): () => void {
  const look = ({ target }: Event) => {
    let at = target instanceof Element ? target : null;
    for (let depth = 0; at instanceof HTMLElement && depth < 4; depth += 1, at = at.parentElement) {
      if (at.scrollWidth <= at.clientWidth + 1 || at.closest("[title]:not([data-cut])") || getComputedStyle(at).textOverflow !== "ellipsis") continue;
      at.title = at.textContent?.replace(/\s+/g, " ").trim().slice(0, 1_000) ?? "";
      at.dataset.cut = "";
      return;
    }
  };
  document.addEventListener("mouseover", look);
  document.addEventListener("focusin", look);
  return () => {
    document.removeEventListener("mouseover", look);
    document.removeEventListener("focusin", look);
  };
}
