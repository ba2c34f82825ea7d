// What a page shows for the visitor: the open checkpoint, the text, and all that the visitor changed. The checks of a
// lesson see no more than this. The names are those of viz_app/course/situation.py.
import { evaluate } from "./expressions.js";
import { Session } from "../app/session.js";
import { QUANTITIES } from "./quantities.js";

/** @type {Map<string, Session>} Name of a checkpoint that is not open → its session. */
const otherSessions = new Map();

export class Situation {
  /**
   * @param {{ app: App, step: { choices: Choices },
   *   report?: (done: number, all: number) => void }} opened
   *   The page, the step that is open, and what is called while a long check goes on.
   */
  constructor({ app, step, report = () => {} }) {
    this.report = report;
    this.session = app.session;
    this.text = app.text;
    this.choices = { ...step.choices, ...app.choices };
    this.forced = app.forced;
    this.changes = app.session.changes(app.choices.intervention);
    this.info = /** @type {Info} */ (app.info);
    this.listed = app.listed;
    this.app = app;
  }

  /** The translation with the forced words and the visitor's changes. */
  translation() {
    return this.result({ text: this.text, forced: this.forced, changes: this.changes });
  }

  /** The translation of the same text without any change. */
  usual() {
    return this.result({ text: this.text });
  }

  /**
   * What a checkpoint of the site does for a run. One that is not open gets an engine of its own.
   * @param {string} name @param {Asked} asked @returns {Promise<Result>}
   */
  async resultOf(name, asked) {
    if (name === this.listed.name) return this.result(asked);
    const session = otherSessions.get(name) ?? new Session(this.app.site.scripts?.foreign);
    otherSessions.set(name, session);
    await session.open(this.app.listedAs(name), () => {});
    return session.result(asked, { quiet: true });
  }

  /**
   * What the open checkpoint does for a run. It is computed once and kept.
   * @param {Asked} asked @param {string[]} [record] @returns {Promise<Result>}
   */
  async result(asked, record) {
    return this.session.result(asked, { record, quiet: true });
  }
}

/**
 * What the visitor's run says about an answer.
 * @param {import("./catalogue.js").Step} step
 * @param {Situation} situation
 * @param {import("./catalogue.js").Answer} answer
 */
export async function check({ lines, parameters, choices, answer: { form } }, situation, answer) {
  /** @type {import("./rich.js").Values} */
  const estimate = form === "number" ? { answer: Number(answer) } : {};
  const verdict = await evaluate(lines, { ...parameters, ...estimate, given: answer, opens: choices },
    (name, values) => {
      if (!Object.hasOwn(QUANTITIES, name)) throw new Error(`No page of a site has the quantity ${name}.`);
      return QUANTITIES[name](situation, ...values);
    });
  return { ...verdict, values: { ...estimate, ...verdict.values } };
}
