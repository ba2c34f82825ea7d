"""The answers of a class as tables. The headings are English, so that a program finds them."""

import pandas as pd
import streamlit as st

from viz_app.content.translation import t
from viz_app.course.quiz import ROUNDS
from viz_app.sections.course.questions import quiz_csv
from viz_app.session.classes import ClassReport

__all__ = ["class_files"]

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes a cell that begins with one of these


def class_files(report: ClassReport, *, key: str) -> None:
    """Draw a button for the first answers, and one for the answers to the questions if there are any.

    Args:
        report: Of an open or a closed class.
        key: The beginning of the keys of the buttons.
    """
    st.download_button(
        t("Save all answers (CSV)"),
        answer_csv(report),
        f"class-{report.code}.csv",
        "text/csv",
        key=f"{key}_csv",
        on_click="ignore",
    )
    if rounds := report.rounds:
        before, after = (sum(name in one for one in rounds.values()) for name in ROUNDS)
        st.download_button(
            t("Answers to the questions (CSV)"),
            quiz_csv(rounds),
            "class-questions.csv",
            "text/csv",
            key=f"{key}_questions",
            help=t("Handed in before the lessons: {before}. After the lessons: {after}.", before=before, after=after),
            on_click="ignore",
        )


def answer_csv(report: ClassReport) -> bytes:
    """One row for each lesson, step and first answer. An answer that a spreadsheet would compute begins with "'"."""
    rows = [(lesson, step, as_text(answer), members) for lesson, step, answer, members in report.answers]
    table = pd.DataFrame(rows, columns=["lesson", "step", "first answer", "members"])
    return table.to_csv(index=False).encode("utf-8-sig")


def as_text(answer: str) -> str:
    return f"'{answer}" if answer.startswith(FORMULA) else answer
