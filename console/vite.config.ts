// How the console is built: one folder, names without hashes, the same bytes each time, no inline script or style.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { type Plugin, defineConfig } from "vite";
import { FIRST as EVENTS } from "./src/lib/window.ts";

const server = process.env.THINKD_URL ?? "http://127.0.0.1:2953";
const paths = ["approvals", "blobs", "events", "frameworks", "livez", "messages", "metadata", "metrics", "missions", "pipelines", "prompt-views", "questions", "readyz", "recall", "schedules", "self", "servers", "settings", "state", "submodules", "threads", "tools", "usage", "world-model"];

/** The views whose scripts are asked for beside the page's own, by the beginning of the address: those that are opened first, or stayed at. */
const FIRST: [address: string, view: string][] = [["#/log", "Log"], ["#/threads", "Threads"], ["#/inbox", "Inbox"], ["#/missions", "Missions"], ["#/live", "Live"], ["", "Chat"]];

/** Asks for the first page of the log or of a talk, as `session.history` would: its answer comes beside the scripts that draw it. `src/lib/ahead.ts` hands it over. */
const AHEAD = `try{const h=location.hash,t=/^#\\/t\\/([^/?]+)$/.exec(h),s=new URL("..",location.origin+location.pathname).href.replace(/\\/$/,""),k=sessionStorage.getItem(s===location.origin?"thinkd.token":"thinkd.token "+s),q=/^#\\/log$/.test(h)?{}:t?{thread:decodeURIComponent(t[1])}:h.length<3?{thread:"main"}:0;if(q){const u=s+"/events?"+new URLSearchParams({...q,order:"desc",limit:${EVENTS},debug:true});window.thinkdAhead={url:u,answer:fetch(u,{headers:{accept:"application/json",...(k===null?{}:{authorization:"Bearer "+k})}})};window.thinkdAhead.answer.catch(()=>0)}}catch{}`;

/** A small script that comes before all others and says which view's files are wanted: on a slow network they would wait for the page's own. */
function hurry(): Plugin {
  return {
    name: "hurry",
    enforce: "post",
    generateBundle(_, bundle) {
      const files = Object.values(bundle).flatMap((file) => (file.type === "chunk" ? [file] : []));
      const closure = (name: string, seen = new Set<string>()): Set<string> => {
        if (seen.has(name)) return seen;
        seen.add(name);
        for (const one of files.find(({ fileName }) => fileName === name)?.imports ?? []) closure(one, seen);
        return seen;
      };
      for (const [, view] of FIRST) if (!files.some(({ fileName }) => fileName === `assets/${view}.js`)) throw new Error(`the script of the view ${view} has another name`);
      const own = closure(files.find(({ isEntry }) => isEntry)?.fileName ?? "");
      const wanted = FIRST.map(([address, view]) => [address, [...closure(`assets/${view}.js`)].filter((name) => !own.has(name)).map((name) => name.replace(/^assets\//, ""))]);
      const source = `for(const[a,f]of ${JSON.stringify(wanted)})if(location.hash.startsWith(a)&&(a||!/^#\\/(?!t\\/[^/]*$)./.test(location.hash))){for(const n of f){const l=document.createElement("link");l.rel="modulepreload";l.href=new URL(n,document.currentScript.src);document.head.append(l)}break}${AHEAD}`;
      this.emitFile({ type: "asset", fileName: "assets/hurry.js", source });
    },
    transformIndexHtml: { order: "post", handler: (_, { bundle }) => (bundle ? [{ tag: "script", attrs: { src: "./assets/hurry.js" }, injectTo: "head-prepend" }] : []) },
  };
}

/** Parts that nearly each view has share one file: each file of its own costs a request. */
const SHARED = /rolldown.runtime|src\/parts\/(Because|Problem|Strip|Empty|Text|CopyId|Copy|Name|Skeleton|Time|Event|Inlines)\.svelte|src\/lib\/(live\.svelte|window|fold|days|outcomes|acted\.svelte|alike|film|lanes|picture)\.ts/;

/** Marks of missions; by its own name the file would be one with the view's where case does not count, and be given another name. */
const TASKS = /src\/lib\/missions\.ts/;

export default defineConfig(({ command }) => ({
  // What is built finds its files beside itself, below whatever path a proxy puts before it.
  base: command === "build" ? "./" : "/console/",
  plugins: [svelte({ compilerOptions: { css: "external", fragments: "tree" } }), hurry()],
  build: {
    outDir: "dist",
    target: "es2022",
    assetsInlineLimit: 0,
    // The files that a view imports are asked for together: on a slow network each step of a chain costs a round trip.
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    reportCompressedSize: false,
    rollupOptions: {
      output: { entryFileNames: "assets/[name].js", chunkFileNames: "assets/[name].js", assetFileNames: "assets/[name][extname]", codeSplitting: { groups: [{ name: "shared", test: SHARED }, { name: "tasks", test: TASKS }] } },
    },
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries([...paths.map((path) => [`/${path}`, { target: server }]), ["/ws", { target: server, ws: true }]]),
  },
}));
