// Masks: a few sentences form one padded batch. Masks exclude its padding, and what the decoder has not written yet.
import attentionMap from "../assets/attention_map.js";
import { SIGNED, WEIGHTS } from "../assets/colours.js";
import { draw, el } from "../assets/dom.js";
import { say } from "../assets/words.js";
import { heading, list, mount, place } from "../controls.js";
import { hookName, KINDS } from "../engine/trace.js";
import { headLists, singleHead } from "../head_choice.js";
import { kindsOf, namesOf } from "../kinds.js";
import { largeMap, mapName, viewOf, weightsOf } from "../maps.js";
import maskPicture from "../mask_picture.js";

const PAD = "<pad>", ALLOWED = { scale: ["#56b4e9", "#56b4e9"], masked: WEIGHTS.masked };

/**
 * @param {Element} root
 * @param {import("../app.js").App} app
 */
export async function showMasks(root, app) {
  const { session, listed, info } = app, names = listed.batch.map((_, i) => `batch_${listed.languages[0]}_${i + 1}`);
  if (info.config.architecture === "recurrent") {
    draw(root, [el("p", { class: "note" }, say("This page is about the masks of a Transformer. Choose another checkpoint."))]);
    return;
  }
  if (app.isReport) return recordedMasks(root, app);
  const sentences = names.map((name, i) => app.choices[name] ?? listed.batch[i]), row = Math.min(Math.max(Number(app.choices.sentence ?? 0), 0), sentences.length - 1);
  const all = await app.ifCurrent(Promise.all(sentences.map((text) => session.translate(text))));
  const { kind, layer, head } = singleHead(app), batch = padded(all);
  const stages = ["scores", "masked_scores", "weights"], hooks = stages.map((stage) => hookName(kind, layer, stage));
  const masks = Object.keys(KINDS).map((one) => hookName(one, 0, "masked_scores"));
  const read = { source: batch.source[row], read: batch.read[row], record: [...new Set([...hooks, ...masks])] };
  const { recorded } = await app.ifCurrent(session.kept(JSON.stringify(["read", read]), () => session.engine.read(read.source, read.read, { record: read.record })));
  draw(root, [
    el("p", { class: "caption" }, say("<pad> tokens give all sentences of a batch the same length, and the decoder must not see the token that it will write. A mask decides which keys (columns) a query (row) may attend to. Blue: it may attend. Grey: masked.")),
    el("div", { class: "two three" }, names.map((name, i) => el("label", { class: "control" }, [
      el("span", { class: "label" }, say("Sentence {n}", { n: i + 1 })),
      el("input", { type: "text", maxlength: 300, lang: listed.languages[0], value: sentences[i], onchange: ({ target }) => { if (target.value.trim()) app.change({ [name]: target.value.trim() }); } }),
    ]))),
    el("div", { class: "row" }, [list(say("The pictures show"), sentences.map((text, i) => [String(i), `${i + 1}: ${text}`]), String(row), (value) => app.change({ sentence: value }))]),
    el("div", { class: "two three" }, ["encoder", "decoder", "cross"].map((one) => el("div", {}, [heading(...masksText(one)), place(`mask ${one}`)]))),
    heading(say("The scores of one head"), say("The scores before the mask, after it (grey is minus infinity), and the weights after the softmax, exactly 0 where masked.")),
    el("div", { class: "row" }, headLists(app)),
    el("div", { class: "two three" }, stages.map((stage) => el("div", {}, [heading(stageName(stage)), place(stage)]))),
    el("p", { class: "caption" }, sumsSentence(recorded[hooks[2]], recorded[hooks[1]], head)),
  ]);
  const labels = (one) => {
    const tokens = { source: all[row].source, read: all[row].read, written: all[row].written }, length = { source: read.source.length, read: read.read.length, written: read.read.length };
    const named = (side) => Array.from({ length: length[side] }, (_, i) => tokens[side][i]?.text ?? PAD), { queries, keys } = KINDS[one], [from, to] = all[row].languages;
    return { queries: named(queries), keys: named(keys), query_title: say("query: {what}", { what: namesOf(one).query }), key_title: say("key: {what}", { what: namesOf(one).key }),
      languages: { query: one === "encoder" ? from : to, key: one === "decoder" ? to : from } };
  };
  for (const one of Object.keys(KINDS)) mount(root, `mask ${one}`, maskPicture, maskData(labels(one), headOf(recorded[hookName(one, 0, "masked_scores")], 0), masksText(one)[0]));
  const scores = headOf(recorded[hooks[0]], head), bound = Math.max(1e-6, ...scores.map(Math.abs)), title = `${namesOf(kind).fullName}, ${mapName(layer, head)}`;
  stages.forEach((stage, i) => {
    const masked = headOf(recorded[hooks[1]], head), own = headOf(recorded[hooks[i]], head);
    const numbers = own.map((number, cell) => (i && masked[cell] === -Infinity ? Number.NaN : number));
    mount(root, stage, maskPicture, stageData(labels(kind), numbers, { stage, bound, title }));
  });
}

/** The masks of the text of a report, which needs no padding, and the weights of one head. @param {Element} root @param {import("../app.js").App} app */
async function recordedMasks(root, app) {
  const translation = await app.ifCurrent(app.translate()), { kind, layer, head } = singleHead(app), kinds = kindsOf(app.info.heads);
  draw(root, [
    el("p", { class: "caption" }, say("A mask decides which keys (columns) a query (row) may attend to. Blue: it may attend. Grey: masked. One text alone has no <pad>.")),
    el("div", { class: "two three" }, kinds.map((one) => el("div", {}, [heading(namesOf(one).fullName), place(`mask ${one}`)]))),
    el("div", { class: "row" }, headLists(app)),
    heading(stageName("weights"), mapName(layer, head)),
    place("weights"),
  ]);
  for (const one of kinds) {
    const view = viewOf(translation, one), title = namesOf(one).fullName, of = one === kind ? layer : 0;
    mount(root, `mask ${one}`, maskPicture, maskData({ ...view.titles, queries: view.queries, keys: view.keys, languages: view.languages },
      weightsOf(view, of, 0).map((weight) => (Number.isNaN(weight) ? -Infinity : 0)), title));
  }
  mount(root, "weights", attentionMap, largeMap(viewOf(translation, kind), layer, head, false));
}

function masksText(kind) {
  return /** @type {[string, string]} */ ({
    encoder: [say("Padding mask"), say("No query of the encoder may attend to <pad>.")],
    decoder: [say("Combined decoder mask"), say("No later token and no <pad>.")],
    cross: [say("Cross mask"), say("The decoder attends to the source without <pad>.")],
  }[kind]);
}

const stageName = (stage) => ({ scores: say("Scores before the mask"), masked_scores: say("Scores after the mask"), weights: say("Weights after the softmax") })[stage] ?? stage;

/** The sources and targets of a batch as ids, all of one length. The id of `<pad>` is 0. */
function padded(translations) {
  const longest = (side) => Math.max(...translations.map((one) => one[side].length));
  const filled = (side) => translations.map((one) => Array.from({ length: longest(side) }, (_, i) => one[side][i]?.id ?? 0));
  return { source: filled("source"), read: filled("read") };
}

/** The numbers of one head of a recorded tensor (H, T, S). */
function headOf({ data, shape }, head) {
  const [, T, S] = shape;
  return data.slice(head * T * S, (head + 1) * T * S);
}

function maskData(labels, scores, title) {
  return { ...labels, numbers: scores.map((score) => (score === -Infinity ? Number.NaN : 0)), bound: 1, colours: ALLOWED, title, alt: title,
    describe: (t, s, number) => say("query: {query}; key: {key}; {state}", { query: labels.queries[t], key: labels.keys[s], state: Number.isNaN(number) ? say("masked") : say("may attend") }) };
}

function stageData(labels, numbers, { stage, bound, title }) {
  const weights = stage === "weights", shown = weights ? numbers.map((number) => 2 * number - 1) : numbers;
  return { ...labels, numbers: shown, bound: weights ? 1 : bound, colours: weights ? WEIGHTS : SIGNED, title: `${stageName(stage)}, ${title}`, alt: `${stageName(stage)}, ${title}`,
    describe: (t, s, number) => say("query: {query}; key: {key}; {state}", { query: labels.queries[t], key: labels.keys[s],
      state: Number.isNaN(number) ? say("masked") : (weights ? (number + 1) / 2 : number).toFixed(4) }) };
}

function sumsSentence(weights, masked, head) {
  const own = headOf(weights, head), scores = headOf(masked, head), width = weights.shape[2];
  const largest = Math.max(0, ...own.filter((_, i) => scores[i] === -Infinity));
  const sums = Array.from({ length: weights.shape[1] }, (_, t) => own.subarray(t * width, (t + 1) * width).reduce((sum, one) => sum + one, 0));
  return say("Largest weight on a masked key: {largest}. The row sums differ from 1 by at most {difference}.", {
    largest, difference: Math.max(...sums.map((sum) => Math.abs(sum - 1))).toPrecision(2),
  });
}
