"""`python -m model translate`: translate texts, or lines from the standard input."""

import argparse
import sys
from itertools import islice

from model.checkpoints.checkpoint import Checkpoint
from model.checkpoints.languages import between, usual_languages
from model.cli.arguments import BEAM, CHECKPOINT, DEVICE, TEXTS, Commands, add_search_options
from model.cli.resolve import search_settings, texts_of, translator_of, written_for
from model.config.foreign import ForeignConfig
from model.config.section import ConfigError

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "translate texts, or lines from stdin, to stdout"
    command = commands.add_parser("translate", parents=[CHECKPOINT, TEXTS, BEAM, DEVICE], help=text)
    command.add_argument("--from", dest="source", default="", help="of a model of many languages: that of the lines")
    command.add_argument("--into", dest="target", default="", help="of a model of many languages: that to be written")
    add_search_options(command)


def run(args: argparse.Namespace) -> None:
    search = search_settings(args)  # refuses what it cannot do before a checkpoint is read
    checkpoint = in_languages(translator_of(args), args.source, args.target)
    lines = texts_of(args)
    # A person at the keyboard gets each line at once, a file is translated in batches.
    size = 1 if sys.stdin.isatty() else 64
    while batch := list(islice(lines, size)):
        for text in written_for(checkpoint, batch, search):
            print(" ".join(text.splitlines()), flush=True)


def in_languages(checkpoint: Checkpoint, source: str, target: str) -> Checkpoint:
    """The checkpoint between two languages, as its files or we have them where none is named."""
    config = checkpoint.config
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        if source or target:
            raise ConfigError(f"{checkpoint.name} is not of many languages, so there is nothing to choose.")
        return checkpoint
    usual = usual_languages(config)
    try:
        return between(checkpoint, source or usual[0], target or usual[1])
    except ValueError as error:
        raise ConfigError(str(error)) from error
