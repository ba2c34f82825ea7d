// A translation in a notebook: the page of the report in a frame. The head that a visitor chooses there is a value in
// Python (headlight/widget.py). It has the form of anywidget.dev.

/** @param {{ model: any, el: HTMLElement }} place @returns {() => void} What ends it. */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  const keep = (/** @type {MessageEvent} */ { source, data }) => {
    if (source !== frame.contentWindow || !data?.headlight) return;
    model.set("chosen", data.headlight);
    model.save_changes();
  };
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.srcdoc = model.get("page");
  addEventListener("message", keep);
  el.append(frame);
  return () => removeEventListener("message", keep);
}

export default { render };
