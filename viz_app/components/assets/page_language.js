// The language of the page: a browser chooses the form of Chinese characters by it, and a screen reader its voice.
import { component } from "./mounting.js";

export const pageLanguage = component(() => ({
  update: ({ language }) => { document.documentElement.lang = language; },
  redraw: () => {},
}));
