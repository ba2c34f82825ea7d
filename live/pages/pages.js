// The pages of the site in their order. A page draws itself from the choices of the visitor.
import { SHARED } from "../app/shared.js";
import { later } from "../ui/later.js";
import { say } from "../ui/words.js";
import { showAtlas } from "./atlas.js";
import { showHeads } from "./heads.js";
import { hasPlainScores, showInside } from "./inside.js";
import { showMasks } from "./masks.js";
import { showPositions } from "./positions.js";
import { showSteps } from "./steps.js";
import { showTextMasks } from "./text_masks.js";
import { showTranslate } from "./translate.js";

/** @type {Record<string, Page>} Name in a link → page. The app's pages have the same names. */
export const PAGES = {
  translate: { show: showTranslate },
  steps: { show: shownLater("steps", showSteps), fits: writes },
  heads: { show: showHeads, opening: ({ heads: text }) => text },
  atlas: { show: shownLater("atlas", showAtlas), alone: true, fits: hasAtlas, asksForText: hasTwoHeads },
  inside: { show: showInside, fits: (_site, info) => !info || hasPlainScores(info.config) },
  positions: { show: shownLater("positions", showPositions), opening: ({ order }) => order, fits: isTranslatorOfOurs },
  masks: { show: showEitherMasks, asksForText: (app) => !hasBatch(app) },
  lessons: { show: async (root, app) => app.course?.drawList(root), asksForText: () => false },
  checkpoints: { show: showModel, asksForText: () => false },
};

/** The masks of a batch, or of one text. @param {Element} root @param {App} app */
function showEitherMasks(root, app) {
  return (hasBatch(app) ? showMasks : showTextMasks)(root, app);
}

/**
 * A page whose code is loaded when it is first wanted.
 * @param {string} name Of the part. @param {Page["show"]} present @returns {Page["show"]}
 */
function shownLater(name, present) {
  return async (root, app) => {
    const show = await app.ifCurrent(later(name, present));
    await show(root, app);
  };
}

/** @param {Element} root @param {App} app */
async function showModel(root, app) {
  const own = await app.ifCurrent(app.ownModel());
  await own.show(root);
}

/** Whether a model writes a text token by token. @param {Site} site */
function writes({ task }) {
  return task === "translation" || task === "continuation";
}

/** Whether a model is a translator that Headlight trained. @param {Site} site */
function isTranslatorOfOurs({ family, task }) {
  return family === "headlight" && task === "translation";
}

/** @param {Site} site */
function hasAtlas({ atlas }) {
  return Boolean(atlas);
}

/** Whether the atlas shows two heads, which an open model draws for a sentence too. @param {App} app */
function hasTwoHeads({ choices, info }) {
  return Boolean(info && choices.atlas_second);
}

/** Whether the page about masks has a batch of sentences; a report has none. @param {App} app */
function hasBatch({ isReport, listed }) {
  return !isReport && isTranslatorOfOurs(listed);
}

/**
 * The title of a page for a model of this task, and what its visitor does there.
 * @param {string} page @param {Task} task
 */
export function namesOfPage(page, task) {
  const { title, instruction } = SHARED.pages[page], own = page === "translate" ? SHARED.tasks[task] : undefined;
  return { title: say(own?.title ?? title), instruction: say(instruction) };
}

/** What a model does, as a sentence. @param {Task} task */
export function taskSentence(task) {
  return {
    translation: say("It reads a text and writes another one, such as a translation."),
    continuation: say("It continues a text."),
    filling: say("It fills gaps in a text."),
    classification: say("It gives a text a label."),
    reading: say("It only reads a text: there are maps, and it writes nothing."),
  }[task];
}
