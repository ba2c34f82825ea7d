// A switch for every head. The component reports clicks, and the server decides their effect. While the page runs, the
// server receives only the latest of several events. So each event carries all clicks that are not counted yet.
import { buttonRows, draw, el, singleTabStop } from "./dom.js";
import { component } from "./mounting.js";
import { say } from "./words.js";

/** The state of a head. @type {Record<string, () => string>} */
const STATES = { on: () => say("on"), off: () => say("silenced"), uniform: () => say("uniform") };
const SIGNS = { on: "", off: "✕", uniform: "≡" };

/**
 * The clicks that the server has not counted yet.
 * @param {Clicks} clicks
 * @param {{ board?: string, clicks?: number }} counted The board that the server knows, and how many of its clicks.
 * @returns {Clicks}
 */
export function uncounted(clicks, { board, clicks: count = 0 }) {
  if (board !== clicks.board) return clicks;
  return { ...clicks, first: count, places: clicks.places.slice(count - clicks.first) };
}

export const headSwitches = component((root) => {
  /** @type {Clicks} */
  let clicks = { board: `${Date.now()}-${Math.random()}`, first: 0, places: [] }; // the name tells boards apart
  let data, report;

  function click(kind, layer, head) {
    clicks.places.push([kind, layer, head]);
    report("clicks", clicks);
  }

  function button({ kind, name }, layer, head, state, face) {
    const known = { layer: layer + 1, head: head + 1, state: STATES[state]() };
    const label = face
      ? say("layer {layer}, head {head}: {state}; {note}", { ...known, note: face.note })
      : say("layer {layer}, head {head}: {state}", known);
    return el("button", {
      type: "button", role: "switch", "aria-checked": String(state === "on"), class: `head ${state}`,
      title: label, "aria-label": say(
        "{kind}, {head}", { kind: name, head: label }
      ), onclick: () => click(kind, layer, head),
      style: face && `background:${face.colour};color:${face.ink}`,
    }, (SIGNS[state] || (face?.decides ? "≠" : "")) + (head + 1));
  }

  function redraw() {
    const digits = Math.max(...data.boards.map(({ states }) => String(states[0]?.length ?? 1).length));
    draw(root, [el("div", { class: "boards", style: `--digits:${digits}` }, data.boards.map((board) => el("div", {}, [
      el("div", { class: "quiet" }, board.title),
      el("div", { class: "scroll tall" }, [buttonRows(board.states.map((row, layer) => [
        say("layer {layer}", { layer: layer + 1 }), row
          .map((state, head) => button(board, layer, head, state, board.faces[layer]?.[head])),
      ]))]),
    ])))]);
    singleTabStop(root, ".switches button");
  }

  function update(next, setTriggerValue) {
    [data, report] = [next, setTriggerValue];
    clicks = uncounted(clicks, data.counted);
    redraw();
  }

  return { update, redraw };
});
