// The engine as pages use it: in the page itself, or with the same methods in a Web Worker, so that the page stays
// responsive. README.md describes the methods, and types.d.ts their values.
import { silencingEachHead } from "./analysis/silencing.js";
import { EngineError, N_, readError, require, writeError } from "./errors.js";
import { readingOf, running } from "./inference/translate.js";
import { editsOf } from "./interventions.js";
import { headsOf } from "./network/translators.js";
import { openCheckpoint, readCheckpoint } from "./opening.js";
import { fromPorts, withPorts } from "./remote.js";
import { sizeOf } from "./tensor.js";

/** Each method of an engine, with the number of its arguments before `watching`. */
const METHODS = { open: 1, describe: 1, result: 2, silenceEachHead: 2, read: 3 };

let writing = 0; // runs that go on

/** Let the page, or the messages of a worker, have their turn. */
function turn() {
  const { port1, port2 } = new MessageChannel();
  port2.postMessage(0);
  return new Promise((resolve) => {
    port1.onmessage = () => resolve(port1.close());
  });
}

/**
 * Run a generator, with a turn for others after each step.
 * @template S, R @param {Generator<S, R>} work @param {Watching} watching
 * @param {() => unknown} [waits] Whether other work comes first.
 */
async function inTurns(work, { report, signal }, waits) {
  for (;;) {
    while (waits?.()) await turn();
    require(!signal?.aborted, "cancelled", N_("The work was cancelled."));
    const { done, value } = work.next();
    if (done) return value;
    report?.(value);
    await turn();
  }
}

/** What a page knows of a checkpoint. @param {AnyCheckpoint} checkpoint @returns {Info} */
function infoOf({ family, task, config, languages, figures, notFinite, tokenizer, specials, weights }) {
  const used = [...weights.entries.values()].filter(({ places }) => places.length);
  return {
    family, task, config, languages, figures, notFinite, heads: headsOf(config), bytes: weights.bytes,
    readsPairs: Boolean(specials.separator?.length),
    mask: specials.mask == null ? "" : tokenizer.shown(specials.mask),
    parameters: used.reduce((sum, { shape }) => sum + sizeOf(shape), 0),
  };
}

/** @implements {Engine} */
export class LocalEngine {
  /** @type {AnyCheckpoint | null} */
  checkpoint = null;
  opening = 0; // calls of `open`
  isBusy = false; // it has a turn for others after each step

  /** @param {CheckpointFiles} files @param {Watching} [watching] */
  async open(files, { report, signal } = {}) {
    const number = ++this.opening;
    const check = () => require(
      number === this.opening && !signal?.aborted, "cancelled", N_("The work was cancelled.")
    );
    this.checkpoint = null; // two models may not fit into the memory
    const checkpoint = await readCheckpoint(files, (progress) => {
      check();
      report?.(progress);
    });
    check();
    this.checkpoint = checkpoint;
    return infoOf(checkpoint);
  }

  stop() {}

  /** What a checkpoint is, from its texts and the headers of its weights. @param {CheckpointFiles} files */
  async describe(files) {
    return infoOf(await openCheckpoint(files));
  }

  /** The open checkpoint. @returns {AnyCheckpoint} */
  opened() {
    require(this.checkpoint, "no-checkpoint", N_("No checkpoint is open."));
    return this.checkpoint;
  }

  /** @param {Run} run @param {Recorded} [recorded] @param {Watching} [watching] */
  async result(run, { record } = {}, watching = {}) {
    const work = running(this.opened(), run, record);
    writing++;
    return inTurns(work, watching).finally(() => writing--);
  }

  /** Runs come first. @param {Result} result @param {number} [first] @param {Watching} [watching] */
  async silenceEachHead(result, first = 0, watching = {}) {
    return inTurns(silencingEachHead(this.opened(), result, first), watching, () => writing);
  }

  /**
   * @param {number[]} source @param {number[]} target Ids, possibly with padding at their ends.
   * @param {EngineRequest} [request]
   */
  async read(source, target, { changes = {}, record } = {}) {
    const checkpoint = this.opened(), { task } = checkpoint, wanted = "translation";
    const sentence = N_("This checkpoint does {task}. Choose one for {wanted}.");
    require(task === wanted, "other-task", sentence, { task, wanted });
    return readingOf(checkpoint, source, target, { edits: editsOf(changes), record });
  }
}

/** Sends each call to worker.js: { id, method, values } → { id, report }, then { id, result } or { id, error }. */
export class WorkerEngine {
  /** @param {Worker} worker */
  constructor(worker) {
    this.worker = worker;
    /**
     * @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void, report?: (value: any) => void
     *   }>}
     */
    this.waiting = new Map();
    this.calls = 0;
    worker.onmessage = ({ data }) => this.receive(data);
    worker.onerror = () => this.fail("worker-failed", N_("The engine could not start in the background."));
    for (const [method, count] of Object.entries(METHODS))
      this[method] = (...given) => this.call(method, given.slice(0, count), given[count]);
  }

  /** @param {string} method @param {any[]} values @param {Watching} [watching] */
  call(method, values, { report, signal } = {}) {
    const id = ++this.calls, sent = withPorts?.(values, signal); // a page without a hub reads no files for its worker
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, report });
      this.worker.postMessage({ id, method, values: sent?.values ?? values }, sent?.ports ?? []);
      const cancel = () => this.worker.postMessage({ id, method: "cancel" });
      if (signal?.aborted) cancel();
      signal?.addEventListener("abort", cancel, { once: true });
    }).finally(() => sent?.close());
  }

  receive({ id, report, result, error }) {
    const call = this.waiting.get(id);
    if (report !== undefined) return call?.report?.(report);
    this.waiting.delete(id);
    return error ? call?.reject(readError(error)) : call?.resolve(result);
  }

  /** Whether a call waits for its answer. */
  get isBusy() {
    return this.waiting.size > 0;
  }

  /** End all work. */
  stop() {
    this.worker.terminate();
    this.fail("cancelled", N_("The work was cancelled."));
  }

  fail(code, template) {
    const error = new EngineError(code, template);
    this.call = () => Promise.reject(error);
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

/**
 * An engine in a worker; in the page where no worker can start.
 * @param {string | URL} [address] Of worker.js. @returns {Engine}
 */
export function startEngine(address) {
  try {
    if (address) return /** @type {any} */ (new WorkerEngine(new Worker(address, { type: "module" })));
  } catch {
    // A page without an origin of its own, such as one in an isolated frame, has no worker.
  }
  return new LocalEngine();
}

/** Answer the messages of a `WorkerEngine`. "cancel" ends the work with this id. @param {any} scope Of a worker. */
export function serveEngine(scope) {
  const engine = new LocalEngine();
  /** @type {Map<number, AbortController>} */
  const running = new Map();
  scope.onmessage = async ({ data: { id, method, values } }) => {
    if (method === "cancel") return running.get(id)?.abort();
    const controller = new AbortController(), report = (report) => scope.postMessage({ id, report });
    running.set(id, controller);
    try {
      const given = fromPorts?.(values) ?? values, filled = Array.from({ length: METHODS[method] }, (_, i) => given[i]);
      scope.postMessage({ id, result: await engine[method](...filled, { report, signal: controller.signal }) });
    } catch (error) {
      scope.postMessage({ id, error: writeError(error) });
    }
    running.delete(id);
  };
}
