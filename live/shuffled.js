// The words of a text in a random order with a number, the same order as in the app.

const SIZE = 624, MIDDLE = 397;

/**
 * Whole random numbers of 32 bits from a seed: the Mersenne Twister (Matsumoto and Nishimura 1998), seeded as in
 * Python.
 * @param {number} seed
 */
function mersenneTwister(seed) {
  const state = new Uint32Array(SIZE), before = (i) => state[i - 1] ^ (state[i - 1] >>> 30);
  state[0] = 19650218;
  for (let i = 1; i < SIZE; i++) state[i] = Math.imul(1812433253, before(i)) + i;
  let at = 1;
  const mix = (times, factor, added) => {
    for (; times; times--) {
      state[at] = (state[at] ^ Math.imul(before(at), factor)) + added(at);
      if (++at === SIZE) [state[0], at] = [state[SIZE - 1], 1];
    }
  };
  mix(SIZE, 1664525, () => seed);
  mix(SIZE - 1, 1566083941, (i) => -i);
  state[0] = 0x80000000;
  at = SIZE;
  const twist = () => {
    for (let i = 0; i < SIZE; i++) {
      const y = (state[i] & 0x80000000) | (state[(i + 1) % SIZE] & 0x7fffffff);
      state[i] = state[(i + MIDDLE) % SIZE] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    at = 0;
  };
  return () => {
    if (at === SIZE) twist();
    let y = state[at++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
}

/** The words of a text, or its characters if it has no spaces, in the random order with this number. */
export function shuffled(text, number) {
  const trimmed = text.trim(), spaced = trimmed.includes(" "), words = spaced ? trimmed.split(/\s+/) : [...trimmed];
  const next = mersenneTwister(number);
  for (let i = words.length - 1; i > 0; i--) {
    const bits = 32 - Math.clz32(i + 1);
    let j = next() >>> (32 - bits);
    while (j > i) j = next() >>> (32 - bits);
    [words[i], words[j]] = [words[j], words[i]];
  }
  return words.join(spaced ? " " : "");
}
