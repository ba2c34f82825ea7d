// What Python and this page both read (shared.json). The page holds its part of it, which `App` puts here.

/**
 * How much a picture shows: the most tokens in a row of chips, steps, cells on a side of a small map, and tokens on a
 * side of a section of a large map. The pages in their order, and the kinds of attention, with their texts. The choices
 * that a link may have: their form, and the expression for their values, or the one value that the pages always show. A
 * switch has its texts too, and what it changes in the view or in the run. A task may have a title of its own for the
 * page Translate.
 */
export const SHARED = {
  limits: { chips: 0, steps: 0, tile: 0, section: 0 },
  /** @type {Record<string, { title: string, instruction: string }>} */
  pages: {},
  /** @type {Record<string, { title: string }>} */
  tasks: {},
  /** @type {Record<string, Record<string, string>>} Their names, for a model with two texts and with only one. */
  kinds: {},
  /**
   * @type {Record<string, { form: string, published?: string, always?: string, label?: string, help?: string,
   *   view?: Record<string, any>, run?: Record<string, any> }>}
   */
  choices: {},
};
