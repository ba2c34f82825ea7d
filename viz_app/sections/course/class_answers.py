"""Answers as a class counts them: a short code that says nothing about who answered."""

import re

from viz_app.content.lesson_texts import StepText
from viz_app.content.translation import t
from viz_app.course.lesson import Action, Answer, AnswerForm, Lesson, OneHead, OneToken, Step, Word
from viz_app.course.situation import Situation
from viz_app.course.words import word_at
from viz_app.server.presence import visitor
from viz_app.session.classes import CLASSES, HIDDEN

__all__ = ["answer_code", "answer_text", "note_in_class"]

HEAD = re.compile(r"(\d+)\.(\d+)")


def note_in_class(lesson: Lesson, step: Step, situation: Situation, answer: Answer, *, right: bool) -> None:
    """Tell the class of this visitor what came out. An action counts when it is right.

    Args:
        lesson: The open lesson.
        step: Its open step.
        situation: The visitor's run.
        answer: The first answer; None for an action.
        right: Whether the latest answer is right.
    """
    if step.predicts or right:
        code = answer_code(step, situation, answer)
        CLASSES.note_answer(visitor(), lesson.name, step.name, code, right=right)


def answer_code(step: Step, situation: Situation, answer: Answer) -> str:
    """The answer as the class counts it. Nobody else reads words that a member typed."""
    match step.answer, answer:
        case Word(), _:
            return HIDDEN
        case OneToken(side), int() | float():
            if situation.text != step.choices.get("text") or situation.forced:
                return HIDDEN
            translation = situation.translation
            tokens = translation.source if side == "reads" else translation.written
            return word_at(tokens, int(answer)) if answer < len(tokens) else HIDDEN
        case OneHead(), (layer, head):
            return f"{layer + 1}.{head + 1}"
        case _, int() | float():
            return f"{answer:g}"
        case _, str():
            return answer
    return HIDDEN


def answer_text(form: AnswerForm, text: StepText, code: str) -> str:
    """The answer in the language of the teacher, as plain text."""
    if code == HIDDEN:
        return t("done on the page") if isinstance(form, Action) else t("own words")
    if isinstance(form, OneHead) and (found := HEAD.fullmatch(code)):
        return t("layer {layer}, head {head}", layer=found[1], head=found[2])
    return text.options.get(code, code)
