// Code that is loaded when it is first wanted. Where one script holds all code, as in the app, it is there from the
// start.

/** @type {(name: string) => Promise<any>} */
let load;

/** Say how a part of the code is loaded by its name. @param {typeof load} how */
export function loadLater(how) {
  load = how;
}

/**
 * What a part of the code exports. A script leaves out the modules of a part, so their names are undefined there.
 * @template T @param {string} name Of the part. @param {T} present @returns {Promise<T>}
 */
export async function later(name, present) {
  return present ?? load(name);
}
