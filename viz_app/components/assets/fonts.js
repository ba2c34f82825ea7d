// The fonts of a saved picture. Its file contains none, so it names fonts that a computer has.

const LATIN = "Arial, Helvetica, 'Liberation Sans', 'Noto Sans', 'DejaVu Sans'";
/** Fonts of the East, of Linux, Windows and macOS. Each language has its own forms of the same characters. */
const EASTERN = {
  zh: "'Noto Sans CJK SC', 'Noto Sans SC', 'Microsoft YaHei', 'PingFang SC'",
  ko: "'Noto Sans CJK KR', 'Noto Sans KR', 'Malgun Gothic', 'Apple SD Gothic Neo'",
  ja: "'Noto Sans CJK JP', 'Noto Sans JP', 'Yu Gothic', 'Hiragino Sans'",
};

/**
 * The fonts for a text, for the attribute `font-family`: first Latin ones, then those of its language.
 * @param {string} lang A language tag, or "".
 */
export function fontsFor(lang) {
  const own = lang.slice(0, 2);
  const order = Object.entries(EASTERN).sort(([one], [other]) => Number(other === own) - Number(one === own));
  return [LATIN, ...order.map(([, fonts]) => fonts), "sans-serif"].join(", ");
}

/**
 * The language of an element, or of the page.
 * @param {Element | null} element
 */
export function languageOf(element) {
  const marked = element?.closest("[lang]");
  return marked?.getAttribute("lang") || document.documentElement.lang;
}
