// What a site holds beside its script: in the page, or in a file of its own.

/**
 * @param {any} source The content, or the address of a file with it as JSON.
 * @returns {Promise<any>}
 */
export async function contentOf(source) {
  return typeof source === "string" ? (await fetch(new URL(source, document.baseURI))).json() : source;
}
