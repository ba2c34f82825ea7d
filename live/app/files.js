// The files of a site. The name of each has the start of the SHA-256 of its contents, so no version gets a file of
// another one, and all versions keep their files in the same store.

/**
 * Where a browser keeps the files of a site; null where it keeps nothing.
 * @param {string} home The address of the site.
 */
export async function openStore(home) {
  try {
    return await caches.open(`headlight ${home} files`);
  } catch {
    return null; // a private window, a frame without an origin, or an address that is not secure
  }
}

/**
 * The answer of a server, if it has the contents that the name of the file promises. Only secure addresses can tell;
 * elsewhere nothing is kept.
 * @param {string} address With the hash of the contents.
 * @param {Response} found
 * @returns {Promise<Response | null>} null: the file is missing, not complete or of another version.
 */
export async function whole(address, found) {
  const content = await found.blob();
  const digest = await globalThis.crypto?.subtle?.digest("SHA-256", await content.arrayBuffer());
  const isOwn = !digest || address.includes(`.${new DataView(digest).getBigUint64(0).toString(16).padStart(16, "0")}.`);
  return found.ok && isOwn ? new Response(content) : null;
}
