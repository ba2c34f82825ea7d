"""`python -m weights tiny-figures`: measure a tiny model and its heads on stories that it has not read."""

import argparse
from pathlib import Path

from model.cli.arguments import Commands
from weights.tiny.figures import figures
from weights.tiny.heads import head_table
from weights.tiny.opened import open_tiny

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    command = commands.add_parser(
        "tiny-figures", help="measure a tiny model and its heads on stories that it has not read"
    )
    command.add_argument("folder", type=Path)


def run(args: argparse.Namespace) -> None:
    tiny = open_tiny(args.folder)
    for name, value in figures(tiny).items():
        print(f"{name}\t{value:.3f}")
    print(head_table(tiny))
