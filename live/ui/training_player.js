// The heads for one sentence during a training run. Buttons and a slider go through the snapshots, and the browser
// draws them by itself. The server gets the snapshot at which the visitor stays, and the head that the visitor chooses.
import { announce, draw, el, find, singleTabStop } from "./dom.js";
import { fitGrid, gridOfHeads, headPixels, mapDrawing } from "./maps.js";
import { component } from "./mounting.js";
import { dataUrl, decodeFloats, WEIGHTS } from "./numbers.js";
import { filmButtons, playback } from "./playback.js";
import { capitalized, headName, say } from "./words.js";

const INTERVAL = 1000; // milliseconds for each snapshot
const HIGHEST = 320; // pixels of the grid of all heads

export const trainingPlayer = component((root) => {
  let data = /** @type {any} */ (null), weights, report, chosen = 0;
  let painted = /** @type {string[]} */ ([]); // the pictures of the snapshots that were shown
  let map = /** @type {ReturnType<typeof mapDrawing> | null} */ (null);
  let known = -1; // the snapshot that the server knows
  const film = playback({
    length: () => data.snapshots.length,
    interval: () => INTERVAL,
    draw: (changed) => {
      redraw();
      const { name, text } = snapshot();
      if (changed) announce(say("{snapshot}. Written:", { snapshot: name }), text, data.languages.written);
    },
    report: (index) => {
      known = index;
      report("snapshot", index);
    },
  });
  const snapshot = () => data.snapshots[film.index()];
  const last = () => data.snapshots.length - 1;
  /** The layer and the head of the large map, counted from 0. @returns {[number, number]} */
  const place = () => [Math.floor(chosen / data.heads), chosen % data.heads];

  function update(next, setTriggerValue) {
    // Another snapshot than before, which the visitor did not choose here: it comes from a link.
    const moved = next.snapshot !== data?.snapshot && next.snapshot !== known;
    [data, weights, report, chosen, known] = [
      next, decodeFloats(next.weights), setTriggerValue, next.chosen, next.snapshot,
    ];
    painted = [];
    film.set(next.snapshot, Math.min(moved ? next.snapshot : film.index(), last()));
    redraw();
  }

  function open(head) {
    chosen = head;
    redraw();
    const [layer, own] = place();
    report("open", { layer, head: own });
  }

  function controls() {
    const { name } = snapshot(), index = film.index();
    return el("div", { class: "bar" }, [
      ...filmButtons(film, last(), [say("Previous snapshot"), say("Next snapshot")], true),
      el("input", { type: "range", min: 0, max: last(), step: 1, "aria-label": say("Snapshot"), "aria-valuetext": name,
        oninput: (event) => film.show(Number(event.target.value)), value: index }),
      el("output", { "aria-live": "off", class: "snapshot" }, name),
    ]);
  }

  function written() {
    const { text, loss } = snapshot();
    return el("div", { class: "wrote" }, [
      el("span", { class: "quiet" }, say("writes")), el(
        "bdi", { lang: data.languages.written || false, title: text }, text
      ), el("span", { class: "quiet" }, loss),
    ]);
  }

  /** All heads at the snapshot that is shown, painted once. */
  function picture() {
    const index = film.index();
    painted[index] ??= dataUrl(headPixels(snapshot().tiles));
    return painted[index];
  }

  function pictures(name, label) {
    return el("div", { class: "maps", role: "figure", "aria-label": label, "data-title": label }, [
      gridOfHeads({
        ...data, picture: picture(),
        isChosen: (layer, head) => layer * data.heads + head === chosen, open: (layer, head) =>
          open(layer * data.heads + head),
      }),
      el("div", {}, [
        el("div", { class: "quiet" }, capitalized(
          say("{head}, {snapshot}: attention weights, dark 0 to bright 1.", {
            head: headName(...place()), snapshot: name,
          })
        )),
        el("div", { class: "scroll picture" }),
        el("output", { "aria-live": "off", class: "says" }),
      ]),
    ]);
  }

  function redraw() {
    const { name } = snapshot();
    const label = say("{picture}, {head}, {snapshot}", {
      picture: data.alt, head: headName(...place()), snapshot: name,
    });
    draw(root, [controls(), written(), pictures(name, label)]);
    const readout = find(root, ".says"), [rows, columns] = [data.queries.length, data.keys.length];
    fitGrid(find(root, ".sheet"), { ...data, rows, columns }, HIGHEST);
    const weight = (t, s) => weights[(film.index() * rows + t) * columns + s];
    map ??= mapDrawing(find(root, ".picture"), (sentence) => { readout.textContent = sentence; });
    map.show({ ...data, label, title: label, weight, colours: WEIGHTS });
    singleTabStop(root, ".over");
  }

  return { update, redraw, stop: film.end, picture: () => root.querySelector(".maps") };
});
