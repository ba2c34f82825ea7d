// The menu of the pages, the checkpoint and the language, and what stands at the end of a page.
import { draw, el } from "./assets/dom.js";
import { say } from "./assets/words.js";
import { writeAddress } from "./choices.js";
import { list } from "./controls.js";
import { languageName } from "./languages.js";
import { PAGES } from "./pages.js";

/** The menu of the pages, the checkpoint and the language. @param {import("./app.js").App} app */
export function drawMenu(app) {
  const menu = /** @type {Element} */ (document.querySelector("nav"));
  const link = (name) => el("a", {
    href: writeAddress(name, app.choices), "aria-current": name === app.page && "page",
    onclick: (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
        event.preventDefault();
        app.change({}, { page: name });
      }
    },
  }, PAGES[name].names().title);
  const { checkpoints } = app.site;
  const [source, target] = app.listed.languages.map((code) => languageName(code, app.language));
  menu.setAttribute("aria-label", say("Pages"));
  draw(menu, [
    el("div", { class: "pages" }, app.pages.map(link)),
    el("div", { class: "settings" }, [
      list(
        say("Checkpoint"), checkpoints.map(({ name }) => [name, name]), app.listed.name,
        (checkpoint) => app.choose(checkpoint),
      ),
      el("p", { class: "quiet" }, source && target ? `${source} → ${target}` : source),
      list(
        say("Language"), Object.keys(app.site.words).map((code) => [code, languageName(code, code)]), app.language,
        (lang) => app.change({ lang }),
      ),
      ...aboutOf(app),
    ]),
  ]);
}

/** What the menu ends with; on a phone, it is below the page. @param {import("./app.js").App} app */
export function aboutOf(app) {
  return [
    ...(app.isReport ? [] : [el("details", { class: "quiet screen" }, [
      el("summary", {}, say("Links and the app")),
      el("p", {}, say(
        "The address of this page keeps your choices. To see the same in the Headlight app, write what follows # "
        + "behind the address of the app. A link of the app opens here in the same way."
      )),
    ])]),
    el("p", { class: "quiet about" }, app.site.report?.made ?? say(
      "The model runs in this browser. What you type stays on this device."
    )),
  ];
}
