// A switch for the key p, beside the list of all keys; what was chosen stays in this browser.
export default function ({ parentElement }) {
  const view = mounted(parentElement, keyChoice);
  view.update();
  return view.close;
}

function keyChoice(root) {
  const update = () => draw(root, [el("label", {}, [
    el("input", { type: "checkbox", checked: keyPresents(), onchange: ({ target }) => letKeyPresent(target.checked) }),
    el("span", {}, "The key p presents"),
  ])]);
  return { update, redraw: update };
}
