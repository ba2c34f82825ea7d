// The texts of lessons: HTML that we made from Markdown. Values become text in it, never markup.
import { el } from "../ui/dom.js";
import { percent } from "../ui/words.js";

const PLACEHOLDER = /\{(\w+)(?::(\d|%))?\}/g;

/** @typedef {Record<string, string | number>} Values */

/**
 * The place of a text; `fillTexts` fills it.
 * @param {string} tag
 * @param {string} html With `{name}` for a value, `{name:1}` for its digits after the point, and `{name:%}` for a
 *   share.
 * @param {Values} [values]
 * @param {Record<string, any>} [attributes]
 */
export function rich(tag, html, values = {}, attributes = {}) {
  return el(tag, { ...attributes, "data-part": "rich", "data-rich": JSON.stringify([html, values]) });
}

/**
 * A number as a language writes it.
 * @param {number} value
 * @param {number} digits After the point.
 * @param {string} language
 */
function decimal(value, digits, language) {
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(language, form).format(value);
}

/**
 * A text with its values. A placeholder without a value stays.
 * @param {string} text
 * @param {Values} values
 * @param {string} language
 */
export function filled(text, values, language) {
  return text.replace(PLACEHOLDER, (all, name, form) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (typeof value === "string") return value.replaceAll("\n", "↵").replaceAll("\t", "⇥");
    if (typeof value !== "number") return all;
    const digits = form ? Number(form) : Number.isInteger(value) ? 0 : 2;
    return form === "%" ? percent(value) : decimal(value, digits, language);
  });
}

/** Fill the places of texts, where they changed. @param {Element} parent @param {string} language */
export function fillTexts(parent, language) {
  for (const place of /** @type {NodeListOf<any>} */ (parent.querySelectorAll("[data-rich]"))) {
    const wanted = `${language} ${place.dataset.rich}`;
    if (place.filled === wanted) continue;
    place.filled = wanted;
    const [html, values] = JSON.parse(place.dataset.rich), template = document.createElement("template");
    template.innerHTML = html;
    const texts = document.createTreeWalker(template.content, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode())
      text.nodeValue = filled(text.nodeValue ?? "", values, language);
    place.replaceChildren(template.content);
  }
}
