"""Weights that a visitor brings without a description: they are recognised, and the visitor answers what they lack."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from model.checkpoints.description import write_values
from model.checkpoints.recognition import Question, answered, has_only_weights, questions_for, require_recognised
from model.files import CheckpointError

__all__ = ["answer_questions", "describe_and_open", "open_questions"]

PENDING = "weights_to_describe"


@dataclass(frozen=True, kw_only=True)
class Pending:
    """Weights that wait for the visitor's answers."""

    folder: Path
    values: Mapping[str, Any]  # of `headlight.toml`
    questions: list[Question]
    open: Callable[[], None]


def describe_and_open(folder: Path, open_folder: Callable[[], None]) -> None:
    """Open a folder. Without a description, write its `headlight.toml` before, or wait for the visitor's answers.

    Args:
        folder: Of the checkpoint.
        open_folder: Opens it when it is described.

    Raises:
        CheckpointError: nothing describes the weights, and their names are unknown.
    """
    st.session_state.pop(PENDING, None)
    if has_only_weights(folder):
        values = require_recognised(folder)
        if questions := questions_for(values, folder):
            st.session_state[PENDING] = Pending(folder=folder, values=values, questions=questions, open=open_folder)
            return
        write_values(folder, values)
    open_folder()


def open_questions() -> list[Question]:
    """What the visitor is asked about the weights that wait."""
    pending = st.session_state.get(PENDING)
    return [] if pending is None else pending.questions


def answer_questions(answers: Mapping[tuple[str, ...], object]) -> None:
    """Write the description of the weights that wait, and open them.

    Args:
        answers: Path of a question → its answer; None without one.

    Raises:
        CheckpointError: an answer is missing, or the checkpoint cannot be opened.
    """
    if None in answers.values():
        raise CheckpointError("Answer each question. Then press Open.")
    pending = st.session_state.pop(PENDING)
    write_values(pending.folder, answered(pending.values, answers))
    pending.open()
