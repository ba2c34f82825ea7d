// The open checkpoint, and what it has computed. A result that was asked for before is there at once.
import { noChanges, readChanges, within, writeChanges } from "../engine/changes.js";
import { EngineError, N_, require } from "../engine/errors.js";
import { filesOf, startAnswers } from "./answers.js";

const KEPT = 24, KEPT_BYTES = 150 << 20; // results, and their arrays
const CANCELLED = N_("The work was cancelled.");

/** Bytes of the arrays of a result. @param {any} result */
function bytesOf({ maps, masks, recorded }) {
  return Object.values({ ...maps, ...masks, ...recorded }).reduce((sum, { data }) => sum + data.byteLength, 0);
}

export class Session {
  /** @param {string | undefined} script That opens folders of other libraries, if it is one of its own. */
  constructor(script) {
    this.script = script;
    this.engine = startAnswers();
    /** @type {Info | null} */
    this.info = null;
    this.name = "";
    /** @type {Map<string, any>} Name of a result → the result, or the promise of it. */
    this.results = new Map();
    this.running = new AbortController();
    this.opening = new AbortController();
    /** @type {Promise<Info> | null} Of the checkpoint with this name. */
    this.opened = null;
    this.progress = { bytes: 0, total: 0 }; // of its download
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
   * Open a checkpoint, unless it is open or being opened. The download of another one ends.
   * @param {Site} listed
   * @param {() => void} report Called when `progress` has changed.
   * @returns {Promise<Info>}
   */
  open(listed, report) {
    this.report = report;
    if (this.name === listed.name && this.opened) return this.opened;
    if (this.engine.isBusy) this.stop(); // what goes on may have no pause
    this.cancel();
    this.results.clear();
    this.opening.abort();
    this.opening = new AbortController();
    [this.name, this.info, this.progress] = [listed.name, null, { bytes: 0, total: 0 }];
    this.opened = this.load(listed, this.opening.signal);
    return this.opened;
  }

  /** @param {Site} listed @param {AbortSignal} signal */
  async load(listed, signal) {
    const watching = { signal, report: (progress) => {
      if (signal.aborted) return;
      this.progress = progress;
      this.report?.();
    } };
    try {
      const files = await filesOf(listed, watching);
      require(!signal.aborted, "cancelled", CANCELLED); // the engine keeps the checkpoint that it is given last
      const info = await this.engine.open({ ...files, script: this.script }, watching);
      if (!signal.aborted) this.info = info;
      return info;
    } catch (error) {
      if (!signal.aborted) {
        this.opened = null;
        this.opening.abort(); // its other files
      }
      throw error;
    }
  }

  /**
   * What files of a model are. An engine of its own reads them: it ends with the answer, or if it needs too long.
   * @param {CheckpointFiles} files @param {number} patience Milliseconds. @param {AbortSignal} signal
   * @returns {Promise<Info>}
   */
  async described(files, patience, signal) {
    let timer = 0;
    const late = new Promise((_, reject) => {
      timer = window.setTimeout(() => reject(new EngineError("too-slow", N_(
        "These files take too long to read, so they were left out."
      ))), patience);
    });
    const engine = startAnswers();
    try {
      return await Promise.race([engine.describe({ ...files, script: this.script }, { signal }), late]);
    } finally {
      clearTimeout(timer);
      engine.stop();
    }
  }

  /** End the engine, though it may be busy without a pause. The model opens again in another one. */
  stop() {
    this.cancel();
    this.opening.abort();
    this.engine.stop();
    this.engine = startAnswers();
    [this.name, this.info, this.opened] = ["", null, null];
    this.results.clear();
  }

  /**
   * A result by its name, computed at most once. It is a promise only until it is there.
   * @template T @param {string} name @param {() => Promise<T>} compute @returns {T | Promise<T>}
   */
  kept(name, compute) {
    const present = this.results.get(name);
    if (present !== undefined) return present;
    require(this.info, "cancelled", CANCELLED); // what belongs to another checkpoint ends
    const promise = compute().then(
      (value) => { if (this.results.get(name) === promise) this.results.set(name, value); return value; },
      (error) => { if (this.results.get(name) === promise) this.results.delete(name); throw error; },
    );
    this.results.set(name, promise);
    const names = [...this.results.keys()].reverse();
    let bytes = 0;
    names.forEach((old, i) => {
      bytes += bytesOf(this.results.get(old));
      if (i > 0 && (i >= KEPT || bytes > KEPT_BYTES)) this.results.delete(old);
    });
    return promise;
  }

  /**
   * What the model does for a run.
   * @param {Asked} asked
   * @param {{ record?: string[], quiet?: boolean }} [options] Patterns of hook points to record; `quiet`: do not show
   *   the tokens while they are written.
   * @returns {Result | Promise<Result>}
   */
  result({ text, second = "", forced = new Map(), changes = noChanges() }, { record = [], quiet = false } = {}) {
    /** @type {Run} */
    const run = { text, second, forced: [...forced], changes: writeChanges(changes) }, { signal } = this.running;
    return this.kept(JSON.stringify([run, record]), () => this.engine.result(run, { record }, {
      signal, report: (step) => { if (!quiet && !signal.aborted) this.onStep(step); },
    }));
  }

  /** The changes of a link that this model can have. @param {string} [code] */
  changes(code = "") {
    return within(readChanges(code) ?? noChanges(), /** @type {Info} */ (this.info).heads);
  }
}
