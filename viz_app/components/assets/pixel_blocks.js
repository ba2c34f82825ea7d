// A picture made of pixels as blocks of one colour, which stay sharp at any size.

/**
 * A block of pixels of one colour; `right` and `bottom` are the first pixels after it.
 * @typedef {{ colour: string, left: number, right: number, top: number, bottom: number }} Block
 */

/**
 * The blocks of a picture: runs of one colour in a row, joined with the same run in the rows below. Transparent pixels
 * are in no block.
 * @param {{ data: Uint8ClampedArray, width: number, height: number }} pixels Red, green, blue and opacity of each.
 * @returns {Block[]}
 */
export function blocksOf({ data, width, height }) {
  const words = new Uint32Array(data.buffer), blocks = [];
  let above = new Map();
  for (let y = 0; y < height; y++) {
    const row = new Map();
    for (let x = 0, end = 0; x < width; x = end) {
      const start = y * width, word = words[start + x];
      end = x + 1;
      while (end < width && words[start + end] === word) end++;
      const [red, green, blue, opacity] = data.subarray(4 * (start + x), 4 * (start + x) + 4);
      if (!opacity) continue;
      const name = `${x},${end},${word}`;
      const block = above.get(name) ?? { colour: hex([red, green, blue]), left: x, right: end, top: y, bottom: y };
      if (!above.has(name)) blocks.push(block);
      block.bottom = y + 1;
      row.set(name, block);
    }
    above = row;
  }
  return blocks;
}

/**
 * A colour such as "#1b2530" from its channels, 0 to 255.
 * @param {number[]} channels
 */
export function hex(channels) {
  return `#${channels.map((channel) => Math.round(channel).toString(16).padStart(2, "0")).join("")}`;
}
