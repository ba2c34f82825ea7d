// The pages of the site in their order. A page draws itself from the choices of the visitor.
import { contentOf } from "../app/held.js";
import { SHARED } from "../app/shared.js";
import { note, place } from "../controls/controls.js";
import { draw, find } from "../ui/dom.js";
import { say } from "../ui/words.js";
import { showHeads } from "./heads.js";
import { showInside } from "./inside.js";
import { showMasks } from "./masks.js";
import { showPositions } from "./positions.js";
import { showSteps } from "./steps.js";
import { showTranslate } from "./translate.js";

/** @type {Record<string, Page>} Name in a link → page. The app's pages have the same names. */
export const PAGES = {
  translate: { show: showTranslate },
  steps: { show: showSteps },
  heads: { show: showHeads, opening: ({ heads: text }) => text },
  inside: { show: showInside },
  positions: { show: showPositions, opening: ({ order }) => order },
  masks: { show: showMasks, asksForText: false },
  lessons: { show: async (root, app) => app.course?.drawList(root), asksForText: false },
  checkpoints: { show: showCard, asksForText: false },
};

/** The title of a page, and what its visitor does there. @param {string} page */
export function namesOfPage(page) {
  const { title, instruction } = SHARED.pages[page];
  return { title: say(title), instruction: say(instruction) };
}

/**
 * The model card of the checkpoint: its data with their authors, its measurements and its limits.
 * @param {Element} root @param {App} app
 */
async function showCard(root, app) {
  const { [app.language]: html } = await app.ifCurrent(contentOf(app.listed.card));
  draw(root, [html ? place("card", "card") : note(say("This checkpoint has no model card (README.md)."))]);
  if (html) find(root, ".part").innerHTML = html; // made from Markdown when the site was published
}
