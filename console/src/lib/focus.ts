// The focus goes into what opens over the page, and back to where it was when that closes. It never falls out of the page: an act whose button goes away leaves it near by.

/** For an element that takes the focus as soon as it is there. */
export function takesFocus(node: HTMLElement): () => void {
  const before = document.activeElement;
  node.focus();
  return () => {
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  };
}

/** Elements that keep the focus of a part of them that is gone. */
const NEAR = "article, section, aside, form, li, dialog";
/** Elements that had the focus last: so many are known. */
const MOST = 20;

const fallen = () => !document.activeElement || document.activeElement === document.body;
const seen = (node: HTMLElement) => node.isConnected && node.checkVisibility();
const disabled = (node: HTMLElement) => (node as HTMLButtonElement).disabled === true;

/** Gives the focus to an element, also to one that the Tab key passes over. */
export function focusOn(node: HTMLElement | null | undefined): boolean {
  if (!node || !seen(node)) return false;
  if (node.tabIndex < 0 && !node.hasAttribute("tabindex")) node.tabIndex = -1;
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "nearest" });
  return true;
}

/** The box in which one writes, unless the focus would open a keyboard on the screen. */
function box(within: ParentNode): HTMLElement | null {
  return matchMedia("(hover: hover) and (pointer: fine)").matches ? within.querySelector<HTMLElement>("[data-home]") : null;
}

/** After a verdict or an answer in a talk: the focus goes to the next request that is open, else to the box. */
export function goOn(...settled: string[]): void {
  const cards = [...document.querySelectorAll<HTMLElement>(".request")];
  const done = new Set(settled.map((id) => `request-${id}`));
  const i = cards.findLastIndex(({ id }) => done.has(id));
  const open = (card: HTMLElement) => !done.has(card.id) && card.hasAttribute("data-open");
  const next = cards.slice(i + 1).find(open) ?? cards.find(open);
  if (!next || !focusOn(next)) focusOn(box(document) ?? cards[i]);
}

/** Watches the focus: when the element that has it goes away, the nearest part of the page that is left takes it, or the element that had it before. A button that is disabled for the time of its act has it again afterwards. */
export function holdFocus(): () => void {
  let last: HTMLElement | undefined;
  let path: HTMLElement[] = [];
  let before: HTMLElement[] = [];
  let due = false;
  const taken = ({ target }: FocusEvent) => {
    if (!(target instanceof HTMLElement) || target === document.body) return;
    last = target;
    path = [];
    for (let at = target.parentElement; at; at = at.parentElement) path.push(at);
    before = [...before.filter((one) => one !== target && one.isConnected), target].slice(-MOST);
  };
  // A person who clicks beside everything has left it on purpose.
  const left = ({ target, relatedTarget }: FocusEvent) => {
    if (relatedTarget === null) queueMicrotask(() => {
      if (last === target && last && seen(last) && !disabled(last) && document.hasFocus()) last = undefined;
    });
  };
  const check = () => {
    due = false;
    if (!last || !fallen()) return;
    if (seen(last)) {
      if (!disabled(last)) last.focus({ preventScroll: true });
      return;
    }
    const main = document.getElementById("main");
    const near = path.find((one) => one.matches(NEAR) && seen(one) && main?.contains(one));
    const earlier = before.findLast((one) => main?.contains(one) && one !== main && seen(one) && !disabled(one));
    last = undefined;
    if (!focusOn(near ? (box(near) ?? near) : earlier)) main?.focus({ preventScroll: true });
  };
  const watch = new MutationObserver(() => {
    if (due || !last || !fallen()) return;
    due = true;
    requestAnimationFrame(check);
  });
  watch.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled", "hidden"] });
  document.addEventListener("focusin", taken);
  document.addEventListener("focusout", left);
  return () => {
    watch.disconnect();
    document.removeEventListener("focusin", taken);
    document.removeEventListener("focusout", left);
  };
}
