// Attention masks: 1 = may attend. Row by row, queries × keys, or one row for all queries; null allows everything.

/** Allow every query to attend to the keys that are not padding: (S). @returns {Mask} */
export function paddingMask(ids, padId) {
  return ids.includes(padId) ? Uint8Array.from(ids, (id) => +(id !== padId)) : null;
}

/**
 * Allow each query to attend to itself and to earlier positions ("Attention Is All You Need", section 3.2.3): (T, S).
 * @param {number} [keys] The queries are the last ones of S positions.
 * @param {number} [window] How many positions it may attend to; 0 = all (Mistral).
 */
export function causalMask(queries, keys = queries, window = 0) {
  return Uint8Array.from({ length: queries * keys }, (_, i) => {
    const distance = keys - queries + Math.floor(i / keys) - (i % keys);
    return +(distance >= 0 && (!window || distance < window));
  });
}

/** Combine both: (T) → (T, T). The first position is never padding, whatever its id. */
export function decoderMask(ids, padId, window = 0) {
  const T = ids.length;
  return causalMask(T, T, window).map((allowed, i) => +(allowed && (i % T === 0 || ids[i % T] !== padId)));
}
