// Where Ctrl K can go: views, threads, submodules, a seq. Best match first.

/** Something that can be gone to. */
export interface Place {
  title: string;
  kind: string;
  sign: string;
  path: string;
}

/** The places that match what was typed, best first: a word's beginning before its middle. */
export function found(places: readonly Place[], typed: string, most = 12): Place[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const score = (place: Place) => {
    const text = `${place.title} ${place.kind}`.toLowerCase();
    let sum = 0;
    for (const word of words) {
      const i = text.indexOf(word);
      if (i < 0) return -1;
      sum += i === 0 ? 3 : /[\s./_-]/.test(text[i - 1]!) ? 2 : 1;
    }
    return sum;
  };
  return places.map((place, i) => ({ place, i, score: score(place) })).filter((one) => one.score >= 0)
    .sort((a, b) => b.score - a.score || a.i - b.i).slice(0, most).map((one) => one.place);
}

/** `#8,412`, `8412`: a place in the log. */
export function seqTyped(typed: string): number | undefined {
  const digits = /^#?([\d,]{1,20})$/.exec(typed.trim())?.[1]?.replaceAll(",", "");
  return digits ? Number(digits) : undefined;
}
