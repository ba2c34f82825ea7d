// Lesson 3: many heads. What each of them looks at, and which of them a sentence needs.
import { inOrderOfHeads, noChanges, writeChanges } from "../../app/link.js";
import { chosenHead } from "../../controls/heads.js";
import { asForced, everyHead, logProbability } from "../../pages/heads.js";
import { allEffects, silencing } from "../effects.js";
import { averageOf, largestAt, mapRows } from "../map_rows.js";
import { chosen, estimated, verdict } from "../verdicts.js";
import { wordList, wordsOf } from "../words.js";

/** @typedef {import("../situation.js").Situation} Situation */

/** The texts that the model writes without any change, and with those of the visitor. @param {Situation} situation */
async function bothTexts(situation) {
  return { usual: (await situation.usual()).text, changed: (await situation.translation()).text };
}

/** @param {Situation} situation @param {Head[]} heads */
async function textWithout(situation, heads) {
  return (await situation.translate(situation.text, silencing(heads))).text;
}

const NAMES = ["first", "second", "third"]; // layers

/** @type {import("../verdicts.js").Checks} */
export const MANY_HEADS = {
  /** How many different tokens get the largest weight from a head of one layer, while a word is written. */
  async "different-keys"(situation, answer, { parameters: { word } }) {
    const { written, source, maps: { cross } } = await situation.translation(), [layers, heads] = cross.shape;
    const at = written.findIndex(({ text }) => text === word);
    const row = at < 0 ? Math.floor(written.length / 2) : at;
    const best = Array.from({ length: layers },
      (_, l) => Array.from({ length: heads }, (_, h) => largestAt(mapRows(cross, l, h)[row])));
    const counts = best.map((keys) => new Set(keys).size), last = best[layers - 1];
    const often = source.map((_, key) => last.filter((one) => one === key).length);
    return estimated(answer, counts[0], 1, {
      word: written[row].text, first: counts[0], last: counts[layers - 1],
      tokens: [...new Set(best[0].map((key) => source[key].text))].join(" · "), top: source[largestAt(often)].text,
    });
  },

  /** How many heads change the translation, if each is silenced alone. */
  async "one-head"(situation, answer) {
    const effects = await allEffects(situation), heads = effects.filter(({ position }) => position >= 0);
    const { text: usual } = await situation.usual();
    const example = heads.length ? await textWithout(situation, heads.slice(0, 1)) : usual;
    return estimated(answer, heads.length, 3, { count: heads.length, total: effects.length, usual, example });
  },

  /** Which of a few words the translation loses with the heads that the visitor silenced. */
  async "what-is-lost"(situation, answer, { parameters: { words } }) {
    const texts = await bothTexts(situation);
    const lost = Object.keys(words).filter((name) => texts.usual.includes(words[name])
      && !texts.changed.includes(words[name]));
    return chosen(answer, lost.length ? lost : ["nothing"], texts);
  },

  async "other-sentence"(situation, answer) {
    const texts = await bothTexts(situation);
    return chosen(answer, [texts.usual === texts.changed ? "same" : "changed"], texts);
  },

  /** The layer of the decoder whose cross-attention the translation needs most, by its log-probability. */
  async "which-layer"(situation, answer, { figures }) {
    const usual = await situation.usual(), forced = asForced(usual);
    const without = NAMES.slice(0, situation.info.heads.cross[0]).map(
      (_, layer) => everyHead(situation.info.heads).filter((head) => head.kind === "cross" && head.layer === layer));
    const drops = [];
    for (const heads of without) drops.push(logProbability(usual)
      - logProbability(await situation.translate(situation.text, { forced, ...silencing(heads) })));
    const most = largestAt(drops), named = Object.fromEntries(drops.map((drop, layer) => [NAMES[layer], drop]));
    return chosen(answer, [NAMES[most]], { text: await textWithout(situation, without[most]), ...named, ...figures });
  },

  /** Whether a word is still there after the changes. */
  async "not-survives"(situation, answer, { parameters: { word } }) {
    const texts = await bothTexts(situation);
    return chosen(answer, [wordsOf(texts.changed).has(word) ? "stays" : "lost"], { word, ...texts });
  },

  /** Whether the silenced heads change the translation alone, together, or not at all. */
  async together(situation, answer) {
    const heads = inOrderOfHeads(situation.changes.ablated), { text: usual } = await situation.usual(), alone = [];
    for (const head of heads) alone.push(await textWithout(situation, [head]));
    const together = await textWithout(situation, heads);
    const truth = together === usual ? "nothing" : alone.every((text) => text === usual) ? "together" : "alone";
    return chosen(answer, [truth], { usual, together, alone: [...new Set(alone)].join(" · ") });
  },

  /** Some heads are silenced, not more than a number, and a word of the translation is gone. */
  async "puzzle-two-heads"(situation, _, { parameters: { word, most }, figures }) {
    const { usual, changed } = await bothTexts(situation), { ablated } = situation.changes, count = ablated.length;
    const has = (text) => wordsOf(text).has(word.toLowerCase());
    const outcome = () => {
      if (!has(usual)) return "no-word";
      if (writeChanges(situation.changes) !== writeChanges({ ...noChanges(), ablated })) return "other-change";
      if (!count) return "none";
      if (count > most) return "too-many";
      if (!has(changed)) return "right";
      return usual === changed ? "unchanged" : "still-there";
    };
    return verdict(outcome(), { word, count, usual, changed, ...figures });
  },

  /** The head that the page shows gives most of its weight to the token before. */
  async "puzzle-one-back"(situation, _, { parameters: { least } }) {
    const head = chosenHead(situation), { kind } = head;
    if (kind === "cross") return verdict("cross", {});
    if (typeof head.head !== "number") return verdict("no-head", {});
    const { maps, text: usual } = await situation.usual();
    const rows = mapRows(maps[kind], head.layer, head.head);
    const at = (offset) => averageOf(rows.flatMap((row, t) => row[t + offset] ?? []));
    const shares = { previous: at(-1), same: at(0), next: at(1),
      end: averageOf(rows.map((row) => row[kind === "decoder" ? 0 : row.length - 1])) };
    const most = Object.keys(shares)[largestAt(Object.values(shares))], other = shares[most] > least ? most : "spread";
    return verdict(shares.previous > least ? "right" : other, {
      ...shares, least, layer: head.layer + 1, head: head.head + 1, usual,
      changed: await textWithout(situation, [head]),
    });
  },

  /** Many heads are silenced, and the translation stays equal. */
  async "puzzle-not-needed"(situation, _, { parameters: { least, words } }) {
    const texts = await bothTexts(situation), count = situation.changes.ablated.length;
    const values = { count, least, total: everyHead(situation.info.heads).length, ...texts, words };
    if (wordList(situation.text).length < words) return verdict("short", values);
    return verdict(texts.usual !== texts.changed ? "changed" : count >= least ? "right" : "few", values);
  },
};
