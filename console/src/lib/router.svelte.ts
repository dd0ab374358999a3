// Where the page is, and what a drawer shows. The address is the only memory of it.
import { kept } from "./place.ts";
import { type Route, parse } from "./route.ts";

const KEPT = kept("thinkd.place");

class Router {
  route = $state.raw<Route>(parse(location.hash));
  hash = $state(location.hash);

  start(): void {
    if (!location.hash) history.replaceState(null, "", sessionStorage.getItem(KEPT) ?? "#/t/main");
    this.#read();
    addEventListener("hashchange", () => this.#read());
  }

  /** Goes to an address; `replace`: Back does not lead to where one was. */
  go(hash: string, replace = false): void {
    if (hash === location.hash) return;
    if (replace) {
      history.replaceState(null, "", hash);
      this.#read();
    } else location.hash = hash;
  }

  #read(): void {
    this.hash = location.hash;
    this.route = parse(location.hash);
    sessionStorage.setItem(KEPT, location.hash);
  }
}

export const router = new Router();
