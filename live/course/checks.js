// The checks of all lessons whose steps these pages can show.
import { QUERY_KEY_VALUE } from "./checks/query_key_value.js";

/** Lesson → step → its check. @type {Record<string, import("./verdicts.js").Checks>} */
export const CHECKS = {
  "query-key-value": QUERY_KEY_VALUE,
};
