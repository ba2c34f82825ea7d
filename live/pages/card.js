// The model card of the checkpoint: its data with their authors, its measurements and its limits.
import { draw, find } from "../assets/dom.js";
import { say } from "../assets/words.js";
import { note, place } from "../controls.js";
import { contentOf } from "../held.js";

/**
 * @param {Element} root
 * @param {import("../app.js").App} app
 */
export async function showCard(root, app) {
  const { [app.language]: html } = await app.ifCurrent(contentOf(app.listed.card));
  draw(root, [html ? place("card", "card") : note(say("This checkpoint has no model card (README.md)."))]);
  if (html) find(root, ".part").innerHTML = html; // made from Markdown when the site was published
}
