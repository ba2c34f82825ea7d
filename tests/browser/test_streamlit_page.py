"""A canary for each private thing in the pages of Streamlit and Plotly that our JavaScript and styles use.

All of them share one load of one page. A failure names what is gone and the file to repair.
"""

import re

import plotly
import streamlit as st
from playwright.sync_api import Browser

from benchmarks.server import streamlit
from tests.browser.conftest import once_complete
from viz_app.components.bundle import asset, joined, modules

STYLES = ("streamlit/streamlit.css", "streamlit/streamlit_presenting.css")
NAMES = re.compile(r'\.st[A-Z]\w+|\[data-testid="?\w+"?\]|\.js-plotly-plot')
USED = ("walkable", "hoverLines", "STREAMLIT", "PLOTLY", "withKey")  # of bridge.js
# In the page only while somebody types.
TYPING = '[data-testid="InputInstructions"]'
# In the page only on a phone, or while the sidebar is closed.
NOT_HERE = {'[data-testid="stExpandSidebarButton"]', '[data-testid="stDialog"]', TYPING}
FIELDS = """(bridge) => {
    const plot = document.querySelector('.js-plotly-plot'), map = bridge.walkable(plot);
    if (!map) return ['_fullData without a heatmap'];
    const { clientX, clientY } = map.place([0, 0]), gone = [];
    if (!Number.isFinite(clientX) || !Number.isFinite(clientY)) gone.push('_fullLayout axes with d2p and _offset');
    if (!map.layer) gone.push('.nsewdrag');
    const init = { clientX, clientY, bubbles: true, view: window };
    for (const type of ['mouseover', 'mousemove']) map.layer?.dispatchEvent(new MouseEvent(type, init));
    return gone;
}"""


def test_streamlit_has_the_elements_that_our_pages_use(chromium: Browser) -> None:
    with streamlit("tests/browser/streamlit_elements.py") as server:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        page.goto(server.url)
        page.wait_for_function("document.querySelector('.js-plotly-plot')?.calcdata", timeout=60_000)
        page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
        page.get_by_label("Lines").fill("typed")
        page.locator(TYPING).wait_for()  # `streamlit.css` hides it
        page.locator("[data-testid=stDataFrame]").hover()
        page.get_by_role("button", name="Popover").click()
        page.get_by_text("Inside").wait_for()
        code = joined(modules("streamlit/bridge.js"))
        bridge = page.evaluate_handle(f"(() => {{ {code}; return {{ {', '.join(USED)} }}; }})()")

        gone = [f"Plotly's {field}; see `walkable` in bridge.js" for field in page.evaluate(FIELDS, bridge)]

        def wrong_hover() -> set[str]:
            lines = page.evaluate("(bridge) => bridge.hoverLines(document.querySelector('.js-plotly-plot'))", bridge)
            fault = f"the lines of Plotly's hover text ({lines}); see `hoverLines` in bridge.js"
            return set() if lines == ["one", "two"] else {fault}

        gone += once_complete(wrong_hover)
        own = page.evaluate("({ STREAMLIT, PLOTLY }) => ({ ...STREAMLIT, ...PLOTLY })", bridge)
        gone += [f"{one}; see `{name}` in bridge.js" for name, one in own.items() if not page.locator(one).count()]
        for style in STYLES:
            names = set(NAMES.findall(asset(style))) - NOT_HERE
            gone += [f"{name}; see {style}" for name in sorted(names) if not page.locator(name).count()]
        if page.evaluate("({ withKey }) => !withKey('named', 'button')", bridge):
            gone.append("the class st-key-… of a widget; see `withKey` in bridge.js")
        if not page.evaluate("history.state !== undefined && location.pathname === '/'"):
            gone.append("the router's state in the history; see `replaceQuery` in bridge.js")
        page.close()
    versions = f"Streamlit {st.__version__}, Plotly {plotly.__version__}"
    assert gone == [], f"{versions}: gone from the page: {'; '.join(gone)} (in live/streamlit/)"
