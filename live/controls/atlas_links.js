// Links from a head and from a cell of its map to the atlas, where the checkpoint has one.
import { tokenClasses } from "../engine/atlas/token_classes.js";
import { KINDS } from "../engine/trace.js";
import { draw, el, find } from "../ui/dom.js";
import { attentionMap } from "../ui/maps.js";
import { isolated, say } from "../ui/words.js";
import { mount } from "./controls.js";

/**
 * A link to a head in the atlas; none for an aggregate, or without an atlas.
 * @param {App} app @param {{ kind: string, layer: number, head: any }} head
 * @param {string} [label] @param {string} [like] The classes of two tokens, as the choice `atlas_like` has them.
 * @returns {Described[]}
 */
export function atlasLink(app, head, label = say("In the atlas"), like = "") {
  if (!app.listed.atlas || typeof head.head !== "number") return [];
  const atlas_head = `${head.kind}.${head.layer + 1}.${head.head + 1}`;
  const href = app.linkTo("atlas", { atlas_head, atlas_second: "", atlas_like: like });
  return [el("a", { class: "to-atlas", href }, label)];
}

/**
 * A cell of a map, and a link to places of the head whose tokens have the same classes; in self-attention, at the same
 * distance.
 * @param {App} app @param {{ kind: string, layer: number, head: any }} head @param {Result} result
 * @param {Cell} cell Of the whole map. @returns {Described[]}
 */
export function placesLike(app, head, result, [row, key]) {
  const { queries, keys } = KINDS[head.kind], classOf = (side, i) => tokenClasses(result[side])[i];
  const distance = head.kind === "cross" ? "" : `@${key - row}`;
  const like = `${classOf(queries, row)}>${classOf(keys, key)}${distance}`;
  const link = atlasLink(app, head, say("Places like this in the atlas"), like);
  const tokens = `${isolated(result[queries][row].text)} → ${isolated(result[keys][key].text)}: `;
  return link.length ? [el("span", {}, tokens), ...link] : [];
}

/**
 * Draw a large map whose cells can be chosen where there is an atlas: the line below the map leads to places like it.
 * @param {Element} root Of the page, with an element of the class "like". @param {string} name Of the place.
 * @param {any} data Of the map. @param {App} app @param {Result} result @param {MapView} view @param {number} layer
 * @param {any} head
 */
export function mountLinked(root, name, data, app, result, view, layer, head) {
  const line = find(root, ".like"), shown = { kind: view.kind, layer, head };
  const choosable = atlasLink(app, shown).length > 0;
  mount(root, name, attentionMap, { ...data, choosable }, (_, [t, s]) => {
    draw(line, placesLike(app, shown, result, [view.rows[t], view.columns[s]]));
  });
  draw(line, choosable ? [el("span", {}, say("Choose a cell to find places like it in the atlas."))] : []);
}
