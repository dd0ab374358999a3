// Dark, light, or as the system has it; and the switches that a user sets for this browser. No token and no text is kept.
import { useUtc } from "./format.ts";

const KEY = "thinkd.settings";

interface Settings {
  theme: "system" | "dark" | "light";
  zone: "local" | "UTC";
  thoughts: boolean;
  tools: boolean;
  silence: boolean;
  /** New chats get a title of the ordinary model, after their first reply. */
  titles: boolean;
}

function kept(): Settings {
  const plain: Settings = { theme: "system", zone: "local", thoughts: true, tools: true, silence: false, titles: false };
  try {
    return { ...plain, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>) };
  } catch {
    return plain;
  }
}

export const settings = $state(kept());

/** Keeps the switches. */
export function keep(): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // Storage is full or forbidden: the switches last as long as the page.
  }
}

export function applyTheme(): void {
  if (settings.theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = settings.theme;
}

export const applyZone = () => useUtc(settings.zone === "UTC");

/** Local time and UTC in turn. */
export function nextZone(): void {
  settings.zone = settings.zone === "UTC" ? "local" : "UTC";
  applyZone();
  keep();
}

/** System, dark, light, and round again. */
export function nextTheme(): void {
  settings.theme = settings.theme === "system" ? "dark" : settings.theme === "dark" ? "light" : "system";
  applyTheme();
  keep();
}
