// Where the page starts.
import { mount } from "svelte";
import App from "./App.svelte";
import "./fonts.css";
import "./tokens.css";
import "./app.css";
import "./chat.css";
import { router } from "./lib/router.svelte.ts";
import { session } from "./lib/session.svelte.ts";
import { views } from "./views/index.ts";
import { FIRST } from "./lib/window.ts";
import { applyTheme, applyZone } from "./lib/theme.svelte.ts";

applyTheme();
applyZone();
router.start();
session.start();
// The first page of a talk and of the log is asked for beside the script of its view; the other scripts of every day come after it.
const { view, parts: [first], query } = router.route;
if (view === "log" && first === undefined && Object.keys(query).length === 0) session.early({ debug: true }, { order: "desc", limit: FIRST });
if (view === "chat" && query.at === undefined) session.early({ thread: first ?? "main", debug: true }, { order: "desc", limit: FIRST });
void session.shown().then(() => views.chat?.());
// On a slow network the fonts wait for the first page of the view, which is read in those of the system meanwhile.
const FAST = 1_000;
const fonts = () => void (document.documentElement.dataset.fonts = "plex");
if (performance.now() < FAST) fonts();
else void session.shown().then(fonts);
mount(App, { target: document.getElementById("app")! });
