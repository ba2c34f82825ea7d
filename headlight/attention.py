"""`headlight attention`: write every attention map of one translation to a file of numbers, or to a page."""

import argparse
from dataclasses import replace
from datetime import date
from pathlib import Path

from model.checkpoints.checkpoint import Checkpoint
from model.cli import commands
from model.cli.main import COMMANDS
from model.config.section import ConfigError
from model.files import replace_file
from model.inference.run import Result
from model.text.pair import Text, texts_of

__all__ = ["attention"]


def run(args: argparse.Namespace) -> None:
    out = commands.maps_file(args)
    checkpoint, text, translation = commands.run_model(args)
    if args.out or not args.html:
        commands.write_maps(out, checkpoint, text, translation)
    if args.html:
        replace_file(Path(args.html), page_of(translation, text, checkpoint))
    commands.print_shapes(translation)


HTML = {"metavar": "FILE", "help": "write all maps into one HTML file that any browser opens"}
attention = replace(COMMANDS["attention"], run=run, options={**COMMANDS["attention"].options, "--html": HTML})


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
