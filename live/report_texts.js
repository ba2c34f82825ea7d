// What only a report shows. A site is made without this file.
import { say } from "./assets/words.js";
import { N_ } from "./engine/errors.js";
import { namesOf } from "./kinds.js";
import { mapName } from "./maps.js";

export const RECORDED = N_(
  "This file holds the recorded answers for one text, without the model. To ask something new, open Headlight."
);

/** The changed heads in words. @param {import("./changes.js").Changes} changes */
export function changesSentence({ ablated, uniform, positions }) {
  const named = (heads) => heads.map(({ kind, layer, head }) => `${namesOf(kind).title}, ${mapName(layer, head)}`)
    .join("; ");
  const parts = [ablated.length ? say("Silenced heads: {heads}.", { heads: named(ablated) }) : "",
    uniform.length ? say("Uniform heads: {heads}.", { heads: named(uniform) }) : "",
      positions ? "" : say("The positional encoding is left out.")];
  return parts.filter(Boolean).join(" ") || say("No head was changed.");
}
