// Attention masks: 1 = may attend. Row by row, queries × keys; null allows everything.

/**
 * Allow every query to attend to the keys that are not padding.
 * @param {number[]} ids (S)
 * @param {number} padId
 * @param {number} [queries] T
 * @returns {Uint8Array | null} (T, S); null without padding.
 */
export function paddingMask(ids, padId, queries = ids.length) {
  if (!ids.includes(padId)) return null;
  return Uint8Array.from({ length: queries * ids.length }, (_, i) => Number(ids[i % ids.length] !== padId));
}

/**
 * Allow position t to attend to positions 0 … t ("Attention Is All You Need", section 3.2.3).
 * @param {number} length T
 * @returns {Uint8Array} (T, T)
 */
export function causalMask(length) {
  return Uint8Array.from({ length: length * length }, (_, i) => Number(i % length <= Math.floor(i / length)));
}

/**
 * Combine both. The first position is never padding, whatever its id.
 * @param {number[]} ids (T)
 * @param {number} padId
 * @returns {Uint8Array} (T, T)
 */
export function decoderMask(ids, padId) {
  const T = ids.length;
  return causalMask(T).map((allowed, i) => Number(allowed && (i % T === 0 || ids[i % T] !== padId)));
}
