// Links from a head and from a cell of its map to the atlas, where the checkpoint has one.
import { tokenClasses } from "../engine/text/token_classes.js";
import { KINDS } from "../engine/trace.js";
import { draw, el, find } from "../ui/dom.js";
import { isolated, say } from "../ui/words.js";
import { onCell } from "./controls.js";

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
  return [el("a", { class: "atlas", href }, label)];
}

/**
 * Let the visitor choose a cell of a map: the line below the map links to places of the head whose tokens have the same
 * classes.
 * @param {Element} root Of the page, with an element of the class "like" below the map.
 * @param {App} app
 * @param {{ result: Result, view: MapView, layer: number, head: any }} shown
 */
export function linkCells(root, app, { result, view, layer, head }) {
  const { kind } = view, line = find(root, ".like"), sides = [KINDS[kind].queries, KINDS[kind].keys];
  const hasAtlas = atlasLink(app, { kind, layer, head }).length > 0;
  onCell(line.previousElementSibling, hasAtlas && (([t, s]) => {
    if (view.weight(layer, head, t, s) === -Infinity) return;
    const at = [view.rows[t], view.columns[s]], [row, key] = sides.map((side, i) => tokenClasses(result[side])[at[i]]);
    const like = `${row}>${key}${kind === "cross" ? "" : `@${at[1] - at[0]}`}`;
    draw(line, [
      el("span", {}, `${isolated(view.queries[t])} → ${isolated(view.keys[s])}: `),
      ...atlasLink(app, { kind, layer, head }, say("Places like this in the atlas"), like),
    ]);
  }));
  draw(line, hasAtlas ? [el("span", {}, say("Choose a cell to find places like it in the atlas."))] : []);
}
