// The open checkpoint, and what it has computed. A result that was asked for before is there at once.
import { noChanges, readChanges, within, writeChanges } from "./changes.js";
import { sourceOf, startAnswers } from "./opening.js";

const KEPT = 24; // results

/**
 * @typedef {{ name: string, source: string, languages: [string, string], description: string, examples: string[],
 *   heads: string, order: string, reordered: string, batch: string[], card: any }} Site A checkpoint as the site lists it: `source` is its
 *   folder, `card` its cards by language or the address of a file with them.
 * @typedef {AbortController & { all: Promise<SilencingEffect[]> }} Measuring `all`: when every head is measured.
 * @typedef {Awaited<ReturnType<Engine["open"]>>} Info
 */

export class Session {
  constructor() {
    this.engine = startAnswers();
    /** @type {Info | null} */
    this.info = null;
    this.name = "";
    /** @type {Map<string, any>} Name of a result → the result, or the promise of it. */
    this.results = new Map();
    this.running = new AbortController();
    /** @type {Measuring | null} Ends the measurement of all heads, which goes on while a page is read. */
    this.measuring = null;
    /** @type {(step: Progress) => void} Called with each token that is written. */
    this.onStep = () => {};
  }

  /** End all work that goes on. */
  cancel() {
    this.running.abort();
    this.running = new AbortController();
  }

  /** End the measurement of all heads: what the visitor asks for comes first. What is measured stays. */
  stopMeasuring() {
    this.measuring?.abort();
    this.measuring = null;
  }

  /**
   * Open a checkpoint, unless it is open.
   * @param {Site} listed
   * @param {(progress: { bytes: number, total: number }) => void} report
   */
  async open(listed, report) {
    if (this.name === listed.name && this.info) return this.info;
    this.cancel();
    this.results.clear();
    [this.name, this.info] = [listed.name, null];
    const info = await this.engine.open(await sourceOf(listed), { report });
    if (this.name === listed.name) this.info = info;
    return info;
  }

  /**
   * A result by its name, computed at most once. It is a promise only until it is there.
   * @template T
   * @param {string} name
   * @param {() => Promise<T>} compute
   * @returns {T | Promise<T>}
   */
  kept(name, compute) {
    const present = this.results.get(name);
    if (present !== undefined) return present;
    const promise = compute().then(
      (value) => { if (this.results.get(name) === promise) this.results.set(name, value); return value; },
      (error) => { this.results.delete(name); throw error; },
    );
    this.results.set(name, promise);
    for (const old of [...this.results.keys()].slice(0, -KEPT)) this.results.delete(old);
    return promise;
  }

  /**
   * @param {string} text
   * @param {{ forced?: Map<number, number>, changes?: import("./changes.js").Changes, record?: string[], quiet?: boolean }} [request] `quiet`:
   *   do not show the tokens while they are written.
   * @returns {Translation | Promise<Translation>}
   */
  translate(text, { forced = new Map(), changes = noChanges(), record = [], quiet = false } = {}) {
    const name = JSON.stringify(["translate", text, [...forced], writeChanges(changes), record]);
    return this.kept(name, () => this.engine.translate(text, { forced, changes, record }, { signal: this.running.signal, report: (step) => { if (!quiet) this.onStep(step); } }));
  }

  /** The changes of a link that this model can have. @param {string} [code] */
  changes(code = "") {
    return within(readChanges(code) ?? noChanges(), /** @type {Info} */ (this.info).heads);
  }
}
