// One head: one query from its vector to the head's output. Each step is computed again from recorded tensors, beside
// the model's own numbers.
import { list, mount, note, place, slider, table, toggle } from "../controls/controls.js";
import { placesLike } from "../controls/atlas_links.js";
import { headLists, singleHead } from "../controls/heads.js";
import { writtenText } from "../controls/tokens.js";
import { hookName, KINDS } from "../engine/trace.js";
import { mapName, namesOf } from "../pictures/maps.js";
import { derivation } from "../ui/derivation.js";
import { draw, el } from "../ui/dom.js";
import { levelOf, times } from "../ui/numbers.js";
import { decimal, say } from "../ui/words.js";

const ROUNDING = 1e-4;

/** @param {Element} root @param {App} app */
export async function showInside(root, app) {
  const { choices, info } = app;
  if (!hasPlainScores(info.config)) {
    draw(root, [
      note(say(
        "This model does not compute scaled dot products, so this page cannot follow its heads. Choose another "
        + "checkpoint."
      )),
    ]);
    return;
  }
  const row = await app.ifCurrent(chosenRow(app, (record) => app.result({ record })));
  const { kind, layer, head, query, queries, keys, translation } = row;
  const scaled = choices.scaled !== "false";
  const temperature = Math.min(Math.max(Number(choices.head_temperature ?? 1), 0.1), 5);
  const parts = rowPartsOf(translation.recorded, row), derived = derive(parts, { scaled, temperature });
  const agrees = derived.difference < ROUNDING, divisor = (scaled ? Math.sqrt(parts.query.length) : 1) * temperature;
  draw(root, [
    writtenText(translation, "small"),
    el("div", { class: "row" }, [
      ...headLists(app),
      list(
        say("Query: {what}", { what: namesOf(kind).query }),
        queries.map((text, i) => [String(i), `${i + 1} · ${text}`]), String(query),
        app.set("query"),
      ),
      toggle(
        say("Divide by √d_k"), scaled, app.set("scaled"),
        say("Without the division, the softmax becomes much sharper."),
      ),
      slider(
        say("Temperature of the softmax; the model uses 1"), { min: 0.1, max: 5, step: 0.1 }, temperature,
        app.set("head_temperature"),
      ),
    ]),
    el(
      "p", { class: agrees ? "caption agrees" : "caption differs", role: "status" },
      agreement(derived.difference, scaled && temperature === 1),
    ),
    place("steps"),
    el("p", { class: "like" }, placesLike(app, row, translation, [query, placeOfLargest(derived.shares)])),
    table(say("Numbers"), () => numbers(keys, parts, derived, divisor), app),
  ]);
  mount(root, "steps", derivation, {
    steps: steps(parts, derived, { keys, divisor }), code: [], alt: mapName(layer, head),
    title: `${namesOf(kind).fullName}, ${mapName(layer, head)}, ${queries[query]}`,
  });
}

/** Whether the scores of a model are q · k / √d_k and nothing else. @param {Sizes} config */
export function hasPlainScores(config) {
  const { architecture, attention, positional, score_cap, attention_sinks: sinks, scale_by_layer: byLayer } = config;
  const width = config.head_width ?? config.d_model / config.num_heads, scale = config.score_scale ?? width ** -0.5;
  return attention === "scaled_dot_product" && architecture !== "recurrent" && !score_cap && !sinks && !byLayer
    && !["alibi", "relative"].includes(positional) && Math.abs(scale * Math.sqrt(width) - 1) < 1e-6;
}

function agreement(difference, asTrained) {
  const number = difference.toPrecision(2);
  if (difference < ROUNDING)
    return say(
      "The numbers on this page agree with the model's. The largest difference is {number}. It is only rounding.",
      { number },
    );
  if (!asTrained) return say("This is a what-if. Its numbers differ from the model's by up to {number}.", { number });
  return say(
    "The numbers on this page differ from the model's by up to {number}. The model computes something that this page "
    + "does not show.",
    { number },
  );
}

/** The place of the largest number, 0 if none is a number. @param {number[]} numbers */
function placeOfLargest(numbers) {
  return Math.max(0, numbers.indexOf(Math.max(...numbers)));
}

function steps(parts, derived, { keys, divisor }) {
  const width = parts.query.length, best = placeOfLargest(derived.shares);
  const step = (name, formula, rows, facts = [], shares = false) => pictured({ name, formula, rows, facts, shares });
  return [
    step(say("query"), "q = x W_Q + b_Q", [parts.query], [[say("numbers"), String(width)]]),
    step(say("keys"), "kⱼ = xⱼ W_K + b_K", parts.keys, [[say("keys"), String(keys.length)]]),
    step(say("products"), "q · kⱼ", [derived.dots], [[say("largest"), signed(Math.max(...derived.dots))]]),
    step(
      say("scores"), `q · kⱼ / ${divisor.toPrecision(3)}`, [derived.scores],
      [[say("from"), signed(Math.min(...derived.scores))], [say("to"), signed(Math.max(...derived.scores))]],
    ),
    step(
      say("mask"), say("−∞ where masked"), [derived.open],
      [[say("masked keys"), String(parts.masked.filter(Boolean).length)]],
    ),
    step(
      say("weights"), "α = softmax(…)", [derived.shares],
      [[
        say("attends most to"),
        Number.isNaN(derived.shares[best]) ? say("not a number") : `${keys[best]} ${derived.shares[best].toFixed(3)}`,
      ]],
      true,
    ),
    step(say("values, weighted"), "αⱼ vⱼ", derived.weighted),
    step(say("head output"), "z = Σ αⱼ vⱼ", [derived.result]),
  ];
}

const signed = (number) => decimal(number, 3);

/** A step with its numbers as a picture: rows of numbers, −∞ where masked. */
function pictured({ name, formula, rows, facts, shares }) {
  const known = rows.flatMap((row) => [...row]).filter(Number.isFinite), width = rows[0].length;
  const bound = Math.max(1e-6, ...known.map(Math.abs));
  const level = (number) => levelOf(shares ? number : (number / bound + 1) / 2);
  const colours = shares
    ? say("Dark is 0, bright is 1.")
    : say("Blue is −{bound}, white is 0, red is {bound}.", { bound: bound.toPrecision(3) });
  return {
    name, formula, facts, shares, width, coarse: width < 100,
    levels: Uint8Array.from(rows.flatMap((row) => [...row].map(level))),
    height: rows.length > 1 ? Math.min(7 * rows.length, 84) : 14, alt: `${rows.length} × ${width}. ${colours}`,
  };
}

function numbers(keys, parts, derived, divisor) {
  const four = (number) => (
    number === -Infinity ? "−∞" : Number.isNaN(number) ? say("not a number") : number.toFixed(4)
  );
  const head = [
    say("key"), "q · k", `÷ ${divisor.toPrecision(3)}`, say("after the mask"), say("weight α"), say("the model's own"),
  ];
  const columns = [derived.dots, derived.scores, derived.open, derived.shares, parts.weights];
  return { head, rows: keys.map((key, s) => [key, ...columns.map((column) => four(column[s]))]) };
}

// One query of one head: what the model recorded, and the same numbers computed again step by step.

export const ROW_STAGES = ["queries", "keys", "values", "masked_scores", "weights", "head_outputs"];

/**
 * The row of a map that the visitor chose.
 * @param {Chosen} chosen
 * @param {(record: string[]) => Result | Promise<Result>} translate @returns {Promise<ChosenRow>}
 */
export async function chosenRow(chosen, translate) {
  const { kind, layer, head } = singleHead(chosen);
  const translation = await translate(ROW_STAGES.map((stage) => hookName(kind, layer, stage)));
  const [queries, keys] = [KINDS[kind].queries, KINDS[kind].keys]
    .map((side) => translation[side].map(({ text }) => text));
  const query = Math.min(Math.max(Number(chosen.choices.query ?? 2), 0), queries.length - 1);
  return { kind, layer, head, query, queries, keys, translation };
}

/**
 * @param {Record<string, Tensor>} recorded @param {{ kind: string, layer: number, head: number, query: number }} place
 * @returns {RowParts}
 */
export function rowPartsOf(recorded, { kind, layer, head, query }) {
  const rows = (stage) => {
    const { data, shape: [, length, width] } = recorded[hookName(kind, layer, stage)];
    return times(length, (i) => data.subarray((head * length + i) * width, (head * length + i + 1) * width));
  };
  return {
    query: rows("queries")[query], keys: rows("keys"), values: rows("values"),
    masked: [...rows("masked_scores")[query]].map((score) => score === -Infinity),
    weights: rows("weights")[query], output: rows("head_outputs")[query],
  };
}

/** Compute the query again: q·k → scale → mask → softmax → α·v. @param {RowParts} parts */
export function derive({ query, keys, values, masked, weights, output }, { scaled = true, temperature = 1 } = {}) {
  const dots = keys.map((key) => key.reduce((sum, number, i) => sum + number * query[i], 0));
  const scores = dots.map((dot) => dot / (scaled ? Math.sqrt(query.length) : 1) / temperature);
  const open = scores.map((score, s) => (masked[s] ? -Infinity : score)), highest = Math.max(...open);
  const exponentials = open.map((score) => Math.exp(score - highest));
  const sum = exponentials.reduce((all, one) => all + one, 0);
  const shares = exponentials.map((one) => one / sum);
  const weighted = values.map((value, s) => value.map((number) => number * shares[s]));
  const result = Array.from(output, (_, i) => weighted.reduce((total, row) => total + row[i], 0));
  const difference = (a, b) => (Number.isFinite(a) || Number.isFinite(b) ? Math.abs(a - b) : 0); // none between two NaN
  const apart = (a, b) => Math.max(...Array.from(a, (number, i) => difference(number, b[i])));
  return {
    dots, scores, open, shares, weighted, result, difference: Math.max(apart(shares, weights), apart(result, output))
  };
}
