// The pages of the site in their order. A page draws itself from the choices of the visitor.
import { show as heads } from "./pages/heads.js";
import { show as inside } from "./pages/inside.js";
import { show as masks } from "./pages/masks.js";
import { show as positions } from "./pages/positions.js";
import { show as steps } from "./pages/steps.js";
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
  steps: { show: steps, names: () => ({ title: say("Step by step"), instruction: say("Play the translation word by word; choose another word to use it instead.") }) },
  heads: { show: heads, opening: ({ heads: text }) => text, names: () => ({ title: say("Heads"), instruction: say("Choose a head to silence it, and see what changes.") }) },
  inside: { show: inside, names: () => ({ title: say("One head"), instruction: say("Choose a query, and follow its numbers through one head.") }) },
  positions: { show: positions, opening: ({ order }) => order, names: () => ({ title: say("Positional encoding"), instruction: say("See how the model knows the position of each word.") }) },
  masks: { show: masks, asksForText: false, names: () => ({ title: say("Masks"), instruction: say("Type a few sentences, and see which tokens are masked.") }) },
};
