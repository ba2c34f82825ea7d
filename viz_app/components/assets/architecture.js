// A model's own architecture: boxes of parts, arrows with shapes; a click on a layer opens it.
export default function ({ data, parentElement, setTriggerValue }) {
  const view = mounted(parentElement, architecture);
  view.update(data, setTriggerValue);
  return view.close;
}

function architecture(root) {
  let data, report;

  function line({ points, label }) {
    const end = points.length - 1, [x, y] = points[end], [a, b] = points[end - 1];
    const angle = Math.atan2(y - b, x - a), wing = (turn) => [x - 7 * Math.cos(angle + turn), y - 7 * Math.sin(angle + turn)];
    const [tx, ty] = points.length > 2 ? [points[1][0] + 6, points[1][1] - 5] : [x + 6, (y + b) / 2 + 4];
    return el("g", {}, [
      el("path", { d: `M${points.join("L")}`, class: "edge" }),
      el("path", { d: `M${wing(0.45)}L${[x, y]}L${wing(-0.45)}`, class: "edge" }),
      el("text", { x: tx, y: ty, class: "quiet" }, label),
    ]);
  }

  function part({ x, y, width, height, label, note, frame }) {
    return el("g", { transform: `translate(${x} ${y})` }, [
      el("rect", { width, height, rx: 5, class: frame ? "frame" : "part" }),
      ...(frame ? [] : [el("text", { x: width / 2, y: height / 2 + 5, "text-anchor": "middle" }, label)]),
      el("title", {}, note),
    ]);
  }

  function layer(boxes) {
    const [{ stack, layer: number, label }] = boxes, lit = stack === data.stack && number === data.layer;
    const open = () => report("open", { stack, layer: number });
    return el("g", {
      class: `layer${lit ? " lit" : ""}`, tabindex: 0, role: "button", "aria-label": `${label}${lit ? ", shown" : ", show it"}`,
      "aria-pressed": String(lit), "data-layer": `${stack}-${number + 1}`, onclick: open,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault(); // of scrolling
        open();
      },
    }, boxes.map(part));
  }

  function redraw() {
    const layers = new Map();
    data.boxes.filter((box) => box.layer >= 0).forEach((box) => {
      const name = `${box.stack}-${box.layer}`;
      layers.set(name, [...(layers.get(name) ?? []), box]);
    });
    draw(root, [el("div", { class: "scroll" }, [
      el("svg", { viewBox: `0 0 ${data.width} ${data.height}`, width: data.width, height: data.height, class: "architecture",
        role: "group", "aria-label": data.alt }, [
        el("g", {}, [...layers.values()].map(layer)),
        el("g", {}, data.boxes.filter((box) => box.layer < 0).map(part)),
        el("g", {}, data.arrows.map(line)),
      ]),
    ])]);
  }

  function update(next, setTriggerValue) {
    [data, report] = [next, setTriggerValue];
    redraw();
  }

  return { update, redraw, picture: () => root.querySelector("svg") };
}
