"""axe-core over what a page shows just now: what ours breaks, and what is left to Streamlit, by name."""

import json
from importlib.resources import files

from playwright.sync_api import Page

# Only what can be serious: the rest costs time, and `heading-order`, which axe calls moderate, is asked for by name.
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RUN = """async () => (await axe.run(document, {
    resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
})).violations.flatMap(({ id, impact, help, nodes }) => nodes.map(({ target, html, failureSummary }) => (
    { id, impact, help, target: target.flat().join(' '), html, why: failureSummary })))"""
BY_NAME = ("heading-order", "page-has-heading-one", "empty-heading")
# (rule, part of the selector or of the element's HTML) → why it is Streamlit's own and no theme's.
LEFT_TO_STREAMLIT: dict[tuple[str, str], str] = {}


def check(page: Page) -> None:
    """Fail with rule, selector and help where something serious or critical is found that is not left to Streamlit."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    found = [
        one
        for one in page.evaluate(RUN)
        if (one["impact"] in ("serious", "critical") or one["id"] in BY_NAME) and not left(one)
    ]
    assert not found, "\n" + "\n".join(
        f"{one['id']} ({one['impact']}): {one['help']}\n  at {one['target']}\n  {one['html'][:200]}\n  {one['why']}"
        for one in found
    )


def left(one: dict[str, str]) -> bool:
    text = json.dumps(one, ensure_ascii=False)
    return any(one["id"] == rule and part in text for rule, part in LEFT_TO_STREAMLIT)
