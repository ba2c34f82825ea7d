// The small tables below the token chips stay inside the window.
import { listening, onPage } from "./page_events.js";

const MARGIN = 8; // pixels

function keepInside({ target }) {
  const tip = target.closest?.(".hl-chip")?.querySelector(".hl-tip");
  if (!tip) return;
  tip.style.translate = "";
  const { right, bottom, height } = tip.getBoundingClientRect(), chip = tip.parentElement.getBoundingClientRect();
  const over = Math.max(0, right + MARGIN - document.documentElement.clientWidth);
  const up = bottom + MARGIN > innerHeight ? height + chip.height + MARGIN : 0;
  tip.style.translate = `${-over}px ${-up}px`;
}

export default listening(() => [onPage(["pointerover", "focusin"], keepInside)]);
