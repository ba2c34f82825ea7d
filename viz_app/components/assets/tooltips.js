// The small tables below the token chips stay inside the window.
import { listening, onPage } from "./page_events.js";

const MARGIN = 8; // pixels

function keepInside({ target }) {
  const tip = target.closest?.(".hl-chip")?.querySelector(".hl-tip");
  if (!tip) return;
  tip.style.left = tip.style.top = ""; // a translation would leave the page as wide as before
  const { right, bottom, height } = tip.getBoundingClientRect();
  const above = tip.parentElement.getBoundingClientRect().top - height - MARGIN;
  tip.style.left = `${-Math.max(0, right + MARGIN - document.documentElement.clientWidth)}px`;
  if (bottom + MARGIN > innerHeight && above > 0) tip.style.top = `${-height - MARGIN}px`;
}

export const tooltips = listening(() => [onPage(["pointerover", "focusin"], keepInside)]);
