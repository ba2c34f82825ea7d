// The kind of attention, the layer and the head that the visitor chose. They follow the visitor from page to page.
import { kindsOf } from "./kinds.js";

/** @typedef {{ choices: import("./choices.js").Choices, info: import("./session.js").Info }} Chosen */

/**
 * @param {Chosen} chosen
 * @param {string} [wanted] The kind, if a page has a choice of its own for it.
 * @returns {{ kind: string, layer: number, head: any }} The head is a number from 0, "mean" or "max".
 */
export function chosenHead({ choices, info }, wanted = choices.kind) {
  const kinds = kindsOf(info.heads), kind = kinds.includes(wanted) ? wanted : kinds[0];
  const [layers, heads] = info.heads[kind];
  const layer = choices.layer && Number(choices.layer) >= 1 ? Math.min(Number(choices.layer), layers) - 1 : layers - 1;
  const head = ["mean", "max"].includes(choices.head)
    ? choices.head
    : Math.min(Math.max(Number(choices.head ?? 1), 1), heads) - 1;
  return { kind, layer, head };
}

/** As `chosenHead`, where a page has no use for an aggregate. @param {Chosen} chosen @param {string} [wanted] */
export function singleHead(chosen, wanted) {
  const found = chosenHead(chosen, wanted);
  return { ...found, head: typeof found.head === "number" ? found.head : 0 };
}
