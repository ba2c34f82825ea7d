// How much a picture shows. The numbers are those of the app (viz_app/content/limits.py); a page holds them.

/**
 * The most tokens in a row of chips, steps, cells on a side of a small map, and tokens on a side of a section of a
 * large map.
 */
export const LIMITS = { chips: 0, steps: 0, tile: 0, section: 0 };
