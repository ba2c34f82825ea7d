"""`python -m model describe`: write the `headlight.toml` of weights that a tutorial's code saved."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import DESCRIPTION
from model.checkpoints.description import as_toml, literal, read_draft, unknown_settings, write_values
from model.checkpoints.recognition import Question, answered, questions_for, recognised
from model.config.section import ConfigError

__all__ = ["run_describe"]


def run_describe(args: argparse.Namespace) -> None:
    folder = Path(args.folder)
    if not folder.is_dir():
        raise ConfigError(f"{args.folder} is not a folder. Give the folder of the weights.")
    values = draft_of(folder)
    questions = questions_for(values, folder)
    asked = {name: question_named(name, questions) for name, _ in args.set}
    values = answered(values, {asked[name].path: choice_of(name, asked[name], answer) for name, answer in args.set})
    write_values(folder, values)
    print(as_toml(values))
    for question in questions_for(values, folder):
        print(f"Fill in {question.name}. {question.text} One of these: {listed(question)}.")


def draft_of(folder: Path) -> Mapping[str, Any]:
    """The values of an incomplete description that this command wrote, or of weights without a description."""
    if not (folder / DESCRIPTION).exists():
        return recognised(folder)
    values = read_draft(folder)
    edited = (folder / DESCRIPTION).read_text(encoding="utf-8") != as_toml(values)  # its comments would be lost
    if edited or not any(unknown_settings(values)):
        raise ConfigError(f"{folder.name} already has a {DESCRIPTION}. Edit it, or remove it first.")
    return values


def question_named(name: str, questions: list[Question]) -> Question:
    """The question with a whole name, or with the end of one: "bos" is `specials.bos` before `specials.source.bos`."""
    fitting = [question for question in questions if f".{question.name}".endswith(f".{name}")]
    if not fitting:
        names = ", ".join(question.name for question in questions) or "none"
        raise ConfigError(f"{name} is not asked for. The open questions are: {names}.")
    return min(fitting, key=lambda question: len(question.path))


def choice_of(name: str, question: Question, answer: object) -> object:
    """The choice that an answer means. Python's True is a TOML true, too, and the token "1" can be read as a number."""
    for choice in question.choices:
        if isinstance(choice, bool):
            meant = str(answer).lower() == literal(choice)
        else:
            meant = answer == choice or str(answer) == str(choice)
        if meant:
            return choice
    raise ConfigError(f"{name} is {answer!r}. It must be one of these: {listed(question)}.")


def listed(question: Question) -> str:
    return ", ".join(map(literal, question.choices))
