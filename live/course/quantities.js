// What a run shows, by the names that the checks of lessons use: those of viz_app/course/quantities.py. Layers, heads,
// rows and places count from 0.
import { chosenHead } from "../controls/heads.js";
import { everyHead, inOrderOfHeads, noChanges, readChanges, writeChanges } from "../engine/changes.js";
import { positionTable, wavelengths } from "../engine/network/positional.js";
import { hookName, KINDS } from "../engine/trace.js";
import { asForced, logProbability, measuredEffects } from "../pages/heads.js";
import { chosenRow, derive, rowPartsOf, ROW_STAGES } from "../pages/inside.js";
import { kindsOf, maskOf } from "../pictures/maps.js";
import { batchFields, chosenSentence, padded } from "../pages/masks.js";
import { largestAt, largestDifference, sumOf, words } from "./expressions.js";

/**
 * @typedef {import("./situation.js").Situation} Situation
 */

const CLEAR = 0.5; // of a row's weight: the network looks at one token
const averageOf = (numbers) => sumOf(numbers) / numbers.length;
const textsOf = (tokens) => tokens.map(({ text }) => text);
const product = (one, other) => sumOf(one.map((number, i) => number * other[i]));

/**
 * The weights of each query of one head: T rows of S.
 * @param {Tensor} maps (L, H, T, S)
 * @param {number} layer
 * @param {number} head
 */
function mapRows({ data, shape: [, heads, T, S] }, layer, head) {
  const first = (layer * heads + head) * T;
  return Array.from({ length: T }, (_, t) => data.subarray((first + t) * S, (first + t + 1) * S));
}

/** The word to which a token belongs. A special token is a word of its own. @param {Token[]} tokens */
function wordAt(tokens, index) {
  const { text, word } = tokens[index], others = word < 0 ? [] : tokens.filter((other) => other.word === word);
  return textsOf(others).map((part) => part.replace(/^·/, "")).join("").replace(/^␣+/, "") || text;
}

/** @param {Situation} situation @param {string} kind @returns {Head[]} */
const allOfKind = ({ info }, kind) => everyHead(info.heads).filter((head) => head.kind === kind);

/** @param {Head[]} ablated @returns {Changes} */
const without = (ablated) => ({ ...noChanges(), ablated });

/** @param {Situation} situation @param {string} text @param {Changes} changes */
async function textWith(situation, text, changes) {
  return (await situation.result({ text, changes })).text;
}

/**
 * The largest weight of each row of a head. The first query of a decoder has only one key, so it does not count.
 * @param {Result} translation
 * @param {Head} head
 */
function largestWeights({ maps }, { kind, layer, head }) {
  return mapRows(maps[kind], layer, head).slice(kind === "decoder" ? 1 : 0).map((row) => Math.max(...row));
}

/**
 * The effect of silencing each head alone, without any other change: what the page has measured, and the rest.
 * @param {Situation} situation
 * @returns {Promise<SilencingEffect[]>}
 */
async function allEffects(situation) {
  const { session, text, info } = situation, measured = measuredEffects(session, { text });
  const { length } = everyHead(info.heads);
  if (measured.length < length) situation.report(measured.length, length); // the page draws again when there are more
  await session.measuring?.all;
  if (measured.length === length) return measured;
  const { signal } = session.running, usual = await situation.usual();
  return session.kept(`all effects ${text}`, async () =>
    [...measured, ...(await session.engine.silenceEachHead(usual, measured.length, { signal }))]);
}

/** The place of each number in their order; equal numbers share their mean place. @param {number[]} numbers */
function ranks(numbers) {
  return numbers.map((number) => numbers.filter((other) => other < number).length
    + (numbers.filter((other) => other === number).length + 1) / 2);
}

/** Spearman's rank correlation: 1 for the same order. @param {number[]} first @param {number[]} second */
function rankCorrelation(first, second) {
  const [x, y] = [first, second].map((numbers) => ranks(numbers).map((rank) => rank - (numbers.length + 1) / 2));
  return product(x, y) / Math.sqrt(product(x, x) * product(y, y));
}

/** The row that the page shows, with its recorded vectors. @param {Situation} situation */
async function partsOfRow(situation) {
  const row = await chosenRow(situation, (record) =>
    situation.result({ text: situation.text, forced: situation.forced }, record));
  return { ...row, parts: rowPartsOf(row.translation.recorded, row) };
}

/**
 * The length of each value of a head after the output projection, ‖v W_O‖ (Kobayashi et al. 2020, "Attention is Not
 * Only a Weight"), for each key. The model itself computes it: query i of the head gets the whole weight on key i, and
 * all other heads of the layer are silenced. What is then left of the output without any head is the bias.
 * @param {Situation} situation
 * @param {ChosenRow} row
 */
async function valueNorms({ session, info }, { kind, layer, head, keys, translation }) {
  const place = { kind, layer, head }, source = translation.source.map(({ id }) => id);
  const name = hookName(kind, layer, "output");
  // a query for each key
  const read = kind === "decoder" ? translation.read.map(({ id }) => id) : keys.map(() => translation.read[0].id);
  const all = Array.from({ length: info.heads[kind][1] }, (_, one) => ({ ...place, head: one }));
  const others = all.filter((one) => one.head !== head);
  const pattern = { ...place, weights: keys.map((_, i) => keys.map((_, j) => +(i === j))) };
  const outputOf = async (changes) => {
    const request = { changes: { ...noChanges(), ...changes }, record: [name] };
    return (await session.engine.read(source, read, request)).recorded[name];
  };
  const { data, shape: [, width] } = await outputOf({ ablated: others, replaced: [pattern] });
  const bias = await outputOf({ ablated: all });
  const added = (i) => data.slice(i * width, (i + 1) * width).map((number, at) => number - bias.data[at]);
  return keys.map((_, i) => Math.hypot(...added(i)));
}

/**
 * What a query looks at, and the head that looks most at the token before.
 * @param {string} name @param {Tensor} maps @param {number} query @param {Token} token
 */
function seen(name, maps, query, token) {
  const [layers, heads, , keys] = maps.shape;
  const all = Array.from({ length: layers * heads }, (_, i) => mapRows(maps, Math.floor(i / heads), i % heads));
  const looked = Array.from({ length: keys }, (_, key) => all.some((rows) => rows[query][key] > 0));
  const back = all.map((rows) => averageOf(rows.slice(1).map((row, t) => row[t]))), most = Math.max(...back);
  const place = back.indexOf(most), [{ text, probability }] = token.candidates ?? [];
  return Object.fromEntries(Object.entries({
    word: text, sure: probability, keys: looked.filter(Boolean).length, later: looked.slice(query + 1).some(Boolean),
    layer: Math.floor(place / heads) + 1, head: (place % heads) + 1, back: most,
  }).map(([part, value]) => [`${name}_${part}`, value]));
}

const entropyOfWeights = (weights) => -sumOf(weights.map((weight) => (weight > 0 ? weight * Math.log(weight) : 0)));

/** The translations of the sentences of the batch. @param {Situation} situation */
async function batchOf(situation) {
  const all = [];
  for (const [, text] of batchFields(situation)) if (text.trim()) all.push(await situation.result({ text }));
  return { all, row: chosenSentence(situation.choices.sentence ?? "1", all.length) };
}

/**
 * Kind → the weight on masked keys, as a mean over layers, heads and queries that are not padding.
 * @param {Situation} situation
 */
async function leaksOf({ session, info }, { all, row }) {
  const { source, read } = padded(all);
  const { recorded } = await session.engine.read(source[row], read[row], { record: ["*.masked_scores"] });
  return Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, averageOf(
    Array.from({ length: info.heads[kind][0] }, (_, layer) => {
      const [weights, scores] = ["weights", "masked_scores"].map((stage) => recorded[hookName(kind, layer, stage)]);
      const [heads, T, S] = weights.shape, queries = all[row][KINDS[kind].queries].length;
      const masked = (_, i) => scores.data[i] === -Infinity && Math.floor(i / S) % T < queries;
      return sumOf(weights.data.filter(masked)) / heads / queries;
    }))]));
}

/** Quantity → its function of a situation. @type {Record<string, (situation: Situation, ...values: any[]) => any>} */
export const QUANTITIES = {
  // The texts of a run, and its tokens.
  text: ({ text }) => text,
  usual: async (situation) => (await situation.usual()).text,
  changed: async (situation) => (await situation.translation()).text,
  source: async (situation) => textsOf((await situation.translation()).source),
  read: async (situation) => textsOf((await situation.translation()).read),
  written: async (situation) => textsOf((await situation.translation()).written),
  word_of: async (situation, place) => wordAt((await situation.translation()).written, place),
  probabilities: async (situation) => (await situation.translation()).written.map(({ probability = 1 }) => probability),
  source_special: async (situation) => (await situation.translation()).source.map(({ word }) => word < 0),
  written_special: async (situation) => (await situation.translation()).written.map(({ word }) => word < 0),
  forced_places: ({ forced }) => [...forced.keys()].sort((one, other) => one - other),
  choice: ({ choices }, name, usual) => choices[name] || String(usual),
  different_words: ({ text }) => new Set(text.split(/\s+/)
    .map((word) => word.replace(/^[.,!?]+|[.,!?]+$/g, "").toLowerCase()).filter(Boolean)).size,

  /**
   * Whether a word that usually follows the first words now stands directly before them. So German orders a question,
   * and a sentence that begins with another part than the subject.
   */
  async verb_moved(situation) {
    const usual = words((await situation.usual()).text), now = words((await situation.translation()).text);
    const fronts = usual.slice(1).map((word, at) => ` ${[word, ...usual.slice(0, at + 1)].join(" ")} `);
    return fronts.some((front) => ` ${now.join(" ")} `.includes(front));
  },

  translated: (situation, text, changes = "") => textWith(situation, text, readChanges(changes) ?? noChanges()),

  /** They are kept as one result, so that what the page needs stays kept. */
  async both({ session, report }, texts, code) {
    const { signal } = session.running, found = [];
    for (const [before, changes] of [noChanges(), readChanges(code) ?? noChanges()].entries())
      found.push(await session.kept(JSON.stringify(["texts", texts, writeChanges(changes)]), async () => {
        const all = [];
        for (const text of texts) {
          all.push((await session.engine.result({ text, changes: writeChanges(changes) }, {}, { signal })).text);
          report(before * texts.length + all.length, 2 * texts.length);
        }
        return all;
      }));
    return { usual: found[0], changed: found[1] };
  },

  // Heads, and what happens without them.
  sizes: ({ info }) => kindsOf(info.heads).map((kind) => info.heads[kind]),
  size: ({ info }, kind) => info.heads[kind],
  head_count: ({ info }) => everyHead(info.heads).length,
  weights: async (situation, kind, layer, head, row) =>
    mapRows((await situation.translation()).maps[kind], layer, head)[row],
  changes: ({ changes }) => writeChanges(changes),
  silenced: ({ changes }) => inOrderOfHeads(changes.ablated),
  only_silenced: ({ changes }) => writeChanges(changes) === writeChanges(without(changes.ablated)),
  text_without: (situation, heads) => textWith(situation, situation.text, without(heads)),
  heads_of: (situation, kind, layer) => allOfKind(situation, kind).filter((head) => head.layer === layer),

  /** How many tokens a row looks before an earlier row, and the two rows: the two that are farthest apart. */
  async jump_back(situation) {
    const { source, maps } = await situation.translation();
    const rows = mapRows(maps.cross, 0, 0).map((weights, row) => ({ row, key: largestAt(weights), weights }));
    const clear = rows.filter(({ key, weights }) => weights[key] >= CLEAR && words(source[key].text).length);
    const jumps = clear.flatMap((one, at) =>
      clear.slice(at + 1).map((other) => [one.key - other.key, one.row, other.row]));
    return jumps.sort((a, b) => b[0] - a[0] || b[1] - a[1] || b[2] - a[2])[0];
  },

  /** The heads that change the translation, if each is silenced alone. */
  changing_heads: async (situation) => (await allEffects(situation)).filter(({ position }) => position !== -1),

  /** By how much the log-probability of the translation falls without the cross-attention of each layer. */
  async drops_by_layer(situation) {
    const usual = await situation.usual(), forced = asForced(usual), drops = [];
    for (let layer = 0; layer < situation.info.heads.cross[0]; layer++) {
      const changes = without(allOfKind(situation, "cross").filter((head) => head.layer === layer));
      drops.push(logProbability(usual)
        - logProbability(await situation.result({ text: situation.text, forced, changes })));
    }
    return drops;
  },

  /** The head that the page shows; undefined where it shows several. */
  shown_head(situation) {
    const head = chosenHead(situation);
    return typeof head.head === "number" ? head : undefined;
  },

  place_of: (_, { layer, head }) => ({ layer: layer + 1, head: head + 1 }),

  /** The mean weight of a head on the token before, on the same and on the next token, and on the end. */
  async shares_of(situation, { kind, layer, head }) {
    const rows = mapRows((await situation.usual()).maps[kind], layer, head);
    const at = (offset) => averageOf(rows.flatMap((row, t) => row[t + offset] ?? []));
    return { previous: at(-1), same: at(0), next: at(1),
      end: averageOf(rows.map((row) => row[kind === "decoder" ? 0 : row.length - 1])) };
  },

  largest_weight: async (situation, head) => Math.max(0, ...largestWeights(await situation.usual(), head)),

  /** Whether the largest weights put the heads in the order of the effects of silencing them. */
  async agreement(situation) {
    const usual = await situation.usual(), found = await allEffects(situation);
    const effects = found.map(({ change }) => Math.abs(change));
    const sizes = found.map((head) => averageOf(largestWeights(usual, head)));
    const [least, tenth] = [sizes, effects].map((numbers) => numbers.toSorted((a, b) => b - a)[9]);
    const shared = effects.filter((one, i) => one >= tenth && sizes[i] >= least).length;
    return { correlation: rankCorrelation(sizes, effects), shared, heads: effects.length };
  },

  // One row of a map by hand.
  async row(situation) {
    const { layer, head, query, queries, keys, parts } = await partsOfRow(situation), { values, weights } = parts;
    const { dots, scores, shares, result } = derive(parts), width = parts.query.length;
    return {
      place: { layer: layer + 1, head: head + 1, query: queries[query] }, keys, width, root: Math.sqrt(width),
      open: parts.masked.map((one) => !one), masked: parts.masked, weights, dots, scores, shares,
      undivided: derive(parts, { scaled: false }).shares,
      cosines: values.map((value) => product(result, value) / Math.hypot(...value) / Math.hypot(...result)),
    };
  },
  row_at_temperature: async (situation, temperature) =>
    derive((await partsOfRow(situation)).parts, { temperature }).shares,
  async value_norms(situation) {
    const row = await partsOfRow(situation), { kind, layer, head } = row;
    return situation.session.kept(
      JSON.stringify(["value norms", situation.text, [...situation.forced], kind, layer, head]),
      () => valueNorms(situation, row));
  },
  entropy: (_, weights) => entropyOfWeights(weights),

  /** The mean entropy of all rows of all heads: as the model computes them, and without the division. */
  async entropies(situation) {
    const { info, text, forced } = situation, record = ROW_STAGES.map((stage) => `*.${stage}`);
    const translation = await situation.result({ text, forced }, record);
    const rows = everyHead(info.heads).flatMap((head) =>
      translation[KINDS[head.kind].queries].map((_, query) => rowPartsOf(translation.recorded, { ...head, query })));
    return [true, false].map((scaled) => averageOf(rows.map((parts) =>
      entropyOfWeights(derive(parts, { scaled }).shares))));
  },

  // Positions.
  wavelengths: ({ info }) => wavelengths(info.config),
  similarities({ info }, place) {
    const { data, shape: [positions, width] } = positionTable(info.config, 2 * place + 1);
    const row = (at) => data.subarray(at * width, (at + 1) * width), own = row(place);
    return Array.from({ length: positions }, (_, at) =>
      product(own, row(at)) / Math.hypot(...own) / Math.hypot(...row(at)));
  },

  /** What BERT looks at to fill the first gap, and GPT to continue the text before it; null where one cannot. */
  async seen_by_both(situation) {
    const { text } = situation, before = text.split("[MASK]")[0].trim();
    const read = await situation.resultOf("tiny-bert-en", { text });
    const gap = read.source.findIndex(({ candidates }) => candidates);
    if (gap < 0 || !before) return null;
    const run = await situation.resultOf("tiny-gpt-en", { text: before }), first = run.prompt_length ?? 0;
    return {
      ...seen("bert", read.maps.encoder, gap, read.source[gap]),
      ...seen("gpt", run.maps.decoder, first, run.written[first]),
    };
  },

  // Masks, and the steps of the decoder.
  sentence: async (situation) => (await batchOf(situation)).row,
  lengths: async (situation) => (await batchOf(situation)).all.map(({ source }) => source.length),
  async leaks(situation, bug = "") {
    if (bug) throw new Error("No page of a site has mistakes in masks.");
    const batch = await batchOf(situation);
    const name = JSON.stringify(["leak", batch.row, batch.all.map(({ source }) => source.map(({ id }) => id))]);
    return situation.session.kept(name, () => leaksOf(situation, batch));
  },

  /** How many tokens the decoder may attend to at a step. */
  async open_keys(situation, step) {
    const run = await situation.translation(), mayAttend = maskOf(run, "decoder");
    return run.read.filter((_, key) => mayAttend(0, step, key)).length;
  },

  /** For each step, the largest change of a weight of the decoder because of the forced tokens. */
  async changes_by_step(situation) {
    const runs = [await situation.usual(), await situation.translation()], [layers, heads] = runs[0].maps.cross.shape;
    const rowsAt = (step) => ["decoder", "cross"].flatMap((kind) => {
      const open = kind === "decoder" ? step + 1 : undefined;
      return Array.from({ length: layers * heads }, (_, i) =>
        runs.map(({ maps }) => mapRows(maps[kind], Math.floor(i / heads), i % heads)[step].slice(0, open)));
    });
    return Array.from({ length: Math.min(...runs.map(({ written }) => written.length)) }, (_, step) =>
      Math.max(...rowsAt(step).map(([one, other]) => largestDifference(one, other))));
  },
};
