// The pages of the site in their order. A page draws itself from the choices of the visitor.
import { showCard } from "./pages/card.js";
import { showHeads } from "./pages/heads.js";
import { showInside } from "./pages/inside.js";
import { showMasks } from "./pages/masks.js";
import { showPositions } from "./pages/positions.js";
import { showSteps } from "./pages/steps.js";
import { showTranslate } from "./pages/translate.js";
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
  translate: {
    show: showTranslate,
    names: () => ({
      title: say("Translate"), instruction: say("Type a sentence, and see what every head attends to."),
    }),
  },
  steps: {
    show: showSteps,
    names: () => ({
      title: say("Step by step"),
      instruction: say("Play the translation word by word; choose another word to use it instead."),
    }),
  },
  heads: {
    show: showHeads, opening: ({ heads: text }) => text,
    names: () => ({ title: say("Heads"), instruction: say("Choose a head to silence it, and see what changes.") }),
  },
  inside: {
    show: showInside,
    names: () => ({
      title: say("One head"), instruction: say("Choose a query, and follow its numbers through one head."),
    }),
  },
  positions: {
    show: showPositions, opening: ({ order }) => order,
    names: () => ({
      title: say("Positional encoding"), instruction: say("See how the model knows the position of each word."),
    }),
  },
  masks: {
    show: showMasks, asksForText: false,
    names: () => ({ title: say("Masks"), instruction: say("Type a few sentences, and see which tokens are masked.") }),
  },
  lessons: {
    show: async (root, app) => app.course?.drawList(root), asksForText: false,
    names: () => ({ title: say("Lessons"), instruction: say("Choose a lesson: it asks, and your own run answers.") }),
  },
  checkpoints: {
    show: showCard, asksForText: false,
    names: () => ({
      title: say("Model card"), instruction: say("See what the model has read, how good it is, and what it cannot do."),
    }),
  },
};
