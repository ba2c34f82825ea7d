// The invisible parts of a page as one component, because each mounted component costs the browser time at every
// change. A part is updated only if its data or the words have changed, and ends if it gets no data any more.
import { draw, el } from "./dom.js";
import { component } from "./mounting.js";

/**
 * One component of several parts.
 * @param {Record<string, import("./mounting.js").Component>} parts Name → component. The data have the same names.
 * @returns {import("./mounting.js").Component}
 */
export function combined(parts) {
  return component((root) => {
    const places = {}, latest = {}, ends = {};

    function addPlace() {
      const parent = document.createElement("div");
      draw(parent, [el("div", { class: "root" })]);
      root.append(parent);
      return parent;
    }

    function end(name) {
      ends[name]?.();
      delete ends[name];
      delete latest[name];
    }

    function give(name, data, text) {
      latest[name] = text;
      places[name] ??= addPlace();
      try {
        ends[name] = parts[name]({ data, parentElement: places[name], setTriggerValue: () => {} });
      } catch (error) {
        reportError(error); // the other parts still work
      }
    }

    function update(data) {
      for (const name of Object.keys(parts)) {
        const text = JSON.stringify([data[name], data.words]);
        if (data[name] === undefined) end(name);
        else if (text !== latest[name]) give(name, data[name], text);
      }
    }

    return { update, redraw: () => {}, stop: () => Object.keys(parts).forEach(end) };
  });
}
