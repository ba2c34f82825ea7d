"""`python -m model describe`: write the `headlight.toml` of weights that a tutorial's code saved."""

import argparse
from pathlib import Path

from model.checkpoints.checkpoint import DESCRIPTION
from model.checkpoints.description_file import as_toml, write_values
from model.checkpoints.questions import answered, questions_for
from model.checkpoints.recognition import require_recognised
from model.cli.arguments import Commands, setting
from model.config.section import ConfigError

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    command = commands.add_parser("describe", help="write headlight.toml for the weights of a tutorial")
    command.add_argument("folder", help="with one file of weights and its vocabulary")
    text = "answer a question, such as num_heads=8; can be repeated"
    command.add_argument("--set", action="append", default=[], type=setting, metavar="NAME=VALUE", help=text)


def run(args: argparse.Namespace) -> None:
    folder, answers = Path(args.folder), dict(args.set)
    if not folder.is_dir():
        raise ConfigError(f"{args.folder} is not a folder. Give the folder of the weights.")
    if (folder / DESCRIPTION).exists():
        raise ConfigError(f"{folder.name} already has a {DESCRIPTION}. Edit it, or remove it first.")
    values = require_recognised(folder)
    asked = {question.path[-1]: question for question in questions_for(values, folder)}
    for name, answer in answers.items():
        if name not in asked:
            raise ConfigError(f"{name} is not asked for. The open questions are: {', '.join(asked) or 'none'}.")
        if answer not in asked[name].choices:
            choices = ", ".join(map(str, asked[name].choices))
            raise ConfigError(f"{name} is {answer!r}. It must be one of these: {choices}.")
    values = answered(values, {asked[name].path: answer for name, answer in answers.items()})
    write_values(folder, values)
    print(as_toml(values))
    for question in questions_for(values, folder):
        print(f"Fill in {question.name}. {question.text} One of these: {', '.join(map(str, question.choices))}.")
