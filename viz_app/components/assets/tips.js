// The little tables under the chips stay inside the window, wherever their chip stands.
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

export default function () {
  ["pointerover", "focusin"].forEach((one) => document.addEventListener(one, keepInside)); // the same one counts once
}
