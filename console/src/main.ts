// Where the page starts.
import { mount } from "svelte";
import App from "./App.svelte";
import "./fonts.css";
import "./tokens.css";
import "./app.css";
import "./chat.css";
import { router } from "./lib/router.svelte.ts";
import { session } from "./lib/session.svelte.ts";
import { applyTheme, applyZone } from "./lib/theme.svelte.ts";

applyTheme();
applyZone();
router.start();
session.start();
// On a slow network the fonts wait for the first page of the view, which is read in those of the system meanwhile.
const FAST = 1_000;
const fonts = () => void (document.documentElement.dataset.fonts = "plex");
if (performance.now() < FAST) fonts();
else void session.shown().then(fonts);
mount(App, { target: document.getElementById("app")! });
