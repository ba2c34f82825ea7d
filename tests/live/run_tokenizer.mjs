// Reads tokenizers and runs them on lines. Standard input: [{ files, lines, second }]. Standard output: for each folder
// its size and special tokens, and for each line its ids, their tokens and words, the text that they decode to, and the
// line in the template, alone and with a second text; or the code and the sentence of an error. All as JSON.
import { readFileSync } from "node:fs";
import { sourceOf } from "../../live/engine/inference/run.js";
import { readTokenizer } from "../../live/engine/tokenizers/tokenizer.js";

function run({ files, lines, second = "", most }) {
  const start = performance.now();
  try {
    const tokenizer = readTokenizer(files), opened = performance.now() - start;
    const { marks, ...specials } = tokenizer.specials;
    const read = (line) => {
      const ids = tokenizer.encode(line), tokens = ids.map((id) => tokenizer.shown(id));
      const around = { tokenizer, specials: { ...specials, start: 0, ends: [], banned: [], marks: [...marks] } };
      const pair = (text, other, room = Infinity) => {
        const { tokens, ...found } = sourceOf(/** @type {any} */ (around), text, other, room);
        return { ...found, ids: tokens.map(({ id }) => id), parts: tokens.map(({ part = "" }) => part) };
      };
      const framed = second ? [pair(line, ""), pair(line, second, most)] : [];
      return { ids, tokens, words: tokenizer.words(ids), text: tokenizer.decode(ids), framed };
    };
    const all = lines.map(read);
    const took = performance.now() - start;
    return { size: tokenizer.size, specials: { ...specials, marks: [...marks] }, opened, lines: all, took };
  } catch (error) {
    return { code: error.code, sentence: error.message, time: performance.now() - start };
  }
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(run)));
