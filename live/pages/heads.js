// Heads: silence heads, make them uniform, paint a weight, and see the translation change.
import { button, caption, heading, mount, place, segmented, slider, toggle } from "../controls/controls.js";
import { chosenSection, headLists, singleHead } from "../controls/heads.js";
import { compared } from "../controls/tokens.js";
import { everyHead, noChanges, sameHead, toggled, writeChanges } from "../engine/changes.js";
import { outcomesOf } from "../engine/inference/run.js";
import { kindsOf, largeMap, mapName, namesOf, viewOf } from "../pictures/maps.js";
import { draw, el } from "../ui/dom.js";
import { headSwitches } from "../ui/head_switches.js";
import { attentionMap } from "../ui/maps.js";
import { colourAt, inkOn, SIGNED, times } from "../ui/numbers.js";
import { decimal, say } from "../ui/words.js";

const PLACELESS = ["alibi", "relative", "none"]; // no vector for a position is added
const REDRAW = 12; // heads between two drawings while the effects are measured

/** @param {Element} root @param {App} app */
export async function showHeads(root, app) {
  const { session, info } = app, changes = session.changes(app.choices.intervention);
  const isChanged = writeChanges(changes) !== "";
  const before = await app.ifCurrent(app.result());
  const after = isChanged ? await app.ifCurrent(session.result({ ...app.asked, changes })) : before;
  const rescored = isChanged && before.written.length
    ? await app.ifCurrent(session.result({ ...app.asked, forced: asForced(before), changes }))
    : after;
  const predicts = outcomesOf(before).length > 0, fixed = app.isReport;
  const effects = app.forced.size || fixed || !predicts ? [] : effectsOf(app, before);
  const change = (next) => app.change({ intervention: writeChanges(next) });
  const flat = app.choices.click_means === "flatten";
  const { kind, layer, head } = singleHead(app), weight = Number(app.choices.painted_weight ?? 1);
  const { view, lists } = chosenSection(app, viewOf(after, kind));
  draw(root, [
    ...(predicts ? [
      compared([[say("as trained"), before.text], [say("changed"), after.text]], before.languages[1]),
      ...(Number.isFinite(logProbability(rescored, before))
        ? [caption(probabilitySentence(info.task, before, rescored))] : []),
    ] : [caption(say("The model predicts nothing in this text. A change shows only in its maps."))]),
    el("div", { class: "notes" }, app.notesOf(before)),
    ...(fixed ? [caption(changesSentence(changes))] : [el("div", { class: "row" }, [
      segmented(
        say("A click on a head"), [["silence", say("Silence it")], ["flatten", say("Make it uniform")]],
        flat ? "flatten" : "silence", app.set("click_means"),
      ),
      ...(info.config.architecture === "recurrent" || PLACELESS.includes(info.config.positional) ? [] : [
        toggle(say("Positional encoding"), changes.positions, (positions) => change({ ...changes, positions })),
      ]),
      button(say("Silence all heads"), () => change({ ...changes, uniform: [], ablated: everyHead(info.heads) })),
      button(say("Clear changes"), () => change(noChanges()), { disabled: !isChanged }),
    ]), el("p", { class: "caption", role: "status" }, predicts ? effectSentence(app, effects) : "")]),
    el("div", { inert: fixed }, [place("board")]),
    caption(say(
      "✕ silenced: all its weights are 0, so the head adds nothing. ≡ uniform: every key that is not masked gets the "
      + "same weight."
    )),
    fixed ? heading(say("The map with all changes")) : heading(say("Paint a weight"), say(
      "Choose a new weight, then a cell. The other cells of its row share the rest. The map includes all your changes."
    )),
    el("div", { class: "row" }, [
      ...headLists(app),
      ...lists,
      ...(fixed ? [] : [
        slider(say("New weight"), { min: 0, max: 1, step: 0.05 }, weight, app.set("painted_weight")),
        button(say("Clear paint"), () => change({ ...changes, painted: [] }), { disabled: !changes.painted.length }),
      ]),
    ]),
    caption(paintedSentence(changes.painted)),
    place("map"),
  ]);
  const shown = boards(info.heads, changes, effects.length === everyHead(info.heads).length ? effects : []);
  mount(root, "board", headSwitches, { counted: {}, boards: shown }, (_, { places }) => {
    const [kind, layer, head] = places.at(-1), now = session.changes(app.choices.intervention);
    change(toggled(now, { kind, layer, head }, flat ? "uniform" : "ablated"));
  });
  mount(root, "map", attentionMap, { ...largeMap(view, layer, head, false), choosable: !fixed }, (_, [t, s]) => {
    const [query, key] = [view.rows[t], view.columns[s]], one = { kind, layer, head, query, key, weight };
    change({
      ...changes, painted: [
        ...changes.painted.filter((other) => !(sameHead(other, one) && other.query === query)), one,
      ],
    });
  });
}

function probabilitySentence(task, before, after) {
  const [old, now] = [logProbability(before), logProbability(after, before)];
  const two = (number) => decimal(number, 2);
  const signed = now >= old ? `+${two(now - old)}` : two(now - old);
  const values = { before: two(old), after: two(now), change: signed };
  if (task === "continuation")
    return say("The continuation as trained has the log-probability {before}. The changed model gives it {after} "
      + "({change} nats).", values);
  return before.written.length
    ? say("The translation as trained has the log-probability {before}. The changed model gives it {after} "
      + "({change} nats).", values)
    : say("The prediction as trained has the log-probability {before}. The changed model gives it {after} "
      + "({change} nats).", values);
}

/**
 * What silencing each head alone does: the effects that are measured so far. The page draws again when there are more.
 */
function effectsOf(app, before) {
  const { session } = app, measured = measuredEffects(session, app.asked);
  if (session.measuring || measured.length === everyHead(app.info.heads).length) return measured;
  const own = /** @type {Measuring} */ (new AbortController());
  const end = () => { if (session.measuring === own) session.measuring = null; };
  session.measuring = own;
  own.all = session.engine.silenceEachHead(before, measured.length,
    { signal: own.signal, report: ({ effect, done }) => {
    if (own.signal.aborted) return;
    measured.push(effect);
    if (done % REDRAW === 0) app.redraw();
  } });
  own.all.then(() => { end(); app.redraw(); }, end);
  return measured;
}

function effectSentence(app, effects) {
  if (app.forced.size) return say("The effect of each head is measured only without forced words.");
  const heads = everyHead(app.info.heads).length;
  if (effects.length < heads)
    return say("The effect of each head is being measured: {done} of {heads}.", { done: effects.length, heads });
  const values = {
    most: largestChange(effects).toFixed(2), heads,
    n: effects.filter(({ position }) => position !== -1).length,
  };
  if (app.info.task === "classification")
    return say("Blue: without this head, the label is less likely. Red: it is more likely. The log-odds change by up "
      + "to {most} nats. The sign ≠ marks heads that change the label when they alone are silenced: {n} of {heads}.",
      values);
  if (app.info.task !== "translation")
    return say("Blue: without this head, the text of the model is less likely. Red: it is more likely. The "
      + "log-probability changes by up to {most} nats. The sign ≠ marks heads that change the text when they alone are "
      + "silenced: {n} of {heads}.", values);
  return say("Blue: without this head, the translation is less likely. Red: it is more likely. The log-probability "
    + "changes by up to {most} nats. The sign ≠ marks heads that change the translation when they alone are silenced: "
    + "{n} of {heads}.", values);
}

const largestChange = (effects) => Math.max(
  1e-6, ...effects.map(({ change }) => Math.abs(change)).filter(Number.isFinite)
);

/** The data of the switches. */
function boards(heads, changes, effects) {
  const bound = largestChange(effects), stateOf = (head) => {
    if (changes.ablated.some((one) => sameHead(one, head))) return "off";
    return changes.uniform.some((one) => sameHead(one, head)) ? "uniform" : "on";
  };
  return kindsOf(heads).map((kind) => {
    const [layers, count] = heads[kind];
    const grid = (of) => times(layers, (layer) => times(count, (head) => of({ kind, layer, head })));
    return {
      kind, name: namesOf(kind).fullName, states: grid(stateOf),
      title: say("{kind}: layers down, heads across", { kind: namesOf(kind).title }),
      faces: grid((head) => face(effects.find((one) => sameHead(one, head)), bound)),
    };
  });
}

function face(effect, bound) {
  if (!effect) return undefined;
  const { position } = effect, decides = position !== -1;
  if (!Number.isFinite(effect.change))
    return { colour: SIGNED.broken, ink: "#000000", note: say("not a number"), decides };
  const colour = colourAt(SIGNED.scale, (effect.change / bound + 1) / 2);
  const change = `${effect.change < 0 ? "−" : "+"}${Math.abs(effect.change).toFixed(3)}`;
  const note = !decides ? say("{change} nats when silenced", { change })
    : position === null ? say("{change} nats when silenced; the label changes", { change })
      : say("{change} nats when silenced; token {n} changes", { change, n: position + 1 });
  return { colour, ink: inkOn(colour), note, decides };
}

/** The changed heads in words, in a report. @param {Changes} changes */
function changesSentence({ ablated, uniform, positions }) {
  const named = (heads) => heads.map(({ kind, layer, head }) => `${namesOf(kind).title}, ${mapName(layer, head)}`)
    .join("; ");
  const parts = [ablated.length ? say("Silenced heads: {heads}.", { heads: named(ablated) }) : "",
    uniform.length ? say("Uniform heads: {heads}.", { heads: named(uniform) }) : "",
      positions ? "" : say("The positional encoding is left out.")];
  return parts.filter(Boolean).join(" ") || say("No head was changed.");
}

function paintedSentence(cells) {
  const names = cells.map(({ kind, layer, head, query, key, weight }) =>
    say("{kind}, {head}, row {row}, column {column}: {weight}", {
    kind: namesOf(kind).title, head: mapName(layer, head), row: query + 1, column: key + 1, weight,
  }));
  return names.length ? say("Painted: {cells}.", { cells: names.join("; ") }) : "";
}

// What a change does to a translation: the log-probability of its tokens, and the effect of silencing each head alone.

/**
 * The log-probability of the outcomes of a run in nats, as another run of the same text gives it.
 * @param {Result} result @param {Result} [before] The run with the outcomes.
 */
export function logProbability(result, before = result) {
  const ids = outcomesOf(before).map(({ id }) => id);
  return outcomesOf(result).reduce((sum, { id, probability, candidates }, i) => (
    sum + Math.log(id === ids[i] ? probability : candidates.find((one) => one.id === ids[i])?.probability ?? 0)
  ), 0);
}

/** The tokens of a translation, to be forced: position → id. @param {Result} translation */
export function asForced({ written }) {
  return new Map(written.map(({ id }, i) => [i, id]));
}

/**
 * The effects of silencing each head that are measured so far.
 * @param {import("../app/session.js").Session} session @param {Asked} asked @returns {SilencingEffect[]}
 */
export function measuredEffects({ results }, { text, second = "" }) {
  const name = `effects ${JSON.stringify([text, second])}`, measured = results.get(name) ?? [];
  results.delete(name); // the latest result is kept longest
  results.set(name, measured);
  return measured;
}
