// What happens to a translation without some heads.
import { noChanges } from "../app/link.js";
import { everyHead, measuredEffects } from "../pages/heads.js";

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
  const { session, text, info } = situation, measured = measuredEffects(session, text);
  const { length } = everyHead(info.heads);
  if (measured.length < length) situation.report(measured.length, length); // the page draws again when there are more
  await session.measuring?.all;
  if (measured.length === length) return measured;
  const { signal } = session.running, usual = await situation.usual();
  return session.kept(`all effects ${text}`, async () =>
    [...measured, ...(await session.engine.silenceEachHead(usual, measured.length, { signal }))]);
}
