// The kinds of attention as the pages name them; model/config/kinds.py has the same words.
import { KINDS } from "./engine/trace.js";
import { say } from "./assets/words.js";

/**
 * The names of a kind, and what its maps show.
 * @param {string} kind
 * @param {Translation} [translation] A model with only one text has neither a source nor a target.
 */
export function namesOf(kind, translation) {
  const single = translation && !(translation.source.length && translation.written.length);
  const names = {
    cross: {
      title: say("cross"), fullName: say("cross-attention"),
      query: say("target token being written"), key: say("source token"),
      shows: say(
        "Each cell shows how much the decoder attends to one source token (column) when it writes a token (row)."
      ),
    },
    encoder: {
      title: say("encoder self"), fullName: say("encoder self-attention"),
      query: single ? say("token being encoded") : say("source token being encoded"),
      key: single ? say("token") : say("source token"),
      shows: say(
        "Each cell shows how much the encoder attends to one source token (column) when it encodes another (row)."
      ),
    },
    decoder: {
      title: say("decoder self, masked"), fullName: say("decoder self-attention"),
      query: single ? say("token just read") : say("target token just read"),
      key: single ? say("token read so far") : say("target token read so far"),
      shows: say(
        "Each cell shows how much the decoder attends to the same or an earlier token (column) after it has read a "
        + "token (row)."
      ),
    },
  };
  return names[kind];
}

/**
 * Whether a query of a layer may attend to a key. A model may have other masks than the usual ones, such as windows.
 * @param {Translation} translation
 * @param {string} kind
 * @returns {(layer: number, query: number, key: number) => boolean}
 */
export function maskOf({ masks, maps }, kind) {
  const own = masks?.[kind], [, , T, S] = maps[kind].shape;
  return own
    ? (layer, query, key) => own.data[(layer * T + query) * S + key] > 0
    : (_layer, query, key) => kind !== "decoder" || key <= query;
}

/** A token as pictures name it: in a pair of texts with the name of its text. @param {Token} token */
export const labelOf = ({ text, part }) => (part ? `${part}: ${text}` : text);

/** The kinds of attention that a model has. @param {Record<string, number[]>} heads Kind → layers and heads. */
export function kindsOf(heads) {
  return Object.keys(KINDS).filter((kind) => heads[kind]?.[0]);
}
