// Many buttons that are one stop of the Tab key.

/** Arrow key → the direction, to the right and down. @type {Record<string, [number, number]>} */
export const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Of these rectangles, the nearest one in a direction; -1 if there is none.
 * @param {{ x: number, y: number, width: number, height: number }} from
 * @param {[number, number]} direction To the right and down.
 * @param {{ x: number, y: number, width: number, height: number }[]} others
 */
export function nearestIn(from, [right, down], others) {
  const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
  const [x, y] = middle(from);
  let nearest = -1, shortest = Number.POSITIVE_INFINITY;
  others.forEach((other, i) => {
    const [dx, dy] = [middle(other)[0] - x, middle(other)[1] - y], along = dx * right + dy * down;
    const distance = along > 1 ? along + 4 * Math.abs(dx * down + dy * right) : Number.POSITIVE_INFINITY;
    if (distance < shortest) [nearest, shortest] = [i, distance];
  });
  return nearest;
}

/**
 * Make all elements that match a selector one tab stop: arrow keys move to the nearest one in their direction, Home and
 * End to the first and the last. Call it after each drawing.
 * @param {any} root
 * @param {string} selector
 */
export function singleTabStop(root, selector) {
  const all = () => [...root.querySelectorAll(selector)];
  const makeStop = (one) => { for (const other of all()) other.tabIndex = other === one ? 0 : -1; };
  const stops = all().filter((one) => one.tabIndex === 0);
  if (stops.length !== 1) makeStop(all().find((one) => one === root.getRootNode().activeElement) ?? all()[0]);
  if (root.dataset.tabStop) return;
  root.dataset.tabStop = "single";
  root.addEventListener("focusin", ({ target }) => { if (target.matches(selector)) makeStop(target); });
  root.onkeydown = (event) => {
    const from = event.target.closest?.(selector), direction = ARROWS[event.key];
    if (!from || (!direction && event.key !== "Home" && event.key !== "End")) return;
    event.preventDefault();
    event.stopPropagation();
    if (!direction) return all().at(event.key === "Home" ? 0 : -1).focus();
    const elements = all();
    elements[nearestIn(
      from.getBoundingClientRect(), direction, elements.map((one) => one.getBoundingClientRect())
    )]?.focus();
  };
}
