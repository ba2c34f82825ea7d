// The engine as pages use it. `LocalEngine` computes in the page itself. `WorkerEngine` has the same methods and computes
// in a Web Worker (worker.js), so that the page stays responsive.
import { silencingEachHead } from "./analysis/silencing.js";
import { fetchCheckpoint, readCheckpoint } from "./checkpoint.js";
import { EngineError, require } from "./errors.js";
import { classifyIds, shortened } from "./inference/classify.js";
import { forcedIds, translating } from "./inference/translate.js";
import { editsOf } from "./interventions.js";
import { numHeads, numLayers } from "./network/translators.js";
import { KINDS } from "./trace.js";

/**
 * @typedef {{ report?: (value: any) => void, signal?: AbortSignal }} Watching Called after each step; ends the work.
 * @typedef {{ search?: Omit<import("./inference/translate.js").SearchConfig, "random">, forced?: Map<number, number>,
 *   limit?: number, changes?: import("./interventions.js").Intervention, record?: string[] }} Request
 */

/** The methods of an engine. Both kinds of engine have exactly these. */
export const METHODS = ["open", "tokenize", "forced", "translate", "silenceEachHead", "classify"];

/** Let the page, or the messages of a worker, have their turn. */
function turn() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve(undefined);
    };
    port2.postMessage(0);
  });
}

/**
 * Run a generator, with a turn for others after each step.
 * @template S, R
 * @param {Generator<S, R>} work
 * @param {Watching} watching
 * @returns {Promise<R>}
 */
async function inTurns(work, { report, signal }) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    report?.(value);
    await turn();
    require(!signal?.aborted, "cancelled", "The work was cancelled.");
  }
}

export class LocalEngine {
  /** @type {import("./checkpoint.js").Checkpoint | import("./checkpoint.js").ClassifierCheckpoint | null} */
  checkpoint = null;

  /**
   * Open a checkpoint. It replaces the one before.
   * @param {string | import("./checkpoint.js").CheckpointFiles} source The address of its folder, or its files.
   * @param {Watching} [watching] Reports { bytes, total } of the download.
   */
  async open(source, { report, signal } = {}) {
    const files = typeof source === "string" ? await fetchCheckpoint(source, (bytes, total) => report?.({ bytes, total }), signal) : source;
    require(!signal?.aborted, "cancelled", "The work was cancelled.");
    this.checkpoint = readCheckpoint(files);
    const { task, config, languages, figures } = this.checkpoint;
    const heads = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, [numLayers(config, kind), numHeads(config)]]));
    return { task, config, languages, figures, heads };
  }

  /** @param {"translation" | "classification"} task */
  opened(task) {
    require(this.checkpoint, "no-checkpoint", "No checkpoint is open.");
    require(this.checkpoint.task === task, "other-task", `This checkpoint does ${this.checkpoint.task}. Choose one for ${task}.`);
    return /** @type {any} */ (this.checkpoint);
  }

  /** The tokens of a text, without special tokens. @param {string} text */
  async tokenize(text) {
    require(this.checkpoint, "no-checkpoint", "No checkpoint is open.");
    const { tokenizer } = this.checkpoint, ids = tokenizer.encode(text);
    return { ids, tokens: tokenizer.tokens(ids), words: tokenizer.words(ids) };
  }

  /** The tokens to force, position → id, so that the model writes exactly this text. @param {string} text */
  async forced(text) {
    return forcedIds(this.opened("translation"), text);
  }

  /**
   * @param {string} text @param {Request} [request]
   * @param {Watching} [watching] Reports a `Progress` after each step.
   * @returns {Promise<import("./inference/translate.js").Translation>}
   */
  async translate(text, { changes = {}, ...options } = {}, watching = {}) {
    return inTurns(translating(this.opened("translation"), text, { ...options, edits: editsOf(changes) }), watching);
  }

  /**
   * @param {import("./analysis/silencing.js").ReadTokens} translation Of greedy search, without changes.
   * @param {Watching} [watching] Reports { effect, done, heads } after each head.
   */
  async silenceEachHead({ source, read, written }, watching = {}) {
    return inTurns(silencingEachHead(this.opened("translation"), { source, read, written }), watching);
  }

  /** @param {string} text @param {Request} [request] Its changes and its hook points. */
  async classify(text, { changes = {}, record } = {}) {
    const checkpoint = this.opened("classification");
    const ids = shortened(checkpoint.tokenizer.encode(text), checkpoint.config.max_length);
    return { ...classifyIds(checkpoint, ids, { edits: editsOf(changes), record }), tokens: checkpoint.tokenizer.tokens(ids) };
  }

  close() {
    this.checkpoint = null;
  }
}

/** The same methods, computed by a worker. The last argument of a method may be a `Watching`. */
export class WorkerEngine {
  /** @param {Worker} worker That runs worker.js. */
  constructor(worker) {
    this.worker = worker;
    /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void, report?: (value: any) => void }>} */
    this.waiting = new Map();
    this.last = 0;
    worker.onmessage = ({ data }) => this.receive(data);
    worker.onerror = () => this.fail(new EngineError("worker-failed", "The engine could not start in the background."));
  }

  receive({ id, report, result, error }) {
    const call = this.waiting.get(id);
    if (!call) return;
    if (report !== undefined) {
      call.report?.(report);
      return;
    }
    this.waiting.delete(id);
    if (error) call.reject(new EngineError(error.code, error.message));
    else call.resolve(result);
  }

  fail(error) {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  /** @param {string} method @param {unknown[]} values @param {Watching} [watching] @returns {Promise<any>} */
  call(method, values, { report, signal } = {}) {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, report });
      this.worker.postMessage({ id, method, values });
      signal?.addEventListener("abort", () => this.worker.postMessage({ id, method: "cancel" }), { once: true });
      if (signal?.aborted) this.worker.postMessage({ id, method: "cancel" });
    });
  }

  open(source, watching) {
    return this.call("open", [source], watching);
  }

  tokenize(text) {
    return this.call("tokenize", [text]);
  }

  forced(text) {
    return this.call("forced", [text]);
  }

  translate(text, request = {}, watching = {}) {
    return this.call("translate", [text, request], watching);
  }

  silenceEachHead({ source, read, written }, watching = {}) {
    return this.call("silenceEachHead", [{ source, read, written }], watching);
  }

  classify(text, request = {}) {
    return this.call("classify", [text, request]);
  }

  close() {
    this.worker.terminate();
    this.fail(new EngineError("cancelled", "The work was cancelled."));
  }
}

/**
 * An engine in a worker; or in the page where no worker can start, as in a page that was opened from a file.
 * @param {string | URL} [address] Of worker.js.
 */
export function startEngine(address) {
  if (!address || typeof Worker === "undefined" || location.protocol === "file:") return new LocalEngine();
  return new WorkerEngine(new Worker(address, { type: "module" }));
}

/**
 * Answer the messages of a `WorkerEngine`: { id, method, values } → { id, report }, then { id, result } or { id, error }.
 * The method "cancel" ends the work with this id.
 * @param {{ onmessage: ((event: MessageEvent) => void) | null, postMessage: (message: any) => void }} scope Of a worker.
 */
export function serveEngine(scope) {
  const engine = new LocalEngine();
  /** @type {Map<number, AbortController>} */
  const running = new Map();
  scope.onmessage = async ({ data: { id, method, values } }) => {
    if (method === "cancel") {
      running.get(id)?.abort();
      return;
    }
    const controller = new AbortController();
    running.set(id, controller);
    const watching = { report: (report) => scope.postMessage({ id, report }), signal: controller.signal };
    try {
      require(METHODS.includes(method), "unknown-method", `The engine has no method ${method}.`);
      scope.postMessage({ id, result: await engine[method](...values, watching) });
    } catch (error) {
      const { name, code = name === "AbortError" ? "cancelled" : "internal", message } = /** @type {any} */ (error);
      scope.postMessage({ id, error: { code, message } });
    } finally {
      running.delete(id);
    }
  };
}
