/** All heads of one kind of attention as one image, with a button over each.
 * `lit(layer, head)` says which are chosen, `open(layer, head)` is called for one that is pressed. */
function sheetOfHeads({ layers, heads, picture, lit, open }) {
  const within = (area) => `grid-area:${area}`;
  const cells = Array.from({ length: layers * heads }, (_, i) => {
    const [layer, head] = [Math.floor(i / heads), i % heads], on = lit(layer, head), name = `layer ${layer + 1}, head ${head + 1}`;
    return el("button", {
      type: "button", class: `over${on ? " lit" : ""}`, "aria-pressed": String(on), "aria-label": name, title: name,
      onclick: () => open(layer, head), style: within(`${layer + 1} / ${head + 2}`),
    }, "");
  });
  const name = (text, area) => el("span", { class: "quiet name", style: within(area) }, text);
  const numbers = (count, area) => Array.from({ length: count }, (_, i) => name(String(i + 1), area(i)));
  return el("div", { class: "sheet", style: `grid-template:repeat(${layers}, 1fr) auto / auto repeat(${heads}, minmax(0, 1fr))` }, [
    el("img", { src: picture, alt: "", style: within(`1 / 2 / ${layers + 1} / ${heads + 2}`) }),
    ...cells,
    name("layer 1", "1 / 1"),
    ...numbers(layers, (i) => `${i + 1} / 1`).slice(1),
    name("head", `${layers + 1} / 1`), // a column may be as narrow as its number
    ...numbers(heads, (i) => `${layers + 1} / ${i + 2}`),
  ]);
}

/** Give a sheet of heads, each with `rows` and `columns` of cells, a height: cells are squares where `tallest` pixels allow. */
function fitSheet(sheet, { layers, heads, rows, columns, tallest }) {
  const square = ((sheet.clientWidth / heads) * rows) / columns;
  sheet.style.height = `${Math.min(tallest, Math.max(44, square) * layers) + 30}px`;
}

/** Pixels from the top of an element to the end of the window, at the page's own scroll position 0. */
function roomBelow(element) {
  const zoom = Number(getComputedStyle(element).getPropertyValue("--hl-zoom")) || 1;
  const scrolled = element.getRootNode().host?.closest("[data-testid=stMain]")?.scrollTop ?? 0;
  return (innerHeight - element.getBoundingClientRect().top - scrolled) / zoom;
}
