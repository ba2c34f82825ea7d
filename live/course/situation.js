// What a page shows for the visitor: the open checkpoint, the text, and all that the visitor changed. The checks of a
// lesson see no more than this. The names are those of viz_app/course/situation.py.
import { noChanges, writeChanges } from "../app/link.js";

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
  }

  /** The translation with the forced words and the visitor's changes. */
  translation() {
    return this.translate(this.text, { forced: this.forced, changes: this.changes });
  }

  /** The translation of the same text without any change. */
  usual() {
    return this.translate(this.text);
  }

  /**
   * A translation by the open checkpoint. It is computed once and kept.
   * @param {string} text
   * @param {{ changes?: Changes, forced?: Map<number, number>, record?: string[] }} [request]
   * @returns {Promise<Translation>}
   */
  async translate(text, request) {
    return this.session.translate(text, { ...request, quiet: true });
  }

  /**
   * The texts that the model writes for some sentences, without changes and with them.
   * @param {string[]} sentences
   * @param {Changes} changes
   */
  async bothTextsOf(sentences, changes) {
    const { length } = sentences, report = (done) => this.report(done, 2 * length);
    const usual = await this.textsOf(sentences, noChanges(), report);
    return { usual, changed: await this.textsOf(sentences, changes, (done) => report(length + done)) };
  }

  /**
   * They are kept as one result, so that what the page needs stays kept.
   * @param {string[]} sentences
   * @param {Changes} changes
   * @param {(done: number) => void} report
   * @returns {Promise<string[]>}
   */
  async textsOf(sentences, changes, report) {
    const { session } = this, { signal } = session.running;
    return session.kept(JSON.stringify(["texts", sentences, writeChanges(changes)]), async () => {
      const texts = [];
      for (const text of sentences) {
        texts.push((await session.engine.translate(text, { changes }, { signal })).text);
        report(texts.length);
      }
      return texts;
    });
  }
}
