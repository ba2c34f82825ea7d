"""Every lesson in every language: the texts belong to the code, and the code to the app."""

import re

import pytest

from tests.conftest import BUNDLED
from tests.viz_app.course.lesson_runs import placeholders, situation_of
from viz_app.content.catalogues import ENGLISH, LANGUAGES
from viz_app.content.lesson_texts import LESSONS as FOLDER
from viz_app.content.lesson_texts import LessonText, lesson_text
from viz_app.content.shared import PAGES
from viz_app.course.catalogue import LESSONS, TOUR, step_of_link
from viz_app.course.lesson import OneOf, Step
from viz_app.session.choice_forms import FORMS

ALL = {lesson.name: lesson for lesson in (*LESSONS, TOUR)}
STEPS = {lesson.link(step): step for lesson in ALL.values() for step in lesson.steps}
TEXTS = [(name, code) for name in ALL for code in LANGUAGES]
PAPER = re.compile(r"[A-Z]\w+(?: et al\.| and [A-Z]\w+)? (?:19|20)\d\d")
SECTION = re.compile(r"(?<![\d.,])\d\.\d(?:\.\d)?(?![\d.]*\d)")


@pytest.mark.parametrize(("name", "code"), TEXTS)
def test_the_texts_have_exactly_the_steps_of_the_code(name: str, code: str) -> None:
    assert (FOLDER / code / f"{name}.md").is_file(), "English would take its place"
    text = lesson_text(name, code)
    assert list(text.steps) == [step.name for step in ALL[name].steps]
    assert text.title
    assert text.goal
    for step in ALL[name].steps:
        compare(step, text, lesson_text(name, ENGLISH), hints=ALL[name] is not TOUR)


def compare(step: Step, texts: LessonText, english: LessonText, *, hints: bool) -> None:
    text, model = texts.steps[step.name], english.steps[step.name]
    options = step.answer.options if isinstance(step.answer, OneOf) else ()
    assert tuple(text.options) == options, f"{step.name}: options in the order of the code"
    assert set(text.outcomes) == set(step.outcomes), f"{step.name}: one text for each outcome"
    assert len(text.hints) == (3 if hints else 0), step.name
    for outcome, words in text.outcomes.items():
        assert placeholders(words) == placeholders(model.outcomes[outcome]), f"{step.name}: {outcome}"
    assert bool(text.source) == bool(model.source), f"{step.name}: the source is in every language"
    assert cited(text.source) == cited(model.source), f"{step.name}: the same papers and sections in every language"


def cited(source: str) -> tuple[list[str], list[str]]:
    """The papers of a source and its numbers of sections. A language may name them in another order."""
    return sorted(PAPER.findall(source)), sorted(SECTION.findall(source))


def test_a_lesson_has_five_to_nine_steps_and_then_three_puzzles() -> None:
    for lesson in LESSONS:
        puzzles = [step.puzzle for step in lesson.steps]
        assert puzzles == sorted(puzzles), lesson.name
        assert puzzles.count(True) == 3, lesson.name
        assert 5 <= puzzles.count(False) <= 9, lesson.name


def test_the_tour_has_five_steps_on_translate() -> None:
    assert [step.page for step in TOUR.steps] == ["translate"] * 5
    assert TOUR not in LESSONS


@pytest.mark.parametrize("name", STEPS)
def test_a_step_opens_a_page_that_exists_with_choices_that_exist(name: str) -> None:
    step, found = STEPS[name], step_of_link(name)
    assert found
    assert found[1] is step
    assert step.page in PAGES
    assert step.choices.keys() <= FORMS.keys()
    assert all(FORMS[choice].read(text) is not None for choice, text in step.choices.items())
    assert (BUNDLED / step.choices.get("checkpoint", "everyday-en-de")).is_dir()


@pytest.mark.parametrize("name", [name for name, step in STEPS.items() if step.puzzle])
def test_a_puzzle_that_asks_for_own_sentences_also_offers_some(name: str) -> None:
    step, lesson = STEPS[name], name.partition(".")[0]
    asks = re.match(r"(Write|Change the sentences)\b", lesson_text(lesson, ENGLISH).steps[step.name].question)
    assert bool(step.offers) >= bool(asks)
    for offer in step.offers:
        assert all(FORMS[choice].read(text) == text for choice, text in offer.items())
    if asks:
        found = {step.check(situation_of(step, **offer), None).right for offer in step.offers}
        assert found == {True, False}, "some of them solve the puzzle"


@pytest.mark.parametrize("name", [name for name, step in STEPS.items() if step.puzzle])
def test_a_sentence_that_a_puzzle_speaks_of_is_on_its_page(name: str) -> None:
    step, lesson = STEPS[name], name.partition(".")[0]
    situation = situation_of(step)
    page = " ".join([*step.choices.values(), situation.usual.text])
    for sentence in re.findall(r"“([A-ZÄÖÜ][^”{…]+)”", lesson_text(lesson, ENGLISH).steps[step.name].text):
        if sentence[-1] in ".?" or sentence.count(" ") > 5:
            assert sentence in page
