"""A lesson on paper: its expected answers are those of the checks, and everything in it is text."""

import re
from datetime import date
from html import escape
from typing import Any

import pytest

from tests.conftest import BUNDLED
from viz_app.content.catalogues import LANGUAGES
from viz_app.content.lesson_texts import LESSONS as FOLDER
from viz_app.content.lesson_texts import LessonText, StepText, lesson_text, plan_text
from viz_app.content.translation import in_language
from viz_app.course.catalogue import LESSONS
from viz_app.course.expected import Expected, Judged, expected_answers, expected_work
from viz_app.course.expressions import parse
from viz_app.course.lesson import Lesson, Number, OneOf, Step, Verdict
from viz_app.course.situation import Situation
from viz_app.export.lesson_sheet import lesson_sheet, plan_sheet
from viz_app.export.printable import SIGNS, blocks, inline
from viz_app.services.listing import CheckpointKey, list_one

KEYS = tuple(list_one(folder).key for folder in sorted(BUNDLED.iterdir()) if folder.is_dir())
SIGN = re.compile(r"\\[a-z]+")
NOBODY: Any = Situation(key=CheckpointKey(path="x", version=""), text="")


def sheet(lesson: Lesson, texts: LessonText, expected: tuple[Expected, ...]) -> str:
    return lesson_sheet(lesson, texts, expected, number=3, address="http://x/", made=date(2026, 3, 3))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_question_has_a_right_answer_and_every_sheet_has_all_steps(lesson: Lesson) -> None:
    expected = expected_work(lesson, KEYS)[1](lambda done, total: None)
    for step, known in zip(lesson.steps, expected, strict=True):
        assert not known.missing
        assert not step.predicts or any(one.verdict.right for one in known.judged), step.name
        assert not step.puzzle or not known.judged[0].verdict.right, f"{step.name} is solved before the first try"
    for code in LANGUAGES:
        with in_language(code):
            page = sheet(lesson, lesson_text(lesson.name, code), expected)
        assert page.count("<section>") == len(lesson.steps)
        assert all(f"lesson={lesson.link(step)}&amp;lang={code}" in page for step in lesson.steps)
        assert '<html lang="' + {"zh": "zh-Hans"}.get(code, code) + '">' in page
        body = page.partition("</style>")[2]
        assert not {"<script", "{", "}", "\\", "**", "$"} & {
            sign for sign in ("<script", *"{}\\$", "**") if sign in body
        }


def probe(answer: Any, check: str) -> Step:
    return Step(name="one", page="steps", choices={}, answer=answer, lines=parse(check))


@pytest.mark.parametrize(("true", "within", "wanted"), [(5.66, 0.3, ("5.4", "5.9")), (12, 0.01, ("12", "12"))])
def test_the_range_of_right_estimates_is_found(true: float, within: float, wanted: tuple[str, str]) -> None:
    step = probe(Number(1, 40, 0.1), f"outcome = estimated(given, {true}, {within})")
    (judged,) = expected_answers(step, NOBODY)
    assert judged.answers == wanted
    assert judged.verdict.right


def test_nothing_in_a_sheet_is_markup_except_its_own() -> None:
    text = StepText(
        "<b>T</b>",
        "<script>x</script> is **bold**",
        "Is **1 < 2**?",
        {"yes": "Yes & no", "no": "<i>"},
        ("a", "b", "c"),
        {"right": "It is {word}.", "wrong": "Not so."},
        "",
        "`<x>`",
    )
    step = probe(OneOf(("yes", "no")), 'outcome = "right"')
    verdicts = Verdict(right=True, outcome="right", values={"word": "<u>*x*"}), Verdict(right=False, outcome="wrong")
    judged = tuple(Judged(answers=(name,), verdict=one) for name, one in zip(("yes", "no"), verdicts, strict=True))
    lesson = Lesson(name="probe", steps=(step,))
    page = sheet(lesson, LessonText("<title>", "goal", {"one": text}), (Expected(judged=judged),))
    assert not any(sign in page for sign in ("<script", "<b>T", "<i>", "<u>", "<title><"))
    assert "Is <strong>1 &lt; 2</strong>?" in page
    assert "It is &lt;u&gt;*x*." in page
    assert "<code>&lt;x&gt;</code>" in page
    missing = sheet(lesson, LessonText("t", "g", {"one": text}), (Expected(missing="a_b"),))
    assert "no checkpoint a_b," in missing


def test_every_sign_of_a_formula_in_a_lesson_is_known() -> None:
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*/*.md")]
    signs = {sign for text in texts for formula in re.findall(r"\$([^$]+)\$", text) for sign in SIGN.findall(formula)}
    assert signs <= {*SIGNS, r"\sqrt", r"\frac", r"\text", r"\mathrm", r"\operatorname"}


def test_formulas_and_tables_become_plain_html() -> None:
    assert inline(r"$\sqrt{d_k}$ and $e^{s+1} = e \cdot e^s$") == (
        '<i>√<span class="root">d<sub>k</sub></span></i> and <i>e<sup>s+1</sup> = e · e<sup>s</sup></i>'
    )
    assert blocks("| a | b |\n| --- | --- |\n| 1 | **2** |") == (
        "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n"
        "<tbody>\n<tr>\n<td>1</td>\n<td><strong>2</strong></td>\n</tr>\n</tbody>\n</table>\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "<script>x</script>",
        "<!-- x -->",
        "&lt;b&gt;",
        "[a](http://x)",
        "![a](http://x)",
        "<http://x>",
        "http://x",
        "~~x~~",
    ],
)
def test_links_images_and_html_are_text(text: str) -> None:
    assert inline(text) == escape(text)
    assert blocks(text) == f"<p>{escape(text)}</p>\n"


@pytest.mark.parametrize(("text", "wanted"), [("$", "$"), ("$$", "$$"), ("5 $ and", "5 $ and"), (r"\$x\$", "$x$")])
def test_a_dollar_sign_without_a_formula_is_text(text: str, wanted: str) -> None:
    assert inline(text) == wanted


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_plan_has_four_sessions_with_all_lessons_in_every_language(code: str) -> None:
    with in_language(code):
        page = plan_sheet(plan_text(code))
    assert page.count("<table>") == 4
    assert all(lesson_text(lesson.name, code).title in plan_text(code) for lesson in LESSONS)
