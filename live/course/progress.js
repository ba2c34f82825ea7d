// What the visitor has answered. The browser keeps it, in the same form as for the app. Anything may be there.

const KEY = "headlight-lessons", BEFORE = "headlight-live-before", MOST = 60_000; // characters
const MOST_TOKENS = 10_000;

/**
 * @typedef {string | number | number[] | null} Answer null: the visitor has acted on the page instead.
 * @typedef {{ first: Answer, answer: Answer, right: boolean }} LessonRecord The first answer is the prediction.
 * @typedef {Record<string, LessonRecord>} Progress By the name of the step in links.
 * @typedef {{ form: string, options?: string[], side?: string, kind?: string, low?: number, high?: number,
 *   step?: number, longest?: number }} AnswerForm
 */

const isCount = (value) => Number.isInteger(value) && value >= 0 && value < MOST_TOKENS;

/** Name of a form → whether an answer has it. @type {Record<string, (form: any, answer: any) => boolean>} */
const FITS = {
  one_of: ({ options }, answer) => options.includes(answer),
  one_token: (_, answer) => isCount(answer),
  one_head: (_, answer) => Array.isArray(answer) && answer.length === 2 && answer.every(isCount),
  number: ({ low, high }, answer) => typeof answer === "number" && answer >= low && answer <= high,
  word: ({ longest }, answer) => typeof answer === "string" && answer.length > 0 && answer.length <= longest,
  action: (_, answer) => answer === null,
};

/** Whether an answer has the form that a step asks for. @param {AnswerForm} form @param {unknown} answer */
export function fits(form, answer) {
  return FITS[form.form](form, answer);
}

/** What this tab keeps, or what all tabs share. @param {string} name */
const store = (name) => (name === BEFORE ? sessionStorage : localStorage);

/** @param {string} name @returns {string} "" where the browser keeps nothing. */
function read(name) {
  try {
    const text = store(name).getItem(name) ?? "";
    return text.length > MOST ? "" : text;
  } catch {
    return "";
  }
}

/** @param {string} name @param {string} text "" removes what is kept. */
function keep(name, text) {
  try {
    if (text) store(name).setItem(name, text);
    else store(name).removeItem(name);
  } catch {
    // A browser without storage forgets the answers when the page is closed.
  }
}

/** All answers that are kept, also those that this page does not know. @returns {Record<string, any>} */
function kept() {
  try {
    const found = JSON.parse(read(KEY) || "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

/**
 * The records that have the form of their steps.
 * @param {Map<string, { answer: AnswerForm }>} steps By name in links.
 * @returns {Progress}
 */
export function readProgress(steps) {
  const all = kept(), known = [...steps].filter(([name, { answer: form }]) => {
    const record = all[name];
    return record && typeof record === "object" && fits(form, record.first) && fits(form, record.answer);
  });
  return Object.fromEntries(known.map(([name]) =>
    [name, { first: all[name].first, answer: all[name].answer, right: all[name].right === true }]));
}

/** Keep an answer beside those of other tabs. @param {string} name @param {LessonRecord} record */
export function keepRecord(name, record) {
  const all = kept(), text = JSON.stringify({ ...all,
    [name]: { ...record, right: record.right || all[name]?.right === true } });
  if (text.length <= MOST) keep(KEY, text);
}

export function forgetProgress() {
  keep(KEY, "");
}

/** Keep the address from before a lesson for a reload; "" forgets it. @param {string} address */
export function keepPlace(address) {
  keep(BEFORE, address);
}

/** The address from before the lesson; "" without one. */
export function keptPlace() {
  return read(BEFORE);
}

/** Call when another tab has changed what is kept. @param {() => void} change */
export function onProgress(change) {
  addEventListener("storage", ({ key }) => { if (key === KEY || key === null) change(); });
}
