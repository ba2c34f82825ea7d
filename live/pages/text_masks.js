// The masks of one text, which needs no padding, and the weights of one head: in a report, and for a model that
// translates no batch.
import { attentionMap, leastWidth } from "../ui/maps.js";
import { draw, el } from "../ui/dom.js";
import { say } from "../ui/words.js";
import { mountLinked } from "../controls/atlas_links.js";
import { headLists, singleHead } from "../controls/heads.js";
import { beside, caption, heading, mount, place } from "../controls/controls.js";
import { kindsOf, largeMap, mapName, maskMap, namesOf, viewOf, weightsOf } from "../pictures/maps.js";

/** @param {Element} root @param {App} app */
export async function showTextMasks(root, app) {
  const translation = await app.ifCurrent(app.result()), { kind, layer, head } = singleHead(app);
  const kinds = kindsOf(app.info.heads);
  const { source, read } = translation;
  const width = leastWidth([...source, ...read].map(({ text }) => text), Math.max(source.length, read.length));
  draw(root, [
    caption(say(
      "A mask decides which keys (columns) a query (row) may attend to. Blue: it may attend. Grey: masked. One text "
      + "alone has no <pad>."
    )),
    beside(3, width, kinds.map((one) => el("div", {}, [heading(namesOf(one).fullName), place(`mask ${one}`)]))),
    el("div", { class: "row" }, headLists(app)),
    heading(say("Weights after the softmax"), mapName(layer, head)),
    place("weights"), el("p", { class: "like" }),
  ]);
  for (const one of kinds)
    mount(root, `mask ${one}`, attentionMap, maskData(viewOf(translation, one), one === kind ? layer : 0));
  const view = viewOf(translation, kind);
  mountLinked(root, "weights", largeMap(view, layer, head, false), app, translation, view, layer, head);
}

/** @param {MapView} view @param {number} layer */
function maskData(view, layer) {
  const { axes, queries, keys, kind } = view;
  return maskMap(
    { ...axes, queries, keys },
    weightsOf(view, layer, 0).map((weight) => (weight === -Infinity ? weight : 0)), namesOf(kind).fullName,
  );
}
