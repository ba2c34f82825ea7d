// The page of the model, with the section "Open your own model": what a visitor drops or chooses is described before
// its weights are read. A site loads this code with the first visit of the page.
import { chosenFiles } from "../app/dropping.js";
import { contentOf } from "../app/held.js";
import { ownFilesOf } from "../app/own_files.js";
import { button, heading, note, place } from "../controls/controls.js";
import { shown } from "../engine/errors.js";
import { KINDS } from "../engine/trace.js";
import { announce, draw, el, find } from "../ui/dom.js";
import { say } from "../ui/words.js";
import { HubModel } from "./hub_model.js";
import { taskSentence } from "./pages.js";

const MEBI = 2 ** 20, PATIENCE = 10_000; // milliseconds for a description; a phone needs 3,000 for 262,000 tokens
const SHARE = 4; // a browser may close a page that needs more of the memory of its device than one part of so many
const GENERAL = ["The dog sleeps because it is tired.", "Where is the station?"];
/** @type {Record<string, string[]>} Language → sentences. */
const OTHERS_BY_LANGUAGE = { de: ["Der Hund schläft, weil er müde ist."], zh: ["狗在睡觉，因为它累了。"] };
const BEGINNINGS = ["The dog sleeps because", "Once upon a time there was a"];

/** The state of the section: `refused` is a sentence, `progress` that of an archive that is unpacked. */
export class OwnModel {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.refused = "";
    /** @type {{ given: OwnFile[], files: OwnFiles, found: Info } | null} */
    this.found = null;
    /** @type {Map<string, OwnFile[]>} Name → the chosen files of each model that was opened, to open it again. */
    this.kept = new Map();
    this.progress = { bytes: 0, total: 0 };
    /** @type {AbortController | null} While files are looked at. */
    this.looking = null;
    this.hub = app.site.hub ? new HubModel(this, app.site.hub) : null;
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
      const given = await give(signal), files = await ownFilesOf(given, { signal, report: (progress) => {
        this.progress = progress;
        this.app.redraw();
      } });
      const found = await this.app.session.described(files, PATIENCE, signal);
      if (this.looking !== looking) return;
      this.found = { given, files: { ...files, hub }, found };
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

  /** Open the model that was found. */
  open() {
    if (!this.found) return;
    const { files: { hub } } = this.found, name = this.list(this.found);
    if (hub) this.hub?.choose(name, hub);
    else this.app.choose(name, "translate");
  }

  /** Open a model that was closed, for the page that the link names. @param {string} name */
  async reopen(name) {
    await this.look(this.kept.get(name) ?? []);
    if (!this.found) return;
    this.list(this.found, name);
    this.app.follow();
  }

  /**
   * Make a model one of the checkpoints of the page, until the next one is opened. Returns its name.
   * @param {NonNullable<OwnModel["found"]>} model @param {string} [wanted] Its name, if it has one.
   */
  list({ given, files, found }, wanted) {
    const { checkpoints } = this.app.site, { languages, task, mask } = found;
    const alike = checkpoints.find((one) => !one.own && one.task === task && one.languages[0] === languages[0]);
    const examples = task === "filling" ? GENERAL.map((text) => text.replace("dog", mask).replace("station", mask))
      : alike?.examples ?? (task === "continuation" ? BEGINNINGS : OTHERS_BY_LANGUAGE[languages[0]] ?? GENERAL);
    const name = wanted ?? nameFor(files.name, checkpoints.map((one) => one.name));
    const others = checkpoints.filter((one) => !one.own); // only the newest own model is kept: each has its files
    checkpoints.splice(0, checkpoints.length, ...others, {
      name, files: null, own: files, languages, family: found.family, task, mask, pairs: found.readsPairs, examples,
      heads: "", order: "", reordered: "", batch: examples.slice(0, 2), card: null,
    });
    this.found = null;
    this.kept.set(name, given);
    return name;
  }

  /**
   * Draw the page: the field for the visitor's own model, what the open model is, and its card with its data, licence,
   * measurements and limits.
   * @param {Element} root
   */
  async show(root) {
    const { app } = this, { listed: { name, card, own, licence }, info } = app, text = own?.texts["README.md"];
    const { [app.language]: html } = card ? await app.ifCurrent(contentOf(card)) : {};
    draw(root, [
      el("section", { class: "opens" }, this.section()),
      heading(say("About this model"), ""),
      facts(name, info, { licence: licence ?? licenceOf(text) }),
      html
        ? place("card", "card")
        : el("pre", { class: "card" }, text
          ? withoutMetadata(text) : say("This checkpoint has no model card (README.md).")),
    ]);
    if (html) find(root, ".part").innerHTML = html; // made from Markdown when the site was published
  }

  /** @returns {Described[]} */
  section() {
    this.hub?.follow();
    return [
      heading(say("Open your own model"), isPhone()
        ? say("Choose all files of a model together, or a .zip of them. They stay on this device: nothing is sent.")
        : say(
          "Drop a folder, a .zip or files on this page, or choose them. They stay on this device: nothing is sent."
        )),
      el("div", { class: "row own" }, this.choosers()),
      note(say(
        "A model is config.json, model.safetensors or its parts with their index, and tokenizer.json with the settings "
        + "beside it."
      )),
      ...(this.hub?.described() ?? []),
      el("div", { class: "found" }, this.state()),
    ];
  }

  /** What stands in the place of a page if its link names a model that is closed. @param {string} name */
  closedSection(name) {
    const { app, kept } = this, first = app.site.checkpoints[0].name;
    return [
      note(kept.has(name)
        ? say("The model {name} is closed: of your own models, this page keeps one open.", { name })
        : say("The model {name} is closed, because this page was loaded again. Choose its files again.", { name })),
      el("div", { class: "row own" }, [
        ...(kept.has(name)
          ? [button(say("Open {name} again", { name }), () => this.reopen(name), { class: "plain main" })]
          : this.choosers()),
        button(say("Go on with {name}", { name: first }), () => app.choose(first)),
      ]),
      el("div", { class: "found" }, this.state()),
    ];
  }

  /** The fields for files. @returns {Described[]} */
  choosers() {
    const take = (files) => this.look(files);
    return [
      ...(isPhone() ? [] : [chooser(say("Choose a folder"), { webkitdirectory: true }, take)]),
      chooser(say("Choose files or a .zip"), { multiple: true }, take),
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
    const { found, files } = this.found, other = this.app.site.checkpoints.find((one) => one.own);
    return [
      facts(files.name, found, { unused: files.unused, licence: licenceOf(files.texts["README.md"]) }),
      ...memoryNotes(found.bytes),
      ...(other ? [note(say("Opening it closes your other model {name}.", { name: other.name }))] : []),
      ...(this.hub?.noteOn(files) ?? []),
      el("div", { class: "row" }, [button(say("Open this model"), () => this.open(), { class: "plain main" }), cancel]),
    ];
  }
}

/** A phone has no dialog for a folder, and nothing is dropped there. */
const isPhone = () => matchMedia("(pointer: coarse)").matches;

/** A note where a model needs much of the memory of this device, if the browser says how much it has. */
function memoryNotes(bytes) {
  const { deviceMemory } = /** @type {{ deviceMemory?: number }} */ (navigator); // GiB
  return deviceMemory && bytes > (deviceMemory * 1024 * MEBI) / SHARE
    ? [note(say(
      "This device has about {n} GB of memory. The browser may close this page while it opens the model.",
      { n: deviceMemory },
    ))]
    : [];
}

const METADATA = /^---\r?\n(.*?\r?\n)---\r?\n/s; // of a card for the Hugging Face Hub

/** The licence that the metadata of a card name; "" without one. @param {string} [card] */
export function licenceOf(card = "") {
  return METADATA.exec(card)?.[1].match(/^license: *(.*?) *\r?$/m)?.[1] ?? "";
}

/** A card without its metadata. @param {string} card */
export function withoutMetadata(card) {
  return card.replace(METADATA, "").trimStart();
}

/**
 * What is known of a model.
 * @param {string} name @param {Info} info
 * @param {{ unused?: string[], licence?: string }} [files] What nothing reads, and the licence of its card.
 */
function facts(name, { family, task, heads, config, parameters, bytes }, { unused = [], licence = "" } = {}) {
  const layers = Object.keys(KINDS).filter((kind) => heads[kind]?.[0]).map((kind) => heads[kind]);
  const most = Math.max(0, ...layers.map(([count]) => count)), [, width = 0] = layers[0] ?? [];
  const rows = /** @type {[string, string][]} */ ([
    [say("Name"), `${name} (${family})`], [say("Task"), taskSentence(task)],
    [say("Size"), say("{layers} layers with {heads} heads each; {positions} positions", {
      layers: most, heads: width, positions: config.max_length,
    })],
    [say("Parameters"), compact(parameters)],
    [say("Memory"), say("about {n} MB while it is open", { n: Math.ceil(bytes / MEBI) })],
    ...(licence ? [[say("Licence"), shown(licence)]] : []),
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
