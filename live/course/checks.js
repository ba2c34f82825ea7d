// The checks of all lessons whose steps these pages can show.
import { FIRST_VISIT } from "./checks/first_visit.js";
import { MANY_HEADS } from "./checks/many_heads.js";
import { MASKS_AND_DECODING } from "./checks/masks_and_decoding.js";
import { POSITIONS } from "./checks/positions.js";
import { QUERY_KEY_VALUE } from "./checks/query_key_value.js";
import { WHAT_ATTENTION_EXPLAINS } from "./checks/what_attention_explains.js";
import { WHY_ATTENTION } from "./checks/why_attention.js";

/** Lesson → step → its check. @type {Record<string, import("./verdicts.js").Checks>} */
export const CHECKS = {
  "why-attention": WHY_ATTENTION,
  "query-key-value": QUERY_KEY_VALUE,
  "many-heads": MANY_HEADS,
  "masks-and-decoding": MASKS_AND_DECODING,
  positions: POSITIONS,
  "what-attention-explains": WHAT_ATTENTION_EXPLAINS,
  "first-visit": FIRST_VISIT,
};
