// Masks: a few sentences form one padded batch. Masks exclude its padding, and what the decoder has not written yet.
import {
  beside, caption, cutNote, field, firstOf, heading, mount, note, place, segmented
} from "../controls/controls.js";
import { headLists, singleHead } from "../controls/heads.js";
import { hookName, KINDS } from "../engine/trace.js";
import { axesOf, mapName, maskMap, namesOf } from "../pictures/maps.js";
import { draw, el } from "../ui/dom.js";
import { attentionMap, leastWidth } from "../ui/maps.js";
import { times } from "../ui/numbers.js";
import { say } from "../ui/words.js";

const PAD = "<pad>", STAGES = ["scores", "masked_scores", "weights"], MASKED = ["decoder", "cross"];

/** @param {Element} root @param {App} app */
export async function showMasks(root, app) {
  if (app.info.config.architecture === "recurrent") {
    draw(root, [note(say("This page is about the masks of a Transformer. Choose another checkpoint."))]);
    return;
  }
  const named = batchFields(app), fields = named.map(([, field]) => field);
  const filled = fields.flatMap((field, i) => (field ? [i] : []));
  const parts = filled.length > 1 ? await batchOf(app, filled.map((i) => fields[i])) : null;
  const numbers = filled.map((i) => String(i + 1)); // of the fields; some may be empty
  draw(root, [
    caption(say(
      "<pad> tokens give all sentences of a batch the same length, and the decoder must not see the token that it "
      + "will write. A mask decides which keys (columns) a query (row) may attend to. Blue: it may attend. Grey: "
      + "masked."
    )),
    el("div", { class: "two even" }, named.map(([name], i) => field(
      i < 2 ? say("Sentence {n}", { n: i + 1 }) : say("Sentence {n} (optional)", { n: i + 1 }),
      { type: "text", lang: app.listed.languages[0], value: fields[i],
        onchange: ({ target }) => app.change({ [name]: target.value.trim() }) },
    ))),
    ...named.flatMap(([name]) => cutNote(app.choices[name], LONGEST_OF_BATCH) || []).map(note),
    ...(parts ? described(app, parts, numbers) : [
      note(say("Type at least two sentences: one sentence needs no padding.")),
    ]),
  ]);
  if (parts) mountPictures(root, parts, numbers);
}

/**
 * The translations of the sentences as one padded batch, and what passed the attention of the chosen sentence and of
 * the longest one.
 */
async function batchOf(app, sentences) {
  const { session } = app, all = await app.ifCurrent(Promise.all(sentences.map((text) => session.result({ text }))));
  const chosen = singleHead(app, kindOf(app)), batch = padded(all), lengths = all.map(({ read }) => read.length);
  const longest = lengths.indexOf(Math.max(...lengths));
  const row = app.choices.sentence ? chosenSentence(app.choices.sentence, all.length) : clearestRow(lengths);
  const own = STAGES.map((stage) => hookName(chosen.kind, chosen.layer, stage));
  const record = [...new Set([...own, ...MASKED.map((kind) => hookName(kind, 0, "masked_scores"))])];
  const recordedOf = async (row) => {
    const name = JSON.stringify(["read", batch.source[row], batch.read[row], record]);
    return (await app.ifCurrent(
      session.kept(name, () => session.engine.read(batch.source[row], batch.read[row], { record }))
    )).recorded;
  };
  return { ...chosen, all, batch, row, recorded: await recordedOf(row), unpadded: await recordedOf(longest) };
}

const kindOf = ({ choices }) => choices.mask_kind ?? "decoder";

/**
 * The sentence with the largest triangle among those with padding; the first one if none has padding.
 * @param {number[]} lengths
 */
function clearestRow(lengths) {
  const padded = lengths.map((length) => (length < Math.max(...lengths) ? length : 0));
  return padded.indexOf(Math.max(...padded));
}

function described(app, { kind, layer, head, row, all, batch, recorded }, numbers) {
  const hooks = STAGES.map((stage) => hookName(kind, layer, stage)), [source, target] = all[0].languages;
  const labels = [say("sentence {n}", { n: 1 }), ...[...all[row].source, ...all[row].read].map(({ text }) => text)];
  const columns = Math.max(batch.source[0].length, batch.read[0].length);
  return [
    el("div", { class: "row" }, [
      segmented(say("Show sentence"), numbers.map((n, i) => [String(i + 1), n]), String(row + 1), app.set("sentence")),
    ]),
    beside(2, leastWidth(labels, columns), Object.entries(maskTexts()).map(
      ([name, texts]) => el("div", {}, [heading(...texts), place(name)])
    )),
    heading(say("The batch"), say("The id of each token is below it. Padding is grey.")),
    el("div", { class: "two even" }, [
      batchTable(say("source"), numbers, all.map((one) => one.source), batch.source, source),
      batchTable(say("read by the decoder"), numbers, all.map((one) => one.read), batch.read, target),
    ]),
    heading(say("The scores of one head"), say(
      "The scores before the mask, after it (grey is minus infinity), and the weights after the softmax, exactly 0 "
      + "where masked."
    )),
    el("div", { class: "row" }, headLists(app, { name: "mask_kind", wanted: kindOf(app) })),
    beside(3, leastWidth(labels, columns, { bar: true }), STAGES.map(
      (stage) => el("div", {}, [heading(stageName(stage)), place(stage)])
    )),
    caption(sumsSentence(recorded[hooks[2]], recorded[hooks[1]], head)),
  ];
}

/** Each token of a padded batch above its id. */
function batchTable(name, numbers, tokens, ids, lang) {
  const cell = (row, id, i) => (i < tokens[row].length
    ? el("td", { lang }, [el("bdi", {}, tokens[row][i].text), el("span", {}, String(id))])
      : el("td", { class: "hl-pad" }, [el("bdi", {}, PAD), el("span", {}, String(id))]));
  return el("div", { class: "hl-batch", role: "region", tabindex: 0,
    "aria-label": say("Tokens of the batch above their ids: {name}", { name }) }, [
    el("table", { style: `--columns:${ids[0].length + 1}` }, [
      el("tbody", {}, ids.map((line, row) => el("tr", {}, [
        el("th", { scope: "row" }, `${name} ${numbers[row]}`), ...line.map((id, i) => cell(row, id, i)),
      ]))),
    ]),
  ]);
}

function mountPictures(root, { kind, layer, head, row, all, batch, recorded, unpadded }, numbers) {
  const labels = (one) => {
    const { queries, keys } = KINDS[one];
    const width = { source: batch.source[row].length, read: batch.read[row].length, written: batch.read[row].length };
    const named = (side) => times(width[side], (i) => all[row][side][i]?.text ?? PAD);
    return { ...axesOf(one, all[row].languages), queries: named(queries), keys: named(keys) };
  };
  const length = batch.source[0].length, rows = {
    queries: numbers.map((n) => say("sentence {n}", { n })), keys: times(length, (i) => String(i)),
    query_title: say("sentence"), key_title: say("key: source position"), languages: { query: "", key: "" },
  };
  const real = Float32Array.from(
    { length: all.length * length }, (_, i) => (i % length < all[Math.floor(i / length)].source.length ? 0 : -Infinity)
  );
  const scoresOf = (one, found) => headOf(found[hookName(one, 0, "masked_scores")], 0), texts = maskTexts();
  const pictures = {
    padding: [rows, real], causal: [labels("decoder"), scoresOf("decoder", unpadded)],
    combined: [labels("decoder"), scoresOf("decoder", recorded)], cross: [labels("cross"), scoresOf("cross", recorded)],
  };
  for (const [name, [axes, scores]] of Object.entries(pictures))
    mount(root, name, attentionMap, maskMap(axes, maskOnly(scores), texts[name][0]));
  const hooks = STAGES.map((stage) => hookName(kind, layer, stage)), masked = headOf(recorded[hooks[1]], head);
  const scores = headOf(recorded[hooks[0]], head);
  const bound = Math.max(1e-6, ...scores.filter(Number.isFinite).map(Math.abs));
  const title = `${namesOf(kind).fullName}, ${mapName(layer, head)}`;
  STAGES.forEach((stage, i) => {
    const shown = headOf(recorded[hooks[i]], head).map(
      (number, cell) => (i && masked[cell] === -Infinity ? -Infinity : number)
    );
    mount(root, stage, attentionMap, stageData(labels(kind), shown, { stage, bound, title }));
  });
}

/** The title of each mask, and its rule. @returns {Record<string, [string, string]>} */
function maskTexts() {
  return {
    padding: [say("Padding mask"), say("No query may attend to padding.")],
    causal: [say("Causal mask"), say("No query may attend to a later token.")],
    combined: [say("Combined decoder mask"), say("No later token and no padding.")],
    cross: [say("Cross mask"), say("The decoder attends to the source without padding.")],
  };
}

const stageName = (stage) => ({
  scores: say("Scores before the mask"), masked_scores: say("Scores after the mask"),
  weights: say("Weights after the softmax"),
})[stage] ?? stage;

/** The numbers of one head of a recorded tensor (H, T, S). */
function headOf({ data, shape }, head) {
  const [, T, S] = shape;
  return data.slice(head * T * S, (head + 1) * T * S);
}

/** The scores of a mask: 0 where a query may attend to a key. */
const maskOnly = (scores) => scores.map((score) => (score === -Infinity ? score : 0));

/** The data of the component attention_map for the scores or the weights of a head. */
function stageData(labels, numbers, { stage, bound, title }) {
  const alt = `${stageName(stage)}, ${title}`, colours = stage === "weights"
    ? { unit: say("attention weight"), largest: 1 } : { unit: say("score"), largest: bound, signed: true };
  return { ...labels, ...colours, weights: numbers, notes: [], title: alt, alt };
}

function sumsSentence(weights, masked, head) {
  const own = headOf(weights, head), scores = headOf(masked, head), width = weights.shape[2];
  const largest = Math.max(0, ...own.filter((_, i) => scores[i] === -Infinity));
  const sums = times(
    weights.shape[1], (t) => own.subarray(t * width, (t + 1) * width).reduce((sum, one) => sum + one, 0)
  );
  return say("Largest weight on a masked key: {largest}. The row sums differ from 1 by at most {difference}.", {
    largest, difference: Math.max(...sums.map((sum) => Math.abs(sum - 1))).toPrecision(2),
  });
}

// A few sentences, with their translations, as one padded batch.

const LONGEST_OF_BATCH = 400; // characters of a sentence

/**
 * The sentences of the batch: the visitor's, or those of the checkpoint. Some may be empty.
 * @param {{ choices: Choices, listed: Site }} chosen
 * @returns {[string, string][]} The choice that holds each sentence, and the sentence.
 */
export function batchFields({ choices, listed }) {
  const names = [1, 2, 3, 4].map((n) => `batch_${listed.languages[0]}_${n}`);
  return names.map((name, i) => [name, firstOf(choices[name] ?? listed.batch[i] ?? "", LONGEST_OF_BATCH)]);
}

/**
 * The sentence that the visitor chose, counted from 0.
 * @param {string} choice It counts from 1. @param {number} sentences
 */
export function chosenSentence(choice, sentences) {
  return Math.min(Math.max(Number(choice), 1), sentences) - 1;
}

/**
 * The sources and targets of a batch as ids, all of one length. The id of `<pad>` is 0.
 * @param {Result[]} translations
 */
export function padded(translations) {
  const longest = (side) => Math.max(...translations.map((one) => one[side].length));
  const filled = (side) => translations.map((one) => times(longest(side), (i) => one[side][i]?.id ?? 0));
  return { source: filled("source"), read: filled("read") };
}
