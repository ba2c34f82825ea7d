// Bytes as printable characters, as byte-level tokenizers write them (Radford et al. 2019), and as shown on the screen.

const PRINTABLE = /^(?:[\n\r\t ]|[^\p{C}\p{Z}])+$/u;
const isPrintable = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
/** The printable character of each byte, by its number. */
export const BYTE_CHARACTERS = (() => {
  let others = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : others++));
})();
const BYTES = new Map(BYTE_CHARACTERS.map((character, byte) => [character, byte]));

/** @param {string} text */
export const toBytes = (text) => new TextEncoder().encode(text);
/** @param {Uint8Array} bytes @param {boolean} fatal Throw if the bytes are no text. */
export const toText = (bytes, fatal) => new TextDecoder("utf-8", { fatal, ignoreBOM: true }).decode(bytes);

/** Each byte of a text as a printable character. @param {string} text */
export function charactersOf(text) {
  return Array.from(toBytes(text), (byte) => BYTE_CHARACTERS[byte]).join("");
}

/** The bytes that printable characters stand for; null if one stands for none. @param {string} characters */
export function bytesOf(characters) {
  const bytes = Array.from(characters, (character) => BYTES.get(character) ?? -1);
  return bytes.includes(-1) ? null : Uint8Array.from(bytes);
}

/** The text of some bytes; their numbers where they are no whole characters, or control characters: ⟨E7 8C⟩. */
export function shownBytes(bytes) {
  try {
    const text = toText(bytes, true);
    if (PRINTABLE.test(text)) return text;
  } catch {} // no whole characters
  return `⟨${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join(" ")}⟩`;
}
