"""`headlight attention`: write every attention map of one translation to a file of numbers, or to a page."""

import argparse
from datetime import date
from pathlib import Path

from model.checkpoints.checkpoint import Checkpoint
from model.cli import attention
from model.cli.arguments import Commands
from model.config.section import ConfigError
from model.files import replace_file
from model.inference.result import Result
from model.text.pair import Text, texts_of

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    command = attention.add_parser(commands)
    command.add_argument("--html", metavar="FILE", help="write all maps into one HTML file that any browser opens")


def run(args: argparse.Namespace) -> None:
    out = attention.maps_file(args)
    checkpoint, text, translation = attention.run_model(args)
    if args.out or not args.html:
        attention.write_maps(out, checkpoint, text, translation)
    if args.html:
        replace_file(Path(args.html), page_of(translation, text, checkpoint))
    attention.print_shapes(translation)


def page_of(translation: Result, text: Text, checkpoint: Checkpoint) -> str:
    from viz_app.export.report import report  # only this option needs the app's pictures

    first, second = texts_of(text)
    try:
        return report(
            translation,
            text=first,
            second=second,
            name=checkpoint.name,
            made=date.today(),
            sizes=checkpoint.config.model,
        )
    except ValueError as error:  # the text has too many tokens for one page
        raise ConfigError(f"{error} Use --out maps.npz instead, which has no limit.") from error
