"""The control in which a visitor answers, one for each form of answer.

Its value stands in the session under the name of the step, and comes from the kept answer after a reload.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TypeVar

import streamlit as st

from viz_app.content.lesson_texts import StepText
from viz_app.content.plain import plain
from viz_app.content.translation import t
from viz_app.course.lesson import Answer, AnswerForm, Number, OneOf, OneToken, Step
from viz_app.course.progress import fits
from viz_app.course.situation import Situation
from viz_app.course.visit import lesson_visit
from viz_app.session.choice_forms import FORMS
from viz_app.session.choices import set_choice

__all__ = ["about_this_run", "answer_control", "offers"]

Option = TypeVar("Option", str, int)
MOST_CHIPS = 24  # tokens; more are a list


def answer_control(
    name: str, step: Step, text: StepText, answered: Answer, run: Callable[[], Situation | None]
) -> None:
    """Draw the control. A new answer reaches `LessonVisit.answer` in its callback.

    Args:
        name: The name of the step in links.
        step: The open step.
        text: Its texts.
        answered: The answer until now; None without one.
        run: The visitor's run, which a choice of a token needs.
    """
    key = f"lesson_answer_{name}"
    match step.answer:
        case OneOf(options):
            pills(key, options, answered, lambda option: text.options.get(option, plain(option)))
        case Number() as form:
            estimate(key, form, answered)
        case OneToken() as form:
            if (situation := run()) is None:
                st.info(t("Type a sentence to answer."))
            else:
                token(key, form, situation, answered)


def pills(
    key: str, options: Sequence[Option], answered: Answer, label: Callable[[Option], str], *, about: str = ""
) -> None:
    st.session_state.setdefault(key, answered if answered in options else None)  # a page without it has lost it
    st.pills(
        t("Your answer"),
        options,
        format_func=label,
        key=key,
        label_visibility="collapsed",
        on_change=take_answer,
        args=(key, about),
    )


def take_answer(key: str, about: str = "") -> None:
    """Callback of a control with one value; `about` is the text that the answer is about, if it is a token of it."""
    if st.session_state.get(key) is not None:
        lesson_visit().answer(st.session_state[key], text=about)


def token(key: str, form: OneToken, situation: Situation, answered: Answer) -> None:
    tokens, text = form.tokens(situation), situation.text
    # Another sentence has a control of its own.
    key = f"{key}_{sha256(text.encode()).hexdigest()[:8]}"
    chosen = None if answered is None or not about_this_run(form, situation, answered) else int(str(answered))
    if len(tokens) <= MOST_CHIPS:
        pills(key, range(len(tokens)), chosen, lambda index: plain(tokens[index].text), about=text)
        return
    st.session_state.setdefault(key, chosen)
    st.selectbox(
        t("Your answer"),
        range(len(tokens)),
        format_func=[f"{index + 1} · {one.text}" for index, one in enumerate(tokens)].__getitem__,
        key=key,
        placeholder=t("Choose a token"),
        label_visibility="collapsed",
        on_change=take_answer,
        args=(key, text),
    )


def about_this_run(form: AnswerForm, situation: Situation, answer: Answer) -> bool:
    """Whether an answer is about this run. A token of an earlier sentence is not."""
    if not isinstance(form, OneToken):
        return True
    same_text = lesson_visit().texts.get(lesson_visit().step, situation.text) == situation.text
    return same_text and isinstance(answer, int | float) and answer < len(form.tokens(situation))


def estimate(key: str, form: Number, answered: Answer) -> None:
    st.session_state.setdefault(key, answered if fits(form, answered) else None)
    kind: Callable[[float], float] = int if form.whole else float
    low, high, step = kind(form.low), kind(form.high), kind(form.step)
    label = t("Your estimate, {low} to {high}", low=low, high=high)
    # In a form, Enter answers, and a click on + or − does not.
    with st.form(key=f"{key}_form", border=False):
        field, button = st.columns([2, 1], vertical_alignment="bottom")
        field.number_input(label, low, high, value=None, step=step, key=key)
        button.form_submit_button(t("Answer"), key=f"{key}_send", on_click=take_answer, args=(key,))


def offers(name: str, step: Step) -> None:
    """A list of what the visitor can take instead of own sentences."""
    if step.offers:
        key = f"lesson_offer_{name}"
        st.selectbox(
            t("Choose a sentence"),
            range(len(step.offers)),
            index=None,
            format_func=lambda index: " · ".join(step.offers[index].values()),
            key=key,
            placeholder=t("Or choose a sentence"),
            label_visibility="collapsed",
            on_change=take_chosen_offer,
            args=(key, step),
        )


def take_chosen_offer(key: str, step: Step) -> None:
    """Callback of the list: the choice goes to the page, and the list is empty again."""
    if (index := st.session_state[key]) is not None:
        for name, text in step.offers[index].items():
            set_choice(name, FORMS[name].read(text))
        st.session_state[key] = None
