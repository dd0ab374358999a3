// The lanes of a turn as an SVG file that stands for itself.
import type { Bar, Picture } from "./lanes.ts";
import type { Role } from "./events.ts";
import { span } from "./format.ts";

/** The colours of a file: a file has no theme of its own. Read from the page by the caller. */
export type Colours = Record<Role | "ink" | "dim" | "line" | "paper" | "on", string>;

const LANE = 42;
const LABEL = 190;
const WIDTH = 1200;
const TOP = 64;

/** The lanes as one SVG file, without a reference to anything outside it. */
export function laneFile(picture: Picture, title: string, colours: Colours): string {
  const x = (t: number) => LABEL + (t / picture.width) * (WIDTH - LABEL - 20);
  const y = (lane: number) => TOP + lane * LANE;
  const height = TOP + picture.lanes.length * LANE + 16;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${xml(title)}">`,
    `<title>${xml(title)}</title>`,
    `<defs>${hatches(picture, colours)}</defs>`,
    `<rect width="${WIDTH}" height="${height}" fill="${colours.paper}"/>`,
    `<g font-family="IBM Plex Sans, system-ui, sans-serif" font-size="12">`,
    text(16, 24, title, colours.ink, 'font-size="14" font-weight="600"'),
    ...picture.ticks.map(({ t, label }) => `<path d="M${r(x(t))} ${TOP - 8}V${height - 16}" stroke="${colours.line}"/>${text(x(t), TOP - 14, label, colours.dim, 'font-size="10"')}`),
    ...picture.lanes.map((lane, i) => `<path d="M0 ${y(i + 1)}H${WIDTH}" stroke="${colours.line}"/>${text(16, y(i) + 25, lane.name, colours[lane.role])}${text(LABEL - 14, y(i) + 25, lane.status, colours.dim, 'text-anchor="end" font-size="10"')}`),
    deadline(picture, x, y, height, colours),
    ...picture.links.map((link) => `<path d="${curve(x(link.from.t), y(link.from.lane) + 21, x(link.to.t), y(link.to.lane) + 21)}" fill="none" stroke="${colours[link.role]}" stroke-width="1.4"${link.kind === "reached" || link.kind === "under" ? "" : ' stroke-dasharray="3 3"'}/>`),
    ...picture.bars.map((bar) => barFile(bar, x, y, colours)),
    ...picture.rides.map((ride) => text(x(ride.from) + 14, y(ride.lane) + 14, fit(ride.text, x(ride.to) - x(ride.from) - 14), colours.dim, 'font-size="11"')),
    ...picture.marks.map((mark) => `<circle cx="${r(x(mark.t))}" cy="${y(mark.lane) + 21}" r="5" fill="${colours[mark.role]}"><title>${xml(mark.word)}</title></circle>`),
    "</g></svg>",
  ];
  return parts.join("\n");
}

function deadline(picture: Picture, x: (t: number) => number, y: (lane: number) => number, height: number, colours: Colours): string {
  if (picture.deadline === undefined) return "";
  const at = r(x(picture.deadline));
  const foot = Math.min(y(picture.voices.first + picture.voices.count), height);
  return `<path d="M${at} ${TOP - 6}V${foot}" stroke="${colours.ink}" stroke-width="2"/>${text(Number(at), TOP - 26, `deadline ${span(picture.deadline)}`, colours.ink, 'text-anchor="middle" font-size="11" font-weight="500"')}`;
}

function barFile(bar: Bar, x: (t: number) => number, y: (lane: number) => number, colours: Colours): string {
  const [left, right] = [x(bar.from), Math.max(x(bar.to), x(bar.from) + 3)];
  const colour = colours[bar.role];
  const fill = bar.texture === "hatched" ? `url(#h-${bar.role})` : bar.texture === "dashed" ? "none" : colour;
  const opacity = bar.texture === "solid" ? 0.85 : bar.texture === "hatched" ? 1 : 0.3;
  const dash = bar.texture === "dashed" ? ' stroke-dasharray="3 3"' : "";
  const box = `<rect x="${r(left)}" y="${y(bar.lane) + 11}" width="${r(right - left)}" height="20" rx="3" fill="${fill}" fill-opacity="${opacity}" stroke="${colour}"${dash}><title>${xml(bar.word)}</title></rect>`;
  return box + text(left + 6, y(bar.lane) + 25, fit(bar.label, right - left - 10), bar.texture === "solid" ? colours.on : colours.ink, 'font-size="11"');
}

function hatches(picture: Picture, colours: Colours): string {
  const roles = new Set(picture.bars.filter((bar) => bar.texture === "hatched").map((bar) => bar.role));
  return [...roles].map((role) => `<pattern id="h-${role}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(25)"><path d="M0 0V7" stroke="${colours[role]}" stroke-width="5" stroke-opacity=".45"/></pattern>`).join("");
}

/** A line that runs along its lane and bends into the other one at the end. Coordinates of any unit. */
export function curve(x1: number, y1: number, x2: number, y2: number): string {
  const bend = Math.min(Math.abs(x2 - x1), 24);
  return `M${r(x1)} ${r(y1)}L${r(x2 - bend)} ${r(y1)}C${r(x2 - bend / 3)} ${r(y1)} ${r(x2 - bend * 0.66)} ${r(y2)} ${r(x2)} ${r(y2)}`;
}

const r = (value: number) => (Math.round(value * 100) / 100).toString();

/** What of a text fits into so many units of a file, at about six to a letter. */
function fit(words: string, room: number): string {
  const most = Math.floor(room / 6.2);
  if (most < 3) return "";
  return words.length > most ? `${words.slice(0, most - 1)}…` : words;
}

function text(x: number, y: number, words: string, fill: string, more = ""): string {
  return words ? `<text x="${r(x)}" y="${r(y)}" fill="${fill}" ${more}>${xml(words)}</text>` : "";
}

/** Text that cannot be markup in a file. Characters that XML does not know go. */
export function xml(words: string): string {
  const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return words.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "").replace(/[&<>"']/g, (c) => escapes[c]!);
}
