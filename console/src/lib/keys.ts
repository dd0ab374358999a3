// The keyboard: which key does what. A view adds its own; none fires while a text field has the focus, Esc and Ctrl K aside.

/** Does something, and says whether it was its to do. */
export type Act = (event: KeyboardEvent) => boolean | void;

const stack: Record<string, Act>[] = [];
let pending = "";
let pendingAt = 0;

/** How long the first of two keys counts. */
const PAUSE = 1_000;

/** Adds keys, such as `j`, `Escape` or `g c`, above those that are there; the function that comes back removes them. */
export function bind(keys: Record<string, Act>): () => void {
  stack.push(keys);
  return () => {
    const i = stack.indexOf(keys);
    if (i >= 0) stack.splice(i, 1);
  };
}

/** Whether somebody is typing there. */
export function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && (target as HTMLInputElement).type !== "checkbox";
}

/** The name of the key pressed: `Ctrl k`, `g c`, `?`. */
export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey">): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return event.ctrlKey || event.metaKey ? `Ctrl ${key}` : key;
}

/** Handles a key that was pressed anywhere in the page. */
export function press(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey) return;
  const name = nameOf(event);
  if (typing(event.target) && name !== "Escape" && name !== "Ctrl k") return;
  const now = event.timeStamp;
  const pair = pending && now - pendingAt < PAUSE ? `${pending} ${name}` : "";
  pending = "";
  for (const wanted of pair ? [pair, name] : [name]) {
    for (let i = stack.length - 1; i >= 0; i -= 1) {
      const act = stack[i]![wanted];
      if (!act || act(event) === false) continue;
      event.preventDefault();
      return;
    }
  }
  if (stack.some((keys) => Object.keys(keys).some((known) => known.startsWith(`${name} `)))) {
    pending = name;
    pendingAt = now;
  }
}
