"""The lessons that exist, in their order, and the tour of a first visit."""

from viz_app.course.lesson import AnswerForm, Lesson, Step
from viz_app.course.lessons import (
    first_visit,
    learning_and_writing,
    many_heads,
    masks_and_decoding,
    positions,
    query_key_value,
    the_whole_layer,
    what_attention_explains,
    why_attention,
)
from viz_app.course.quiz import QUIZ_FORMS

__all__ = ["ANSWER_FORMS", "LESSONS", "TOUR", "step_of_link"]

LESSONS: tuple[Lesson, ...] = (
    why_attention.LESSON,
    query_key_value.LESSON,
    many_heads.LESSON,
    masks_and_decoding.LESSON,
    positions.LESSON,
    the_whole_layer.LESSON,
    what_attention_explains.LESSON,
    learning_and_writing.LESSON,
)
TOUR = first_visit.LESSON  # in no list: the app offers it once, and the page Lessons has a link to it
STEPS = {lesson.link(step): (lesson, step) for lesson in (*LESSONS, TOUR) for step in lesson.steps}
ANSWER_FORMS: dict[str, AnswerForm] = {name: step.answer for name, (_, step) in STEPS.items()} | QUIZ_FORMS


def step_of_link(name: str) -> tuple[Lesson, Step] | None:
    """The lesson and the step that a link names; None for an unknown name.

    Args:
        name: Such as "query-key-value.scale". The name of a lesson alone means its first step.
    """
    return STEPS.get(name) or next((found for found in STEPS.values() if found[0].name == name), None)
