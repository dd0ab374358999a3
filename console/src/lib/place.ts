// Where the server is: what stands before `/console/` in the address of this page, whatever path a proxy put there.
import { serverOf } from "./route.ts";

/** The server of this page. */
export const place = serverOf(location.origin + location.pathname);

/** A name in the browser's storage, which all servers of this origin share. */
export const kept = (name: string) => (place === location.origin ? name : `${name} ${place}`);
