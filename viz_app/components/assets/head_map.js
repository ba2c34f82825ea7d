// One attention map large. The words above it light up what is pointed at here, and the other way round.
export default function ({ data, parentElement }) {
  const view = mounted(parentElement, headMap);
  view.update(data);
  return view.close;
}

function headMap(root) {
  const BELOW = 60, DECADES = 4; // pixels of what stands below the picture; of a logarithmic scale
  let data = null, weights, large = null;

  function update(next) {
    [data, weights] = [next, floats(next.weights)];
    redraw();
  }

  const weight = (t, s) => weights[t * data.keys.length + s]; // NaN where the mask forbids
  const share = (t, s) => shareOf(weight(t, s) / data.largest);
  const shareOf = (part) => (data.logarithmic ? 1 + Math.log10(Math.max(part, 10 ** -DECADES)) / DECADES : part);

  function says(t, s) {
    const number = Number.isNaN(weight(t, s)) ? "masked: weight exactly 0" : `${data.unit}: ${weight(t, s).toFixed(6)}`;
    return `query: ${data.notes[t] ?? data.queries[t]}; key: ${data.keys[s]}; ${number}`;
  }

  function redraw() {
    draw(root, [el("output", { "aria-live": "off", class: "says" }), el("div", { class: "scroll picture" })]);
    const sentence = root.querySelector(".says"), picture = root.querySelector(".picture");
    large ??= largeMap(picture, (text) => { sentence.textContent = text; });
    large.show({
      ...data, label: data.alt, weight, share, says, masked: (t, s) => Number.isNaN(weight(t, s)), tall: roomBelow(picture) - BELOW,
      bar: { unit: data.unit, ticks: data.ticks.map(([part, text]) => [shareOf(part), text]) },
    });
  }

  const marked = ({ detail }) => large?.mark(detail);
  document.addEventListener("headlight-mark", marked);
  return { update, redraw, picture: () => root.querySelector("svg.map"), stop: () => document.removeEventListener("headlight-mark", marked) };
}
