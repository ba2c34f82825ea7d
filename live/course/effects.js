// What happens to a translation without some heads.
import { noChanges } from "../changes.js";
import { measuredEffects } from "../head_effects.js";

/** The request for a translation without these heads. @param {Head[]} ablated */
export function silencing(ablated) {
  return { changes: { ...noChanges(), ablated } };
}

/**
 * The effect of silencing each head alone, without any other change: what the page has measured, and the rest.
 * @param {import("./situation.js").Situation} situation
 * @returns {Promise<SilencingEffect[]>}
 */
export async function allEffects(situation) {
  const { session, text } = situation, usual = await situation.usual(), { signal } = session.running;
  return session.kept(`all effects ${text}`, async () => {
    const measured = [...measuredEffects(session, text)];
    return [...measured, ...(await session.engine.silenceEachHead(usual, measured.length, { signal }))];
  });
}
