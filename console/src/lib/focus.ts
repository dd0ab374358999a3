// The focus goes into what opens over the page, and back to where it was when that closes.

/** For an element that takes the focus as soon as it is there. */
export function takesFocus(node: HTMLElement): () => void {
  const before = document.activeElement;
  node.focus();
  return () => {
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  };
}
