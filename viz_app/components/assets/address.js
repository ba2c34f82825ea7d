// Completes the address of the page. It draws nothing.
import { replaceQuery } from "./bridge.js";

/** @type {import("./mounting.js").Component} */
export default function address({ data }) {
  replaceQuery(data.query);
  return () => {};
}
