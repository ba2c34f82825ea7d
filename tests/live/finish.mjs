/** Run a generator to its end. @template R @param {Generator<unknown, R>} work @returns {R} */
export function finish(work) {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
