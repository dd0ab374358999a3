// Days and moments in words, as a talk writes them.
import { inZone } from "./format.ts";

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const two = (value: number) => String(value).padStart(2, "0");

/** A moment in the zone that times are shown in: the one place that knows it. */
function partsOf(ms: number) {
  const date = inZone(ms);
  return { year: date.getFullYear(), month: date.getMonth(), day: date.getDate(), week: date.getDay(), clock: `${two(date.getHours())}:${two(date.getMinutes())}`, seconds: two(date.getSeconds()) };
}

/** The number of the day of a moment: the same of all moments of a day, one more of the next. */
export function dayOf(ms: number): number {
  const { year, month, day } = partsOf(ms);
  return Math.round(Date.UTC(year, month, day) / 86_400_000);
}

/** "Today", "Yesterday", "Tomorrow", "26 November", "26 November 2025": a day seen from the day number `today`. */
export function dayName(ms: number, today: number): string {
  const near = dayOf(ms) - today;
  if (near === 0) return "Today";
  if (near === -1) return "Yesterday";
  if (near === 1) return "Tomorrow";
  const { year, month, day } = partsOf(ms);
  return `${day} ${MONTHS[month]}${year === new Date(today * 86_400_000).getUTCFullYear() ? "" : ` ${year}`}`;
}

/** "15:17" of today, "Yesterday", else "26 Nov", "26 Nov 2025". */
export function shortMoment(ms: number, today: number): string {
  if (Number.isNaN(ms)) return "";
  if (dayOf(ms) === today) return partsOf(ms).clock;
  return dayName(ms, today).replace(/^(\d+ \p{L}{3})\p{L}*/u, "$1");
}

/** "today at 15:17", "tomorrow at 08:22", "7 December at 08:22". */
export function moment(ms: number, today: number): string {
  return `${dayName(ms, today).replace(/^[TY]/, (letter) => letter.toLowerCase())} at ${partsOf(ms).clock}`;
}

/** "Thursday, 26 November 2026, 15:17:12", for a title. */
export function fullDate(ts: string): string {
  const ms = Date.parse(ts);
  if (Number.isNaN(ms)) return "not known";
  const { year, month, day, week, clock, seconds } = partsOf(ms);
  return `${DAYS[week]}, ${day} ${MONTHS[month]} ${year}, ${clock}:${seconds}`;
}
