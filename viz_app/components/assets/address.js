// Completes the address of the page. It draws nothing.
import { replaceQuery } from "./bridge.js";

/** @type {import("./mounting.js").Component} */
export function address({ data }) {
  replaceQuery(data.query);
  return () => {};
}
