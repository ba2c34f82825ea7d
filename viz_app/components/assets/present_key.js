// A switch for the key p, beside the list of all keys.
import { draw, el } from "./dom.js";
import { component } from "./mounting.js";
import { presentKeyIsOn, setPresentKey } from "./present_key_setting.js";
import { say } from "./words.js";

export const presentKey = component((root) => {
  const update = () => draw(root, [el("label", {}, [
    el("input", {
      type: "checkbox", checked: presentKeyIsOn(), onchange: ({ target }) => setPresentKey(target.checked),
    }),
    el("span", {}, say("The key p starts presenter mode")),
  ])]);
  return { update, redraw: update };
});
