// The kinds of attention as the pages name them; model/config/kinds.py has the same words.
import { KINDS } from "./engine/trace.js";
import { say } from "./assets/words.js";

/** The names of a kind, and what its maps show. @param {string} kind */
export function namesOf(kind) {
  const names = {
    cross: {
      title: say("cross"), fullName: say("cross-attention"), query: say("target token being written"), key: say("source token"),
      shows: say("Each cell shows how much the decoder attends to one source token (column) when it writes a token (row)."),
    },
    encoder: {
      title: say("encoder self"), fullName: say("encoder self-attention"), query: say("source token being encoded"), key: say("source token"),
      shows: say("Each cell shows how much the encoder attends to one source token (column) when it encodes another (row)."),
    },
    decoder: {
      title: say("decoder self, masked"), fullName: say("decoder self-attention"), query: say("target token just read"), key: say("target token read so far"),
      shows: say("Each cell shows how much the decoder attends to the same or an earlier token (column) after it has read a token (row)."),
    },
  };
  return names[kind];
}

/** Whether a query may attend to a key. @param {string} kind @param {number} query @param {number} key */
export function mayAttend(kind, query, key) {
  return kind !== "decoder" || key <= query;
}

/** The kinds of attention that a model has. @param {Record<string, number[]>} heads Kind → layers and heads. */
export function kindsOf(heads) {
  return Object.keys(KINDS).filter((kind) => heads[kind]?.[0]);
}
