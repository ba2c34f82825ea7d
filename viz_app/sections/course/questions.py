"""The twelve questions before and after the lessons."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from viz_app.content.numbers import sentences
from viz_app.content.quiz_texts import Question, questions
from viz_app.content.translation import N_, language, t, tn
from viz_app.course.in_step import hand_in
from viz_app.course.quiz import ROUNDS, QuizAnswers, handed_in, id_in, quiz_table, right_answers, shuffled
from viz_app.course.visit import lesson_visit
from viz_app.server.presence import visitor
from viz_app.session.classes import CLASSES

__all__ = ["quiz_csv", "quiz_tab"]

ROUND_NAMES = {"before": N_("Before the lessons"), "after": N_("After the lessons")}
COLUMNS = ("id", "round", "question", "answer")
EMPTY = "questions_empty"  # in the session: whether the visitor handed in no answer at all


def quiz_tab() -> None:
    """Draw the questions of a round, or what is known about it. A class receives every round that is handed in."""
    done = handed_in(lesson_visit().progress)
    for name, answers in done.items():
        CLASSES.note_round(visitor(), name, answers)
    st.markdown(
        t(
            "Twelve questions before the lessons, and the same again after them, in another order. So you see what you "
            "have learned. Nobody sees your name."
        )
    )
    st.session_state.setdefault("questions_round", "after" if done else "before")
    chosen = st.segmented_control(
        t("Round"),
        ROUNDS,
        format_func=lambda name: t(ROUND_NAMES[name]),
        key="questions_round",
        label_visibility="collapsed",
        required=True,
    )
    if chosen in done:
        handed_in_round(chosen, done)
    elif chosen == "before" and "after" in done:
        st.info(t("You have answered after the lessons, so the first round is over."))
    else:
        quiz_form(str(chosen))
    if done:
        save_button(done)


def quiz_form(round_name: str) -> None:
    seed = (lesson_visit().session, round_name)
    if CLASSES.class_of(visitor()):
        st.caption(t("Your class receives your answers without a name."))
    with st.form(key=f"questions_{round_name}", border=False):
        for number, one in enumerate(shuffled(questions(language()), *seed), start=1):
            st.radio(
                f"{number}. {one.question}",
                shuffled(list(one.options), *seed, one.name),
                format_func=one.options.__getitem__,
                index=None,
                key=question_key(round_name, one),
            )
        st.caption(t("Leave out what you do not know. You can hand in a round once."))
        st.form_submit_button(t("Hand in"), type="primary", on_click=take_round, args=(round_name,))
    if st.session_state.pop(EMPTY, False):
        st.warning(t("Answer at least one question, then hand in."))


def question_key(round_name: str, one: Question) -> str:
    return f"question_{round_name}_{one.name}"


def take_round(round_name: str) -> None:
    """Callback: hand in the chosen options."""
    chosen = {one.name: st.session_state.get(question_key(round_name, one)) for one in questions(language())}
    if answers := {name: option for name, option in chosen.items() if option}:
        hand_in(round_name, answers)
    else:
        st.session_state[EMPTY] = True


def handed_in_round(round_name: str, done: dict[str, dict[str, str]]) -> None:
    """How a round came out. The right answers stay hidden until the second round is over."""
    if "after" not in done:
        n = len(done[round_name])
        counted = tn("You have handed in {n} answer.", "You have handed in {n} answers.", n=n)
        st.success(sentences([counted, t("The right answers appear after the second round.")]))
        return
    scores = {name: right_answers(answers) for name, answers in done.items()}
    total = len(questions(language()))
    st.columns(3)[0].metric(
        t("Right answers, {round}", round=t(ROUND_NAMES[round_name])),
        t("{n} of {total}", n=scores[round_name], total=total),
        scores["after"] - scores["before"] if round_name == "after" and "before" in scores else None,
        delta_description=t("against the first round") if round_name == "after" and "before" in scores else None,
    )
    for number, one in enumerate(questions(language()), start=1):
        answer_line(number, one, done[round_name])


def answer_line(number: int, one: Question, answers: QuizAnswers) -> None:
    given = answers.get(one.name)
    icon = ":material/check_circle:" if given == one.right else ":material/cancel:"
    own = t("No answer.") if given is None else t("Your answer: {answer}", answer=one.options[given])
    lines = [f"{icon} **{number}. {one.question}**", own]
    if given != one.right:
        lines.append(t("Right: {answer}", answer=one.options[one.right]))
    st.markdown("  \n".join([*lines, one.why]))


def save_button(done: dict[str, dict[str, str]]) -> None:
    st.download_button(
        t("Save my answers (CSV)"),
        quiz_csv({id_in(lesson_visit().progress): done}),
        "questions.csv",
        "text/csv",
        key="questions_csv",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )


def quiz_csv(answered: Mapping[str, Mapping[str, QuizAnswers]]) -> bytes:
    """The answers as a table for `benchmarks/learning_gain.py`. The headings are English.

    Args:
        answered: Random id → round → answers.
    """
    return pd.DataFrame(quiz_table(answered), columns=COLUMNS).to_csv(index=False).encode("utf-8-sig")
