"""A translation as a widget: the head that is clicked on the page in the notebook is a value in Python."""

import json
import sys

import numpy as np
import pytest
from playwright.sync_api import Browser

from headlight import ShownTranslation, open_checkpoint
from tests.viz_app.conftest import array
from viz_app.components.bundle import asset

# What a notebook does with a widget: it calls `render` with the values, and sends changed values to Python.
NOTEBOOK = """<div id="cell"></div><script type="module">
const sent = window.sent = [], values = {values};
const model = {{ get: (name) => values[name], set: (name, value) => {{ values[name] = value; }},
    save_changes: () => sent.push(structuredClone(values.chosen)) }};
const {{ default: widget }} = await import("data:text/javascript," + encodeURIComponent({code}));
window.end = widget.render({{ model, el: document.querySelector("#cell") }});
</script>"""


@pytest.fixture(scope="module")
def shown() -> ShownTranslation:
    found = open_checkpoint("everyday-en-de").translate("A dog runs.")  # type: ignore[union-attr]
    assert isinstance(found, ShownTranslation)
    return found


def test_a_head_that_is_chosen_on_the_page_is_a_value(shown: ShownTranslation, chromium: Browser) -> None:
    widget = shown.widget
    assert shown.widget is widget
    values = json.dumps({"page": widget.page, "height": widget.height}).replace("</", "<\\/")
    page = chromium.new_page()
    page.set_content(NOTEBOOK.format(values=values, code=json.dumps(asset("app/widget.js"))))
    page.wait_for_function("() => sent.length")
    assert page.evaluate("() => sent.at(-1)") == widget.chosen, "before a click, both have the same head"
    page.frame_locator("iframe").get_by_role("button", name="layer 2, head 5", exact=True).click()
    page.wait_for_function("() => sent.at(-1).head === 4")
    widget.chosen = page.evaluate("() => sent.at(-1)")
    assert widget.chosen == {"kind": "cross", "layer": 1, "head": 4}
    drawn = shown.plot(**widget.chosen).to_plotly_json()
    np.testing.assert_allclose(array(drawn["data"][0]["z"]), shown.maps["cross"][1, 4], atol=1e-6)
    page.evaluate("() => { end(); sent.length = 0; postMessage({ headlight: {} }, '*'); }")
    assert page.evaluate("() => sent") == []
    page.close()


def test_a_notebook_without_widgets_shows_the_same_page(
    shown: ShownTranslation, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = shown._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == shown.widget.model_id  # type: ignore[index]
    assert bundle["text/html"] == shown._repr_html_()
    monkeypatch.setitem(sys.modules, "headlight.widget", None)
    plain = open_checkpoint("everyday-en-de").translate("A dog runs.")  # type: ignore[union-attr]
    assert isinstance(plain, ShownTranslation)
    assert set(plain._repr_mimebundle_()) == {"text/plain", "text/html"}
