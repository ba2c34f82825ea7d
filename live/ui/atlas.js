// The heads of an atlas: all of them as a scatter of two numbers and as a table, and a rule that chooses some.
import { KIND_TITLES, numberNames, readTable, titleOf } from "./atlas_table.js";
import { readRule, RuleError } from "./atlas_rule.js";
import { draw, el, find, pressable, select, singleTabStop } from "./dom.js";
import { showSentences } from "./atlas_places.js";
import { availableWidth, component } from "./mounting.js";
import { colourAt, LINES } from "./numbers.js";
import { headName, say } from "./words.js";

const EDGES = { left: 62, right: 16, top: 12, bottom: 50 }, HEIGHTS = [260, 380], DOT = 6; // pixels
const ROWS = 40; // of the table, until the visitor wants more
const USUAL = ["previous", "sinks", "importance"]; // columns besides those of the scatter
const EXAMPLES = ["previous > 0.5", "sinks > 0.5 and kind = cross", "word > 0.3", "induction_low > 0.2"];
/** The colour of the last layer of a kind; earlier layers are paler. */
const OF_KIND = { cross: LINES[0][0], encoder: LINES[1][0], decoder: LINES[2][0] };
const PALEST = 0.35; // the share of the colour in the first layer

/** The outline of a head: a circle, a square or a triangle. @type {Record<string, (x: number, y: number) => string>} */
const OUTLINES = {
  cross: (x, y) => `M${x - DOT} ${y}a${DOT} ${DOT} 0 1 0 ${2 * DOT} 0a${DOT} ${DOT} 0 1 0 ${-2 * DOT} 0`,
  encoder: (x, y) => `M${x - 5} ${y - 5}h10v10h-10z`,
  decoder: (x, y) => `M${x} ${y - 7}L${x + 7} ${y + 5}H${x - 7}z`,
};

/**
 * Numbers at equal distances that people read easily, from one below the smallest to one above the largest.
 * @param {number} low @param {number} high
 */
export function niceTicks(low, high) {
  const rough = (high - low || Math.abs(high) || 1) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999) ?? rough;
  const first = Math.floor(low / step + 1e-9), last = Math.max(Math.ceil(high / step - 1e-9), first + 1);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(6)));
}

/** A number of a head in the table or on an axis. @param {number} value */
export function shownNumber(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 || size < 5e-5 ? 2 : size >= 0.01 ? 3 : 4;
  return value.toFixed(digits).replace("-", "−");
}

/**
 * The heads that a rule chooses, in the order of a column; heads without this number are last.
 * @param {ReturnType<typeof readTable>} table @param {(valueOf: (name: string) => any) => boolean} fulfils
 * @param {{ by: string, down: boolean }} order `by` is "head" or the name of a number.
 */
export function chosenRows({ heads, value }, fulfils, { by, down }) {
  const rows = heads.filter((head) => fulfils((name) => (
    name === "kind" ? head.kind : name === "layer" || name === "head" ? head[name] + 1 : value(head.at, name)
  )));
  if (by === "head") return down ? rows.reverse() : rows;
  const sign = down ? -1 : 1, known = (head) => Number.isFinite(value(head.at, by));
  return rows.sort((a, b) => Number(known(b)) - Number(known(a))
    || (known(a) ? sign * (value(a.at, by) - value(b.at, by)) : 0) || a.at - b.at);
}

export const atlasHeads = component((root) => {
  let data, report, table = /** @type {any} */ (null), typed = "", problem = "", fulfils = (_valueOf) => true;
  let order = { by: "", down: true }, rows = ROWS, all = false, pointed = "";
  let areNamesOpen = false;
  let drawWhiskers = () => {}; // the intervals of the heads that are chosen or pointed at

  function update(next, setTriggerValue) {
    report = setTriggerValue;
    const isNew = next.rule !== data?.rule || next.values !== data?.values;
    if (next.values !== data?.values) table = readTable(next);
    data = next;
    if (isNew) use(next.rule);
    redraw();
  }

  const axis = (name, fallback) => (table.numbers.includes(name) ? name : table.numbers.includes(fallback)
    ? fallback : table.numbers[0]);
  const axes = () => [axis(data.x, "sinks"), axis(data.y, "entropy")];

  const read = (text) => readRule(text, { numbers: table.columns, kinds: table.kinds });

  /** Read a rule while the visitor types. Until it can be read, the last one stays. @param {string} text */
  function use(text) {
    typed = text;
    try {
      fulfils = read(text);
      [problem, rows] = ["", ROWS];
    } catch (error) {
      if (!(error instanceof RuleError)) throw error;
      problem = error.message;
    }
  }

  function type(text, isDone) {
    use(text);
    if (isDone && !problem && text !== data.rule) {
      data.rule = text;
      report("change", { atlas_rule: text });
    }
    redraw();
  }

  /** Choose a choice at once, and report it. @param {Record<string, string>} choices */
  function choose(choices) {
    for (const [name, value] of Object.entries(choices)) data[name.replace("atlas_", "")] = value;
    report("change", choices);
    redraw();
  }

  function redraw() {
    const chosen = chosenRows(table, fulfils, order.by ? order : { by: axes()[1], down: true });
    draw(root, [el("div", { class: "atlas" }, [
      el("p", { class: "quiet about" }, say("Texts measured: {n}. Choose a head to see its sentences.", {
        n: data.texts.toLocaleString(document.documentElement.lang),
      })),
      el("div", { class: "bar" }, [
        axisList("atlas_y", say("Up"), axes()[1]), axisList("atlas_x", say("Across"), axes()[0]),
      ]),
      el("p", { class: "quiet about" }, axes().reverse().map((name) => aboutNumber(name)).join(" ")),
      scatter(new Set(chosen.map(({ at }) => at))),
      legend(),
      el("div", { class: "bar" }, [
        el("output", { class: "says", "aria-live": "off" }, says()),
        ...(table.heads.some(({ name }) => name === data.head)
          ? [el("button", { type: "button", class: "plainly", onclick: showSentences }, say("Its sentences are below"))]
          : []),
      ]),
      ...ruleField(chosen.length),
      tableOf(chosen),
    ])]);
    drawWhiskers();
    singleTabStop(find(root, "svg"), ".dot[tabindex]");
    singleTabStop(find(root, "tbody"), "button");
  }

  const aboutNumber = (name) => {
    const { title, meaning } = numberNames(name);
    return meaning ? say("{title}: {meaning}", { title, meaning }) : title;
  };

  function axisList(choice, label, chosen) {
    return el("label", {}, [el("span", {}, label), select(
      table.numbers.map((name) => [name, numberNames(name).title]), chosen, (value) => choose({ [choice]: value })
    )]);
  }

  function says() {
    const head = table.heads.find(({ name }) => name === (pointed || data.head));
    return head ? `${titleOf(head)}: ${axes().reverse().map((name) => withInterval(head, name)).join("; ")}`
      : say("Point at a head to see its numbers. Choose it to see its sentences.");
  }

  function withInterval(head, name) {
    const [value, low, high] = ["", "_low", "_high"].map((end) => shownNumber(table.value(head.at, name + end)));
    const { title } = numberNames(name);
    return low === "–" ? say("{title} {value}", { title, value })
      : say("{title} {value}, 95\u00a0% interval {low} to {high}", { title, value, low, high });
  }

  function scatter(inside) {
    const [x, y] = axes(), width = Math.max(240, availableWidth(root) - EDGES.left - EDGES.right);
    const height = Math.min(HEIGHTS[1], Math.max(HEIGHTS[0], width * 0.5));
    const drawn = table.heads.filter(({ at }) => [x, y].every((name) => Number.isFinite(table.value(at, name))));
    const scale = (name) => niceTicks(...rangeOf(drawn.flatMap(({ at }) => ["", "_low", "_high"]
      .map((end) => table.value(at, name + end)).filter(Number.isFinite))));
    const [across, up] = [scale(x), scale(y)], share = (ticks, value) => (value - ticks[0]) / (ticks.at(-1) - ticks[0]);
    const left = (value) => EDGES.left + share(across, value) * width;
    const top = (value) => EDGES.top + (1 - share(up, value)) * height;
    drawWhiskers = () => draw(find(root, ".whiskers"), drawn.filter(
      ({ name }) => name === pointed || name === data.head || name === data.second
    ).flatMap(({ at }) => whiskers(at, left, top)));
    return el("svg", {
      width: EDGES.left + width + EDGES.right, height: EDGES.top + height + EDGES.bottom, role: "group",
      "aria-label": say("All heads: {y} up, {x} across. Arrow keys move from head to head.", {
        x: numberNames(x).title, y: numberNames(y).title,
      }),
      "data-title": say("All heads of {checkpoint}", { checkpoint: data.checkpoint }),
    }, [
      ...axisLines({ across, up, left, top, width, height, x, y }),
      el("g", { class: "whiskers" }),
      ...[...drawn].sort((a, b) => Number(inside.has(a.at)) - Number(inside.has(b.at))).map((head) => dot(
        head, left(table.value(head.at, x)), top(table.value(head.at, y)), inside.has(head.at)
      )),
    ]);
  }

  function axisLines({ across, up, left, top, width, height, x, y }) {
    const right = EDGES.left + width, bottom = EDGES.top + height, middle = EDGES.top + height / 2;
    const rule = { stroke: "rgb(128,128,128)", "stroke-opacity": 0.3 };
    return [
      ...across.map((value) => el("line", { x1: left(value), x2: left(value), y1: EDGES.top, y2: bottom, ...rule })),
      ...up.map((value) => el("line", { x1: EDGES.left, x2: right, y1: top(value), y2: top(value), ...rule })),
      ...across.map((value) => el("text", { x: left(value), y: bottom + 18, "text-anchor": "middle" }, String(value))),
      ...up.map((value) => el("text", { x: EDGES.left - 8, y: top(value) + 5, "text-anchor": "end" }, String(value))),
      el("text", { x: EDGES.left + width / 2, y: bottom + 42, "text-anchor": "middle" }, numberNames(x).axis),
      el("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` },
        numberNames(y).axis),
    ];
  }

  /** The 95 % intervals of a head. */
  function whiskers(at, left, top) {
    const [x, y] = axes(), end = (name, suffix) => table.value(at, name + suffix), line = { class: "whisker" };
    return [
      ...(Number.isFinite(end(x, "_low")) ? [el("line", { ...line, x1: left(end(x, "_low")), x2: left(end(x, "_high")),
        y1: top(end(y, "")), y2: top(end(y, "")) })] : []),
      ...(Number.isFinite(end(y, "_low")) ? [el("line", { ...line, x1: left(end(x, "")), x2: left(end(x, "")),
        y1: top(end(y, "_low")), y2: top(end(y, "_high")) })] : []),
    ];
  }

  function dot(head, x, y, isInside) {
    const isSecond = head.name === data.second, isChosen = isSecond || head.name === data.head;
    const point = (name) => () => {
      pointed = name;
      find(root, ".says").textContent = says();
      drawWhiskers();
    };
    return el("path", {
      d: OUTLINES[head.kind](Number(x.toFixed(1)), Number(y.toFixed(1))), fill: colourOf(head),
      class: `dot${isSecond ? " second" : ""}${isChosen ? " chosen" : isInside ? "" : " out"}`, "data-head": head.name,
      ...pressable(() => choose({ atlas_head: head.name })),
      ...(isInside ? { tabindex: -1, "aria-pressed": String(isChosen) } : { role: false, "aria-hidden": "true" }),
      "aria-label": `${titleOf(head)}: ${axes().map((name) => withInterval(head, name)).join("; ")}`,
      onpointerenter: point(head.name), onpointerleave: point(""), onfocus: point(head.name), onblur: point(""),
    });
  }

  function colourOf({ kind, layer }) {
    const { layers } = data.kinds.find((one) => one.kind === kind);
    return colourAt(["#ffffff", OF_KIND[kind]], PALEST + ((1 - PALEST) * (layer + 1)) / layers);
  }

  function legend() {
    return el("div", { class: "legend" }, [
      ...table.kinds.map((kind) => el("span", {}, [
        el("svg", { width: 16, height: 16, "aria-hidden": "true" }, [
          el("path", { d: OUTLINES[kind](8, 8), fill: OF_KIND[kind], class: "dot" }),
        ]), el("span", {}, KIND_TITLES[kind]()),
      ])),
      el("span", { class: "quiet" }, say("Later layers are darker.")),
      ...(typed ? [el("span", { class: "quiet" }, say("Faint heads are outside the rule."))] : []),
    ]);
  }

  function ruleField(count) {
    const examples = EXAMPLES.filter((text) => {
      try {
        return chosenRows(table, read(text), { by: "head", down: false }).length;
      } catch {
        return false;
      }
    });
    return [
      el("div", { class: "bar rule" }, [
        el("label", {}, [el("span", {}, say("Rule")), el("input", {
          type: "text", value: typed, maxlength: 2000, spellcheck: "false", autocomplete: "off",
          "aria-invalid": String(Boolean(problem)), placeholder: "previous > 0.5 and layer <= 2",
          oninput: ({ target }) => type(target.value, false), onchange: ({ target }) => type(target.value, true),
        })]),
        ...examples.map((text) => el("button", { type: "button", onclick: () => type(text, true) }, text)),
        ...(typed ? [el("button", { type: "button", onclick: () => type("", true) }, say("All heads"))] : []),
      ]),
      el("p", { class: `status${problem ? " problem" : ""}`, role: "status" }, problem
        || say("{n} of {total} heads", { n: count, total: table.heads.length })),
      namesInRules(),
    ];
  }

  function namesInRules() {
    const about = (name, text) => [el("dt", {}, [el("code", {}, name)]), el("dd", {}, text)];
    return el("details", { open: areNamesOpen, ontoggle: ({ target }) => { areNamesOpen = target.open; } }, [
      el("summary", {}, say("Names in rules")),
      el("dl", { class: "names-in-rules" }, [
        ...about("kind", table.kinds.map((kind) => `${kind}: ${KIND_TITLES[kind]()}`).join("; ")),
        ...about("layer, head", say("They count from 1.")),
        ...table.numbers.flatMap((name) => about(name, aboutNumber(name))),
        ...about("_low, _high", say("After the name of a number: an end of its 95\u00a0% interval, as in {example}.", {
          example: `${table.numbers[0]}_low`,
        })),
      ]),
    ]);
  }

  function columns() {
    const named = table.numbers.filter((name) => new RegExp(`\\b${name}(_low|_high)?\\b`).test(typed));
    const usual = USUAL.filter((name) => table.numbers.includes(name));
    return all ? table.numbers : [...new Set([axes()[1], axes()[0], ...named, ...usual])];
  }

  function tableOf(chosen) {
    const shown = columns(), by = order.by || axes()[1], down = order.by ? order.down : true;
    const sort = (name) => () => {
      order = { by: name, down: by === name ? !down : name !== "head" };
      redraw();
    };
    const header = (name, title, meaning) => el("th", {
      scope: "col", "aria-sort": by !== name ? "none" : down ? "descending" : "ascending",
    }, [el("button", { type: "button", title: meaning || false, onclick: sort(name) },
      `${title}${by !== name ? "" : down ? " ↓" : " ↑"}`)]);
    return el("div", {}, [
      el("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": say("Table of heads") }, [
        el("table", {}, [
          el("thead", {}, [el("tr", {}, [header("head", say("head"), ""), ...shown.map(
            (name) => header(name, numberNames(name).title, numberNames(name).meaning)
          )])]),
          el("tbody", {}, chosen.slice(0, rows).map((head) => row(head, shown))),
        ]),
      ]),
      el("div", { class: "bar" }, [
        ...(chosen.length > rows ? [el("button", { type: "button", onclick: () => { rows += 4 * ROWS; redraw(); } },
          say("Show more heads"))] : []),
        el("button", { type: "button", "aria-pressed": String(all), onclick: () => { all = !all; redraw(); } },
          say("All numbers")),
      ]),
    ]);
  }

  function row(head, shown) {
    const isChosen = head.name === data.head || head.name === data.second;
    return el("tr", { class: isChosen ? "chosen" : false, onclick: () => choose({ atlas_head: head.name }) }, [
      el("th", { scope: "row" }, [el("button", { type: "button", "aria-pressed": String(isChosen) },
        `${KIND_TITLES[head.kind]()}, ${headName(head.layer, head.head)}`)]),
      ...shown.map((name) => {
        const [value, low, high] = ["", "_low", "_high"].map((end) => shownNumber(table.value(head.at, name + end)));
        return el("td", {}, [el("span", {}, value), ...(low === "–" ? [] : [el("small", {}, `${low}–${high}`)])]);
      }),
    ]);
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
});

/** The smallest and the largest number. @param {number[]} values @returns {[number, number]} */
function rangeOf(values) {
  if (!values.length) return [0, 1];
  const [low, high] = values.reduce(([a, b], one) => [Math.min(a, one), Math.max(b, one)], [Infinity, -Infinity]);
  return [low > 0 && low < high / 2 ? 0 : low, high];
}
