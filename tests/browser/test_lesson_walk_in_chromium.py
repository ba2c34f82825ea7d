"""Every step of every lesson with the buttons that a visitor has. Language and screen change from lesson to lesson."""

import re
from collections.abc import Callable
from functools import cache

import pytest
from playwright.sync_api import ConsoleMessage, Error, Page, expect

from tests.browser.conftest import DRAWN, App, once_complete, settle
from tests.browser.overflow import PHONE, PROJECTOR, problems
from tests.conftest import BUNDLED
from viz_app.content.catalogues import LANGUAGES
from viz_app.content.lesson_texts import FORMULA, PLACEHOLDER, StepText, lesson_text
from viz_app.content.translation import in_language, t
from viz_app.course.catalogue import LESSONS, STEPS, TOUR
from viz_app.course.expected import expected_answers, opening
from viz_app.course.lesson import Lesson, Number, OneOf, OneToken, Step
from viz_app.services.listing import list_one

ALL = (*LESSONS, TOUR)
STRIP = ".st-key-lesson_strip"
# The address names the step, all is drawn, and its outcome is there unless the page waits for an answer.
THERE = f"""([name, hidden]) => new URLSearchParams(location.search).get('lesson') === name && ({DRAWN})()
    && hidden === !document.querySelector('.st-key-lesson_outcome')"""
# What the strip and its outcome say, with a sign for each formula, what stands below, and the messages of errors.
SHOWN = """() => {
    const main = document.querySelector('.stMainBlockContainer'), strip = main.querySelector('.st-key-lesson_strip');
    const plain = (element) => {
        const copy = element?.cloneNode(true);
        copy?.querySelectorAll('.katex').forEach((formula) => formula.replaceWith('$'));
        return copy?.textContent.replace(/\\s+/g, ' ') ?? '';
    };
    const errors = document.querySelectorAll('[data-testid=stException], [data-testid=stAlertContentError]');
    const outcome = main.querySelector('.st-key-lesson_outcome');
    const below = main.innerText.replace(strip.innerText, '').replace(outcome?.innerText ?? '', '');
    return [plain(strip), plain(outcome), below.trim(), [...errors].map(({ textContent }) => textContent)];
}"""


@cache
def right_answer(link: str) -> str:
    """What the run of a step confirms: an option, the text of a token, or a number."""
    _, step = STEPS[link]
    key = list_one(BUNDLED / step.choices["checkpoint"]).key
    judged = expected_answers(step, opening(step, key))
    return next(one.answers[0] for one in judged if one.verdict.right)


def answer(page: Page, step: Step, right: str) -> None:
    strip = page.locator(STRIP)
    pills = strip.locator("[data-testid=stButtonGroup] button")
    match step.answer:
        case OneOf(options):
            pills.nth(options.index(right)).click()
        case OneToken():
            pills.get_by_text(right, exact=True).first.click()
        case Number():
            strip.locator("input").fill(right)
            strip.locator("input").press("Enter")


def says(shown: str, markdown: str) -> bool:
    """Whether a shown text has all words of a Markdown text, which has values and formulas between them."""
    plain = PLACEHOLDER.sub("$", FORMULA.sub("$", markdown))
    parts = re.split(r"[$*_`\[\]\\]+|\(http[^)]*\)", re.sub(r"\s+", " ", plain))
    return all(part.strip() in shown for part in parts)


def point(page: Page, step: Step) -> None:
    """Point at what the step names; before that, nothing is marked as right."""
    settle(page)
    expect(page.locator(".st-key-lesson_outcome")).to_have_count(0)
    page.locator({"writes": "[data-row=writes] .hl-chip", "map": "[data-cell]"}[step.points_at]).first.hover()


def look(page: Page, step: Step, text: StepText, lang: str, *, hidden: bool) -> set[str]:
    """What is wrong with the strip and the page below it; before the answer the page is `hidden`."""
    strip, outcome, below, errors = page.evaluate(SHOWN)
    with in_language(lang):
        waits, right = (
            t("Answer first. Then the picture appears."),
            t(":material/check_circle: **Right.**").split("**")[1],
        )
    found = {*errors, *problems(page)}
    if not says(strip, text.text + " $ " + text.question) or "{" in strip:
        found.add(f"the strip says: {strip}")
    if hidden:
        return found | ({below} if below != waits else set())
    if waits in below or len(below) < 20:
        found.add(f"below the strip: {below}")
    if step.target:
        expect(page.locator(f".st-key-{step.target}").first).to_be_visible()
    if step.target and step.predicts:
        expect(page.locator(f".st-key-{step.target}").first).to_be_in_viewport()
        expect(page.locator(".st-key-lesson_outcome")).to_be_in_viewport()
    possible = [text.outcomes["right"]] if step.predicts else [*text.outcomes.values()]
    if not any(says(outcome, words) for words in possible) or (step.predicts and right not in outcome):
        found.add(f"the outcome says: {outcome}")
    return found


def walk(page: Page, lesson: Lesson, lang: str) -> list[str]:
    """What is wrong in all steps, with the right answers and the button Next."""
    found: list[str] = []
    texts = lesson_text(lesson.name, lang)

    def check(step: Step, *, hidden: bool) -> None:
        page.wait_for_function(THERE, arg=[lesson.link(step), hidden], polling=100)
        wrong = once_complete(lambda: look(page, step, texts.steps[step.name], lang, hidden=hidden))
        found.extend(f"{lang}, {lesson.link(step)}{' before the answer' * hidden}: {one}" for one in sorted(wrong))

    for step in lesson.steps:
        if step.predicts:
            check(step, hidden=True)
            answer(page, step, right_answer(lesson.link(step)))
        if step.points_at:
            page.wait_for_url(f"**lesson={lesson.link(step)}*")
            point(page, step)
        check(step, hidden=False)
        page.locator(":is(.st-key-lesson_next, .st-key-lesson_finish) button").click()
    page.wait_for_url("**/lessons*")
    expect(page.locator(STRIP)).to_have_count(0)
    expect(page.locator(".st-key-lesson_summary")).to_contain_text(texts.goal)
    return found


@pytest.mark.parametrize("lesson", ALL, ids=lambda lesson: lesson.name)
def test_a_visitor_walks_through_a_lesson(visit: Callable[..., Page], app: App, lesson: Lesson) -> None:
    place = ALL.index(lesson)
    lang = [*LANGUAGES][place % len(LANGUAGES)]
    page, said = visit("_stcore/health"), list[str]()

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            said.append(message.text)

    def fail(error: Error) -> None:
        said.append(error.message)

    page.on("console", note)
    page.on("pageerror", fail)
    page.set_viewport_size((PHONE, PROJECTOR)[place % 2])
    page.goto(f"{app.url}/?lesson={lesson.name}&lang={lang}")
    found = walk(page, lesson, lang)
    page.remove_listener("console", note)
    page.remove_listener("pageerror", fail)
    assert not found + said, "\n".join(["", *found, *said])
