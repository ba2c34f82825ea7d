"""The questions before and after the course: the same in every language, and none that gives itself away."""

import pytest

from viz_app.content.catalogues import ENGLISH, LANGUAGES
from viz_app.course.catalogue import LESSONS
from viz_app.course.quiz import QUIZ, questions


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_the_same_questions_options_and_right_answers(code: str) -> None:
    assert (QUIZ / f"{code}.toml").is_file(), "English would take its place"
    ours, english = questions(code), questions(ENGLISH)
    assert [(q.name, q.lesson, tuple(q.options), q.right) for q in ours] == [
        (q.name, q.lesson, tuple(q.options), q.right) for q in english
    ]
    for one in ours:
        assert len(set(one.options.values())) == 4, one.name
        assert all((one.question, one.why, *one.options.values()))


def test_twelve_questions_are_about_all_lessons() -> None:
    assert len({one.name for one in questions(ENGLISH)}) == 12
    assert {one.lesson for one in questions(ENGLISH)} == {lesson.name for lesson in LESSONS}
    assert all(one.right in one.options for one in questions(ENGLISH))


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_longest_option_is_not_a_way_to_guess(code: str) -> None:
    longest = [max(one.options, key=lambda name: len(one.options[name])) == one.right for one in questions(code)]
    assert sum(longest) <= 6
