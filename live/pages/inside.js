// One head: one query from its vector to the head's output. Each step is computed again from recorded tensors, beside
// the model's own numbers.
import { derivation } from "../assets/derivation.js";
import { draw, el } from "../assets/dom.js";
import { levelOf } from "../assets/pixels.js";
import { say } from "../assets/words.js";
import { list, mount, note, place, slider, table, toggle } from "../controls.js";
import { headLists } from "../chosen_head.js";
import { chosenRow, derive, partsOf } from "../head_row.js";
import { mapName } from "../maps.js";
import { namesOf } from "../kinds.js";

const ROUNDING = 1e-4;

/**
 * @param {Element} root
 * @param {import("../app.js").App} app
 */
export async function showInside(root, app) {
  const { choices, info } = app;
  if (info.config.attention !== "scaled_dot_product" || info.config.architecture === "recurrent") {
    draw(root, [
      note(say(
        "This model does not compute scaled dot products, so this page cannot follow its heads. Choose another "
        + "checkpoint."
      )),
    ]);
    return;
  }
  const row = await app.ifCurrent(chosenRow(app, (record) => app.translate({ record })));
  const { kind, layer, head, query, queries, keys, translation } = row;
  const scaled = choices.scaled !== "false";
  const temperature = Math.min(Math.max(Number(choices.head_temperature ?? 1), 0.1), 5);
  const parts = partsOf(translation.recorded, row), derived = derive(parts, { scaled, temperature });
  const agrees = derived.difference < ROUNDING, divisor = (scaled ? Math.sqrt(parts.query.length) : 1) * temperature;
  draw(root, [
    el(
      "p", { class: "written small", lang: translation.languages[1] },
      translation.text || say("(the model wrote nothing)"),
    ),
    el("div", { class: "row" }, [
      ...headLists(app),
      list(
        say("Query: {what}", { what: namesOf(kind).query }),
        queries.map((text, i) => [String(i), `${i + 1} · ${text}`]), String(query),
        (value) => app.change({ query: value }),
      ),
      toggle(
        say("Divide by √d_k"), scaled, (on) => app.change({ scaled: String(on) }),
        say("Without the division, the softmax becomes much sharper."),
      ),
      slider(
        say("Temperature of the softmax; the model uses 1"), { min: 0.1, max: 5, step: 0.1 }, temperature,
        (value) => app.change({ head_temperature: String(value) }),
      ),
    ]),
    el(
      "p", { class: agrees ? "caption agrees" : "caption differs", role: "status" },
      agreement(derived.difference, scaled && temperature === 1),
    ),
    place("steps"),
    table(say("Numbers"), () => numbers(keys, parts, derived, divisor), app.opened, app.redraw),
  ]);
  mount(root, "steps", derivation, {
    steps: steps(parts, derived, { keys, divisor }), code: [], alt: mapName(layer, head),
    title: `${namesOf(kind).fullName}, ${mapName(layer, head)}, ${queries[query]}`,
  });
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

function steps(parts, derived, { keys, divisor }) {
  const width = parts.query.length, best = Math.max(0, derived.shares.indexOf(Math.max(...derived.shares)));
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

const signed = (number) => (Number.isFinite(number) ? number.toFixed(3).replace("-", "−") : say("not a number"));

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
