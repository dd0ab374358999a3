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
mount(App, { target: document.getElementById("app")! });
