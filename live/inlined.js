// What a page that is one file holds of its checkpoints. A site is made without this file.

/** A file of a checkpoint: gzip as base64. @param {string} id */
export async function inlined(id) {
  const text = document.getElementById(id)?.textContent ?? "";
  const bytes = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}
