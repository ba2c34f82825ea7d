"""axe-core over what a page shows just now: what it finds serious, and words of drawings that are too faint."""

from importlib.resources import files

from playwright.sync_api import Page

from tests.browser.conftest import DRAWN

# Only what can be serious: the rest costs time, and `heading-order`, which axe calls moderate, is asked for by name.
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN = """async (runOnly) => {
    const drawn = ['.js-plotly-plot']; // what has a name of its own, and half of the elements of a page
    const { violations } = await axe.run({ exclude: drawn }, { resultTypes: ['violations'], runOnly });
    return violations.flatMap(({ id, impact, help, nodes }) => nodes.map(({ target, html, failureSummary }) => (
        { id, impact, help, target: target.flat().join(' '), html, why: failureSummary })));
}"""
BY_NAME = ("heading-order", "page-has-heading-one", "empty-heading")
# axe reads no text of a drawing. Words on the colours of heatmaps and bars are for the test_contrast.py of figures.
FAINT = """() => {
    const parts = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
    const ON_COLOURS = '.heatmaplayer, .barlayer';
    const over = (front, back, share) => front.slice(0, 3).map((c, i) => share * c + (1 - share) * back[i]);
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = (rgb) => rgb.map((c) => linear(c / 255))
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const up = (element) => element.parentElement ?? element.getRootNode().host;
    const found = [];
    const look = (root) => root.querySelectorAll('*').forEach((element) => {
        if (element.shadowRoot) look(element.shadowRoot);
        if (!element.matches('svg text') || !element.textContent.trim() || element.closest(ON_COLOURS)) return;
        if (!element.getClientRects().length) return;
        let share = 1, back = null;
        for (let at = element; at; at = up(at)) {
            const style = getComputedStyle(at), paint = parts(style.backgroundColor);
            share *= Number(style.opacity);
            if (!back && paint.length && (paint[3] ?? 1) === 1) back = paint;
        }
        const fill = parts(getComputedStyle(element).fill);
        const pair = [over(fill, back, share * (fill[3] ?? 1)), back.slice(0, 3)].map(light).sort((a, b) => b - a);
        const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
        if (contrast < 4.5) found.push(`${contrast.toFixed(2)}: ${element.textContent.slice(0, 40)}`);
    });
    look(document);
    return [...new Set(found)];
}"""

# While its script runs Streamlit fades what may be old, and fades it in again after that; before our style has come its
# captions are paler than ours. A saved report has neither, nor the element that Streamlit draws into.
STILL = f"""() => (!document.querySelector('#root') || ({DRAWN})()) && document.getAnimations().every(
    (one) => one.playState !== 'running' || one.timeline !== document.timeline // it follows what a visitor scrolls
        || one.effect.getTiming().iterations === Infinity)"""


def check(page: Page, *, colours_alone: bool = False) -> None:
    """Fail with rule, selector and help where something serious or critical is found, and found again.

    A page may begin to fade while it is looked at, so each problem is checked again when nothing moves.

    Args:
        page: The page in its current state.
        colours_alone: The same page was looked at in another theme, so only its colours are news.
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    rules = ["color-contrast"] if colours_alone else TAGS
    found = look(page, rules) and look(page, rules)
    assert not found, "\n".join(["", *found])


def look(page: Page, rules: list[str]) -> list[str]:
    page.wait_for_function(STILL, polling=100)
    return [f"Words of a drawing below 4.5:1: {words}" for words in page.evaluate(FAINT)] + [
        f"{one['id']} ({one['impact']}): {one['help']}\n  at {one['target']}\n  {one['html'][:200]}\n  {one['why']}"
        for one in page.evaluate(RUN, rules)
        if (one["impact"] in ("serious", "critical") or one["id"] in BY_NAME)
    ]
