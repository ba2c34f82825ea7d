// Open your own model: what a visitor drops or chooses is described before its weights are read.
import { chosenFiles, droppedFiles, ownFilesOf } from "../app/own_files.js";
import { button, heading, note } from "../controls/controls.js";
import { shown } from "../engine/errors.js";
import { KINDS } from "../engine/trace.js";
import { announce, el } from "../ui/dom.js";
import { say } from "../ui/words.js";
import { HubModel } from "./hub_model.js";

const MEBI = 2 ** 20, PATIENCE = 20_000; // milliseconds until files that are described have taken too long
const GENERAL = ["The dog sleeps because it is tired.", "Where is the station?"];
/** @type {Record<string, string[]>} Language → sentences. */
const OTHERS_BY_LANGUAGE = { de: ["Der Hund schläft, weil er müde ist."], zh: ["狗在睡觉，因为它累了。"] };
const BEGINNINGS = ["The dog sleeps because", "Once upon a time there was a"];

/** What a model does, as a sentence. @param {Task} task */
export function taskSentence(task) {
  return {
    translation: say("It reads a text and writes another one, such as a translation."),
    continuation: say("It continues a text."),
    filling: say("It fills gaps in a text."),
    classification: say("It gives a text a label."),
    reading: say("It only reads a text: there are maps, and it writes nothing."),
  }[task];
}

/** The state of the section: `refused` is a sentence, `progress` that of an archive that is unpacked. */
export class OwnModel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.refused = "";
    /** @type {{ files: OwnFiles, found: Found } | null} */
    this.found = null;
    this.progress = { bytes: 0, total: 0 };
    /** @type {AbortController | null} While files are looked at. */
    this.looking = null;
    this.hub = app.site.hub ? new HubModel(this, app.site.hub) : null;
  }

  /** Let visitors drop files anywhere on the page. */
  listen() {
    const ofFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes("Files");
    const mark = (on) => document.documentElement.toggleAttribute("data-dropping", on);
    document.ondragover = (event) => { if (ofFiles(event)) { event.preventDefault(); mark(true); } };
    document.ondragleave = ({ relatedTarget }) => { if (!relatedTarget) mark(false); };
    document.ondrop = (event) => {
      if (!ofFiles(event)) return;
      event.preventDefault();
      mark(false);
      const dropped = droppedFiles(/** @type {DataTransfer} */ (event.dataTransfer));
      this.app.change({ lesson: "" }, { page: "checkpoints" });
      void this.look(dropped);
    };
  }

  /** Find out what files are. @param {OwnFile[] | Promise<OwnFile[]>} given */
  look(given) {
    const looked = this.examine(() => given);
    this.app.redraw();
    return looked;
  }

  /**
   * @param {(signal: AbortSignal) => OwnFile[] | Promise<OwnFile[]>} give The files.
   * @param {string} [hub] The name of their model on the hub.
   */
  async examine(give, hub = "") {
    this.looking?.abort();
    const looking = new AbortController(), { signal } = looking;
    Object.assign(this, { looking, found: null, refused: "", progress: { bytes: 0, total: 0 } });
    try {
      const files = await ownFilesOf(await give(signal), { signal, report: (progress) => {
        this.progress = progress;
        this.app.redraw();
      } });
      const found = await this.app.session.described(files, PATIENCE, signal);
      if (this.looking !== looking) return;
      this.found = { files: { ...files, hub }, found };
      announce(`${files.name}. ${taskSentence(found.task)}`);
    } catch (error) {
      if (this.looking !== looking || signal.aborted) return;
      this.refuse(error);
    }
    this.looking = null;
    this.app.redraw();
  }

  /** Say why a model cannot be opened. @param {any} error */
  refuse(error) {
    this.refused = error?.values && error.code !== "internal"
      ? say(error.template, error.values)
      : say("These files could not be read: {reason}", { reason: String(error?.message ?? error) });
    announce(this.refused);
  }

  cancel() {
    this.looking?.abort();
    Object.assign(this, { looking: null, found: null, refused: "" });
    if (this.hub) return this.hub.cancel();
    this.app.redraw();
  }

  /** Open the model that was found. It is then one of the checkpoints of the page, until the next one is opened. */
  open() {
    if (!this.found) return;
    const { app, found: { files, found } } = this, { checkpoints } = app.site, { languages, task, mask } = found;
    const alike = checkpoints.find((one) => !one.own && one.task === task && one.languages[0] === languages[0]);
    const examples = task === "filling" ? GENERAL.map((text) => text.replace("dog", mask).replace("station", mask))
      : alike?.examples ?? (task === "continuation" ? BEGINNINGS : OTHERS_BY_LANGUAGE[languages[0]] ?? GENERAL);
    const name = nameFor(files.name, checkpoints.map((one) => one.name));
    const others = checkpoints.filter((one) => !one.own); // only the newest own model is kept: each has its files
    checkpoints.splice(0, checkpoints.length, ...others, {
      name, files: null, own: files, languages, family: found.family, task, mask, pairs: found.readsPairs, examples,
      heads: "", order: "", reordered: "", batch: examples.slice(0, 2), card: null,
    });
    this.found = null;
    if (files.hub) return this.hub?.choose(name, files.hub);
    app.choose(name, "translate");
  }

  /** @returns {Described[]} */
  section() {
    this.hub?.follow();
    return [
      heading(say("Open your own model"), say(
        "Drop a folder, a .zip or files on this page, or choose them. They stay on this device: nothing is sent."
      )),
      el("div", { class: "row own" }, [
        chooser(say("Choose a folder"), { webkitdirectory: true }, (files) => this.look(files)),
        chooser(say("Choose files or a .zip"), { multiple: true }, (files) => this.look(files)),
      ]),
      note(say(
        "A model is config.json, model.safetensors or its parts with their index, and tokenizer.json with the settings "
        + "beside it."
      )),
      ...(this.hub?.field() ?? []),
      el("div", { class: "found" }, this.state()),
    ];
  }

  /** @returns {Described[]} */
  state() {
    const { bytes, total } = this.progress, cancel = button(say("Cancel"), () => this.cancel());
    if (this.refused) return [el("div", { class: "problem" }, [el("p", {}, this.refused)])];
    if (this.looking)
      return [el("div", { class: "row" }, [
        el("progress", { "aria-label": say("Reading the files"), ...(total && { max: total, value: bytes }) }), cancel,
      ])];
    if (!this.found) return [];
    const { found, files } = this.found;
    return [
      facts(files.name, found, files),
      ...(this.hub?.noteOn(files) ?? []),
      el("div", { class: "row" }, [button(say("Open this model"), () => this.open(), { class: "plain main" }), cancel]),
    ];
  }
}

/** How much is loaded so far. @param {number} bytes @param {number} total */
export function megabytes(bytes, total) {
  const [done, all] = [bytes, total].map((count) => Math.ceil(count / MEBI));
  return say("{done} of {all} MB", { done, all });
}

/**
 * What is known of a model.
 * @param {string} name @param {Info & Partial<Found>} info @param {{ unused?: string[] }} [files]
 */
export function facts(name, { family, task, heads, config, parameters, bytes }, { unused = [] } = {}) {
  const layers = Object.keys(KINDS).filter((kind) => heads[kind]?.[0]).map((kind) => heads[kind]);
  const most = Math.max(0, ...layers.map(([count]) => count)), [, width = 0] = layers[0] ?? [];
  const rows = /** @type {[string, string][]} */ ([
    [say("Name"), `${name} (${family})`], [say("Task"), taskSentence(task)],
    [say("Size"), say("{layers} layers with {heads} heads each; {positions} positions", {
      layers: most, heads: width, positions: config.max_length,
    })],
    ...(parameters ? [[say("Parameters"), compact(parameters)]] : []),
    ...(bytes ? [[say("Memory"), say("about {n} MB while it is open", { n: Math.ceil(bytes / MEBI) })]] : []),
    ...(unused.length ? [[say("Not read"), unused.slice(0, 8).map(shown).join(", ")]] : []),
  ]);
  return el("dl", { class: "facts" }, rows.flatMap(([term, text]) => [el("dt", {}, term), el("dd", {}, text)]));
}

/** A number with two or three digits: 5.7M, 570만. @param {number} number */
function compact(number) {
  const language = document.documentElement.lang;
  return new Intl.NumberFormat(language, { notation: "compact", maximumSignificantDigits: 3 }).format(number);
}

/** A field for files that looks like a button. */
function chooser(label, attributes, take) {
  return el("label", { class: "plain chooser" }, [
    el("span", {}, label),
    el("input", { type: "file", ...attributes, onchange: ({ target }) => {
      const files = chosenFiles(target.files);
      target.value = "";
      if (files.length) take(files);
    } }),
  ]);
}

/** A name that a link can have, and that no other checkpoint has. @param {string} name @param {string[]} taken */
function nameFor(name, taken) {
  const own = name.replace(/[^\w.-]+/g, "-").slice(0, 80) || "model";
  for (let i = 1; ; i++) {
    const one = i > 1 ? `${own}-${i}` : own;
    if (!taken.includes(one)) return one;
  }
}
