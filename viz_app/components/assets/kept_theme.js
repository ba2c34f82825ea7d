// The theme that a visitor chooses in the menu. Streamlit keeps it for the page that was loaded, and this for all
// pages.
import { chosenTheme, keepTheme } from "./bridge.js";
import { listening, onPage } from "./page_events.js";

export const keptTheme = listening(() => {
  let last = chosenTheme();

  function leave() {
    const theme = chosenTheme();
    if (!document.hidden || !theme || theme === last) return; // another tab may have a newer choice
    keepTheme(theme);
    last = theme;
  }
  return [onPage("visibilitychange", leave)];
});
