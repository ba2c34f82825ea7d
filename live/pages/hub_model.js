// A model of a hub: the field for its name, the link that names it, and how its files are found.
import { hubFiles, modelNameIn } from "../app/hub.js";
import { button, field, note } from "../controls/controls.js";
import { el } from "../ui/dom.js";
import { say } from "../ui/words.js";

export class HubModel {
  /** @param {import("./own_model.js").OwnModel} own What shows the files. @param {string} address Of the hub. */
  constructor(own, address) {
    this.own = own;
    this.app = own.app;
    this.address = address;
    this.host = new URL(address).host;
    this.name = ""; // of the model that was asked for
    this.typed = "";
  }

  /** The site's entry of the model of this name, if it is open. @param {string} name */
  opened(name) {
    return this.app.site.checkpoints.find(({ own }) => own?.hub === name);
  }

  /** Look at the model that the link names, once. The weights are read when the visitor opens it. */
  follow() {
    const { own, app: { choices: { hub: name = "" } } } = this;
    if (name === this.name) return;
    if (!name) {
      own.looking?.abort();
      Object.assign(own, { looking: null, found: null });
    }
    Object.assign(this, { name, typed: name });
    if (name && !this.opened(name)) void own.examine((signal) => hubFiles(this.address, name, signal), name);
  }

  /** Ask for the model whose name was typed. No choice for another model stays. */
  ask() {
    const { app, own } = this;
    try {
      const name = modelNameIn(this.address, this.typed), opened = this.opened(name);
      if (opened) return app.choose(opened.name, "translate");
      this.name = "";
      app.change({ hub: name, text: "", second: "", layer: "", head: "", intervention: "" });
    } catch (error) {
      own.refuse(error);
      app.redraw();
    }
  }

  /** A link that waits for a model of the hub ends. One to an open or a closed model stays. */
  cancel() {
    const { app, app: { choices: { hub = "" } } } = this;
    if (!hub || this.opened(hub)) return app.redraw();
    this.name = "";
    app.change({ hub: "" });
  }

  /**
   * Choose a model that the visitor has opened, on the page of the link.
   * @param {string} checkpoint @param {string} hub
   */
  choose(checkpoint, hub) {
    const { app } = this, { next } = app;
    const page = next !== "checkpoints" && app.fits(next, app.listedAs(checkpoint)) ? next : "translate";
    app.change({ ...app.choices, checkpoint, hub }, { page });
  }

  /** What opening a model of the hub loads. @param {OwnFiles} files @returns {Described[]} */
  noteOn({ hub, weights }) {
    const bytes = Object.values(weights).reduce((sum, { size }) => sum + size, 0);
    return hub ? [note(say("Opening {name} loads {n} MB from {host}.", {
      name: hub, n: Math.ceil(bytes / 2 ** 20), host: this.host,
    }))] : [];
  }

  /** @returns {Described[]} */
  described() {
    const { host } = this;
    return [
      el("div", { class: "row" }, [
        field(say("The name of a model on {host}", { host }), {
          name: "hub", type: "text", size: 34, autocomplete: "off", spellcheck: "false", enterkeyhint: "go",
          placeholder: "openai-community/gpt2", value: this.typed,
          oninput: ({ target }) => { this.typed = target.value; },
          onkeydown: ({ key }) => { if (key === "Enter") this.ask(); },
        }),
        button(say("Find this model"), () => this.ask()),
      ]),
      note(say(
        "This asks {host} for the files of the model, so {host} learns which model you open. Your texts stay on this "
        + "device.", { host },
      )),
    ];
  }
}
