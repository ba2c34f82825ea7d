// Attention masks: 1 = may attend. Row by row, queries × keys; null allows everything.

/** Allow every query to attend to the keys that are not padding: (S) → (T, S). @returns {Mask} */
export function paddingMask(ids, padId, queries = ids.length) {
  return ids.includes(padId)
    ? Uint8Array.from({ length: queries * ids.length }, (_, i) => +(ids[i % ids.length] !== padId))
    : null;
}

/** Allow position t to attend to positions 0 … t ("Attention Is All You Need", section 3.2.3): (T, T). */
export function causalMask(length) {
  return Uint8Array.from({ length: length ** 2 }, (_, i) => +(i % length <= Math.floor(i / length)));
}

/** Combine both: (T) → (T, T). The first position is never padding, whatever its id. */
export function decoderMask(ids, padId) {
  const T = ids.length;
  return causalMask(T).map((allowed, i) => +(allowed && (i % T === 0 || ids[i % T] !== padId)));
}
