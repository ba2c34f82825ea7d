// The changes inside the model, as the text that a link and a run have. The form is that of `Intervention.code` in
// model/interventions.py, such as `off.cross.3.1-2~paint.encoder.1.4.2.3.0.75`. Numbers in it count from 1.
import { KINDS } from "./trace.js";

const KIND = Object.keys(KINDS).join("|"), COUNTED = "[1-9]\\d{0,4}";
const HEADS = new RegExp(`^(off|uniform)\\.(${KIND})\\.(${COUNTED})\\.(${COUNTED}(?:-${COUNTED})*)$`);
const CELL = new RegExp(
  `^paint\\.(${KIND})\\.(${COUNTED})\\.(${COUNTED})\\.(${COUNTED})\\.(${COUNTED})\\.(1|0(?:\\.\\d{1,6})?)$`
);

/** @returns {Changes} */
export function noChanges() {
  return { ablated: [], uniform: [], painted: [], positions: true };
}

/** @param {string} text @returns {Changes | null} null if a part of the text makes no sense. */
export function readChanges(text) {
  const changes = noChanges();
  for (const part of text ? text.split("~") : []) {
    const heads = part.match(HEADS), cell = part.match(CELL);
    if (heads) {
      const [, word, kind, layer, numbers] = heads;
      const named = [...new Set(numbers.split("-"))]
        .map((number) => ({ kind, layer: Number(layer) - 1, head: Number(number) - 1 }));
      changes[word === "off" ? "ablated" : "uniform"].push(...named);
    } else if (cell) {
      const [layer, head, query, key] = cell.slice(2, 6).map((number) => Number(number) - 1);
      changes.painted.push({ kind: cell[1], layer, head, query, key, weight: Number(cell[6]) });
    } else if (part === "nopositions") changes.positions = false;
    else return null;
  }
  const rows = changes.painted.map((cell) => [cell.kind, cell.layer, cell.head, cell.query].join());
  return new Set(rows).size === rows.length ? changes : null; // at most one painted weight in a row
}

/** @param {Changes} changes */
export function writeChanges({ ablated, uniform, painted, positions }) {
  const named = /** @type {[string, Head[]][]} */ ([["off", ablated], ["uniform", uniform]]);
  const parts = named.flatMap(([word, heads]) => {
    /** @type {Map<string, number[]>} */
    const byLayer = new Map();
    for (const { kind, layer, head } of inOrderOfHeads(heads))
      byLayer.set(`${kind}.${layer + 1}`, [...(byLayer.get(`${kind}.${layer + 1}`) ?? []), head + 1]);
    return [...byLayer].map(([place, numbers]) => `${word}.${place}.${numbers.join("-")}`);
  });
  const cells = inOrderOfHeads(painted).map(({ kind, layer, head, query, key, weight }) =>
    `paint.${kind}.${layer + 1}.${head + 1}.${query + 1}.${key + 1}.${Number(weight.toFixed(6))}`);
  return [...parts, ...cells, ...(positions ? [] : ["nopositions"])].join("~");
}

/** Every head of a model. @param {Record<string, number[]>} heads Kind → layers and heads. @returns {Head[]} */
export function everyHead(heads) {
  return Object.keys(KINDS).flatMap((kind) => {
    const [layers, count] = heads[kind] ?? [0, 0];
    return Array.from({ length: layers * count }, (_, i) => ({ kind, layer: Math.floor(i / count), head: i % count }));
  });
}

/** @template {Head} H @param {H[]} heads */
export function inOrderOfHeads(heads) {
  return [...heads].sort((a, b) => a.kind.localeCompare(b.kind) || a.layer - b.layer || a.head - b.head);
}

/** Whether two describe the same head. @param {Head} a @param {Head} b */
export function sameHead(a, b) {
  return a.kind === b.kind && a.layer === b.layer && a.head === b.head;
}

/**
 * Silence a head or make it uniform; a second time undoes it.
 * @param {Changes} changes @param {Head} head @param {"ablated" | "uniform"} how
 */
export function toggled(changes, head, how) {
  const other = how === "ablated" ? "uniform" : "ablated";
  const without = (heads) => heads.filter((one) => !sameHead(one, head));
  const present = changes[how].some((one) => sameHead(one, head));
  return {
    ...changes, [how]: present ? without(changes[how]) : [...changes[how], head], [other]: without(changes[other])
  };
}

/**
 * The changes to heads that a model has.
 * @param {Changes} changes
 * @param {Record<string, number[]>} sizes Kind → layers and heads.
 */
export function within(changes, sizes) {
  const known = ({ kind, layer, head }) => layer < (sizes[kind]?.[0] ?? 0) && head < sizes[kind][1];
  const [ablated, uniform, painted] = [changes.ablated, changes.uniform, changes.painted]
    .map((heads) => heads.filter(known));
  return { ...changes, ablated, uniform, painted: /** @type {PaintedCell[]} */ (painted) };
}
