// What the browser keeps of the course: the answers, which all tabs share, and what a tab had before a lesson. Anything
// may be there. Each answer is merged into what is kept at that moment, so that two tabs do not overwrite each other's.
export const PROGRESS = "headlight-lessons";
const MOST = 60_000; // characters

/**
 * Where something is kept: what this tab keeps, or what all tabs share. In a package for a learning platform, the
 * platform keeps the second (`live/app/scorm.js`).
 * @param {string} name
 */
const place = (name) => (name.endsWith("-before") ? sessionStorage : globalThis.platform ?? localStorage);

/** What is kept under a name; "" where the browser keeps nothing. @param {string} name */
export function readKept(name) {
  try {
    const text = place(name).getItem(name) ?? "";
    return text.length > MOST ? "" : text;
  } catch {
    return "";
  }
}

/** @param {string} name @param {string} text "" removes what is kept. */
export function keep(name, text) {
  try {
    if (text && text.length <= MOST) place(name).setItem(name, text);
    else if (!text) place(name).removeItem(name);
  } catch {
    // A browser without storage forgets the answers when the page is closed.
  }
}

/**
 * An object that is kept; an empty one where another program has written something else.
 * @param {string} name
 * @returns {Record<string, any>}
 */
export function keptObject(name) {
  try {
    const found = JSON.parse(readKept(name) || "{}");
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {};
  }
}

/** @param {[string, LessonRecord][]} records Name of the step in links, and answer. */
export function keepRecords(records) {
  const all = keptObject(PROGRESS);
  for (const [name, record] of records)
    all[name] = { ...record, right: record.right || all[name]?.right === true };
  keep(PROGRESS, JSON.stringify(all));
}

/** Call when another tab has changed the answers. Returns how to stop that. @param {() => void} change */
export function onOtherTab(change) {
  const listen = ({ key }) => { if (key === PROGRESS || key === null) change(); };
  addEventListener("storage", listen);
  return () => removeEventListener("storage", listen);
}
