// The pages of the site in their order. A page draws itself from the choices of the visitor.
import { show as translate } from "./pages/translate.js";
import { say } from "./assets/words.js";

/**
 * @typedef {object} Page
 * @property {() => { title: string, instruction: string }} names
 * @property {(root: Element, app: import("./app.js").App) => Promise<void>} show
 * @property {(site: import("./session.js").Site) => string} [opening] The sentence until the visitor types one.
 * @property {boolean} [asksForText]
 */

/** @type {Record<string, Page>} Name in a link → page. The app's pages have the same names. */
export const PAGES = {
  translate: { show: translate, names: () => ({ title: say("Translate"), instruction: say("Type a sentence, and see what every head attends to.") }) },
};
