// Says why a page cannot start. This script is in the page itself, so it runs where a browser loads no other file.

const { pathname, search, hash } = location, root = document.documentElement;
/** @type {{ reason?: string, file?: string } | undefined} */
let cause;

addEventListener("error", ({ target, message }) => {
  const { src, href } = /** @type {any} */ (target);
  cause ??= message ? { reason: message } : { file: src || href };
}, true);
addEventListener("DOMContentLoaded", () => { if (!root.dataset.begun) explain(); });
// A host may leave out the slash at the end of a folder. Then the files beside the page would have other addresses.
if (document.querySelector("meta[name=offline]") && !/(\/|\/index|\.html?)$/.test(pathname))
  history.replaceState(null, "", `${pathname}/${search}${hash}`);

function explain() {
  const words = new Map(Object.entries(JSON.parse(document.getElementById("start")?.textContent ?? "")));
  const wanted = /[?&]lang=(\w+)/.exec(hash)?.[1] ?? navigator.language.slice(0, 2);
  const code = words.has(wanted) ? wanted : "en";
  const say = (text, values = {}) => words.get(code)[text].replace(/\{(\w+)\}/, (_, name) => values[name]);
  const home = document.querySelector("main") ?? document.body, others = document.querySelectorAll("[integrity]");
  const sentence = () => {
    if (!others.length && !cause) return say("This file is not complete. Copy it again.");
    if (others.length && origin === "null")
      return say(
        "This page was opened from a disk or in an isolated frame, where a browser does not load its other files. "
        + "Put the folder on a web server and open it in a tab of its own, or publish the page as one file."
      );
    return cause?.file
      ? say(
        "{file} is missing or not complete. If the page is being published at this moment, try again in a minute. "
        + "Otherwise publish it again.",
        cause,
      )
      : say("This page could not start: {reason}. Load it again, or use a newer browser.", cause);
  };
  root.lang = code;
  home.innerHTML = "<div class=problem role=alert><p></p><button class=plain>";
  const [text, button] = /** @type {any} */ (home.firstElementChild).children;
  [text.textContent, button.textContent, button.onclick] = [sentence(), say("Try again"), () => location.reload()];
  if (others.length && origin !== "null") void again();
}

/** The browser may have kept parts of an unfinished upload. Load them past its cache, and then the page, once. */
async function again() {
  const files = /** @type {any[]} */ ([location, ...document.querySelectorAll("[integrity]")]);
  const [page] = await Promise.allSettled(files.map(({ src, href }) => fetch(src ?? href, { cache: "reload" })));
  if (page.status === "rejected" || history.state) return;
  history.replaceState("again", "");
  location.reload();
}
