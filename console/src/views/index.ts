// The views that are loaded when they are first opened. One that is not here is not in the console.
import type { Component } from "svelte";

type View = () => Promise<{ default: Component }>;

export const views: Record<string, View> = {
  chat: () => import("./Chat.svelte"),
  live: () => import("./Live.svelte"),
  inbox: () => import("./Inbox.svelte"),
  log: () => import("./Log.svelte"),
  threads: () => import("./Threads.svelte"),
  pipelines: () => import("./Pipelines.svelte"),
  voices: () => import("./Voices.svelte"),
  missions: () => import("./Missions.svelte"),
  world: () => import("./World.svelte"),
  usage: () => import("./Usage.svelte"),
  call: () => import("./Call.svelte"),
  help: () => import("./Help.svelte"),
};
