"""Every page and tab in Chinese and Korean, on a projector and a phone: no text is cut, covered or out of its box."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, ViewportSize

from tests.browser.conftest import App, settle
from viz_app.widgets.navigation import HOME, PAGES

PROJECTOR: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 844}
VIEWS = (
    "?view=lines",
    "?checkpoint=gru-de-en",  # one head
    "steps?steps_view=beam",
    "compare?compare=sentences",
)
# What is wrong, and with which text. Text that scrolls is whole, and so is text that ends in "…" with a tooltip.
FIND = """(wide) => {
    const SLACK = 2, MARGIN = 20; // pixels; Streamlit gives captions a negative margin
    // Formulas and icons are no text. The sidebar is closed on a phone.
    const LEFT_OUT = `script, style, .katex *, [data-testid=stIconMaterial], [data-testid=stSliderThumbValue] *
        ${wide ? '' : ', [data-testid=stSidebar] *'}`;
    const found = new Set(), drawings = new Map(), all = [];
    const note = (what, text) => found.add(`${what}: ${text.trim().replace(/\\s+/g, ' ').slice(0, 60)}`);
    const up = (element) => element.parentElement ?? element.getRootNode().host;
    const collect = (root) => root.querySelectorAll('*').forEach((element) => {
        all.push(element);
        if (element.shadowRoot) collect(element.shadowRoot);
    });
    const isLow = (one) => one.scrollHeight > one.clientHeight + MARGIN;
    const isSeen = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const sideways = (one) => one.scrollWidth > one.clientWidth + SLACK;
    const hasTip = (element, text) => {
        for (let at = element; at; at = up(at)) if (at.title?.includes?.(text.trim())) return true;
        return false;
    };
    // The first ancestor that cuts a text, or whose frame the text leaves.
    const problemOf = (element, text, box) => {
        for (let at = element; at && at !== document.body; at = up(at)) {
            if (at.ownerSVGElement) continue;
            const style = getComputedStyle(at), { left, right, top, bottom, width } = at.getBoundingClientRect();
            if (style.clipPath !== 'none' || width <= 2) return ''; // for screen readers
            const out = box.left < left - SLACK || box.right > right + SLACK, cuts = /hidden|clip/;
            if (/auto|scroll/.test(style.overflow) && (sideways(at) || at.scrollHeight > at.clientHeight)) return '';
            if (cuts.test(style.overflowX) && (out || (style.textOverflow === 'ellipsis' && sideways(at))))
                return hasTip(element, text) ? '' : 'cut at its side';
            if (cuts.test(style.overflowY) && (box.top < top - 3 || box.bottom > bottom + 3)) return 'cut at its end';
            const framed = parseFloat(style.borderLeftWidth) > 0 || !/, 0\\)$/.test(style.backgroundColor);
            if (framed && out && style.display !== 'inline') return 'leaves its box';
        }
        return box.left < -SLACK || box.right > innerWidth + SLACK ? 'leaves the window' : '';
    };
    // The corners of a drawn text, which may be turned, without the room above and below its letters.
    const cornersOf = (text) => {
        const { x, y, width, height } = text.getBBox(), m = text.getScreenCTM(), low = Math.min(3, height / 5);
        return [[x, y + low], [x + width, y + low], [x + width, y + height - low], [x, y + height - low]]
            .map(([a, b]) => [m.a * a + m.c * b + m.e, m.b * a + m.d * b + m.f]);
    };
    // Two rectangles are apart if they are apart along a side of one of them.
    const areApart = (p, q) => [p, q].some((box) => [0, 1].some((i) => {
        const across = [box[i + 1][1] - box[i][1], box[i][0] - box[i + 1][0]];
        const [one, other] = [p, q].map((corners) => corners.map(([x, y]) => x * across[0] + y * across[1]));
        return Math.max(...one) <= Math.min(...other) || Math.max(...other) <= Math.min(...one);
    }));
    collect(document.querySelector('[data-testid=stApp]'));
    for (const element of all) {
        if (element.matches(LEFT_OUT) || !isSeen(element)) continue;
        const style = getComputedStyle(element);
        if (element.matches('[data-testid=stMain]') && sideways(element)) note('scrolls sideways', 'the page');
        if (wide && element.matches('.dvn-scroller') && sideways(element)) note('scrolls sideways', 'a table');
        if (element.matches('input, textarea') && element.clientWidth > 9 && (sideways(element) || isLow(element)))
            note('cut in its field', element.value || element.placeholder);
        if (style.overflowY === 'visible' && element.clientHeight && isLow(element))
            note('covers what follows', element.textContent);
        const texts = [...element.childNodes].filter(({ nodeType, data }) => nodeType === 3 && data.trim());
        if (!texts.length) continue;
        const text = texts.map(({ data }) => data).join(' '), range = document.createRange();
        range.setStart(texts[0], 0);
        range.setEnd(texts.at(-1), texts.at(-1).length);
        const box = range.getBoundingClientRect(), problem = box.width > 2 && problemOf(element, text, box);
        if (problem) note(problem, text);
        const drawn = element.closest('svg text'), drawing = element.closest('.svg-container, svg:not(svg svg)');
        if (drawn && drawing) drawings.set(drawing, (drawings.get(drawing) ?? new Set()).add(drawn));
    }
    for (const [drawing, texts] of drawings) {
        const { left, right, top, bottom } = drawing.getBoundingClientRect();
        const placed = [...texts].map((text) => [text.textContent, cornersOf(text)]);
        placed.forEach(([text, corners], i) => {
            const [xs, ys] = [0, 1].map((side) => corners.map((corner) => corner[side])), { max, min } = Math;
            if (max(left - min(...xs), max(...xs) - right, top - min(...ys), max(...ys) - bottom) > SLACK)
                note('leaves its drawing', text);
            for (const [other, others] of placed.slice(0, i))
                if (!areApart(corners, others)) note('overlap', `${other} / ${text}`);
        });
    }
    return [...found];
}"""


def states(page: Page, app: App, lang: str) -> Iterator[str]:
    """Open every page, every tab of it, and some more views, one after another."""
    for path in (*PAGES, *VIEWS):
        page.goto(f"{app.url}/{'' if path == HOME else path}{'&' if '?' in path else '?'}lang={lang}")
        settle(page)
        yield path
        tabs = page.get_by_role("tab")
        for i in range(1, tabs.count()):
            tabs.nth(i).click()
            settle(page)
            yield f"{path}, tab {i + 1}"


def problems(page: Page, size: ViewportSize) -> set[str]:
    """What is wrong in a window of this size, and is still wrong when nothing moves any more."""
    page.set_viewport_size(size)
    touch = page.context.new_cdp_session(page)
    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": size == PHONE})
    touch.detach()
    page.wait_for_timeout(150)  # until the page has noticed its size
    settle(page)
    found = set(page.evaluate(FIND, size != PHONE))
    if found:
        page.wait_for_timeout(500)
        found &= set(page.evaluate(FIND, size != PHONE))
    return found


@pytest.mark.parametrize("lang", ["zh", "ko"])
def test_no_text_is_cut_or_covered(visit: Callable[..., Page], app: App, lang: str) -> None:
    page = visit(f"start?lang={lang}", kept=False)
    found = [
        f"{state} at {size['width']} × {size['height']}: {problem}"
        for state in states(page, app, lang)
        for size in (PHONE, PROJECTOR)
        for problem in sorted(problems(page, size))
    ]
    assert not found, "\n".join(["", *found])
