// How the console is built: one folder, names without hashes, the same bytes each time, no inline script or style.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

const server = process.env.THINKD_URL ?? "http://127.0.0.1:2953";
const paths = ["approvals", "blobs", "events", "frameworks", "livez", "messages", "metadata", "metrics", "missions", "pipelines", "prompt-views", "questions", "readyz", "recall", "schedules", "self", "servers", "settings", "state", "submodules", "threads", "tools", "usage", "world-model"];

export default defineConfig(({ command }) => ({
  // What is built finds its files beside itself, below whatever path a proxy puts before it.
  base: command === "build" ? "./" : "/console/",
  plugins: [svelte({ compilerOptions: { css: "external", fragments: "tree" } })],
  build: {
    outDir: "dist",
    target: "es2022",
    assetsInlineLimit: 0,
    // The files that a view imports are asked for together: on a slow network each step of a chain costs a round trip.
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    reportCompressedSize: false,
    rollupOptions: {
      output: { entryFileNames: "assets/[name].js", chunkFileNames: "assets/[name].js", assetFileNames: "assets/[name][extname]" },
    },
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries([...paths.map((path) => [`/${path}`, { target: server }]), ["/ws", { target: server, ws: true }]]),
  },
}));
