"""`python -m model translate`: translate texts, or the lines of the standard input."""

import argparse
import sys
from itertools import islice

from model.checkpoints.checkpoint import Checkpoint
from model.checkpoints.languages import usual_languages, with_languages
from model.cli.arguments import BEAM, CHECKPOINT, DEVICE, TEXTS, Commands, add_continuation_options, add_search_options
from model.cli.resolve import note_cleaning, search_settings, texts_of, translator_of, written_for
from model.config.foreign import ForeignConfig
from model.config.section import ConfigError
from model.inference.continuation import with_continuation
from model.inference.searching import with_model_settings

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "translate texts, or the lines of the standard input"
    command = commands.add_parser("translate", parents=[CHECKPOINT, TEXTS, BEAM, DEVICE], help=text)
    text = "language of the text, for a model with many languages"
    command.add_argument("--from", dest="source", default="", metavar="LANGUAGE", help=text)
    text = "language of the translation, for a model with many languages"
    command.add_argument("--into", dest="target", default="", metavar="LANGUAGE", help=text)
    add_search_options(command)
    add_continuation_options(command)


def run(args: argparse.Namespace) -> None:
    search = search_settings(args)  # before the checkpoint is loaded, so that a wrong option is refused at once
    checkpoint = in_languages(translator_of(args), args.source, args.target)
    checkpoint = with_continuation(checkpoint, new_tokens=args.new_tokens, chat=args.chat)
    search = with_model_settings(search, checkpoint.config)
    lines = texts_of(args)
    # A person at the keyboard gets each line at once. A file is translated in batches.
    size = 1 if sys.stdin.isatty() else 64
    while batch := list(islice(lines, size)):
        note_cleaning(checkpoint, batch)
        for text in written_for(checkpoint, batch, search):
            print(" ".join(text.splitlines()), flush=True)


def in_languages(checkpoint: Checkpoint, source: str, target: str) -> Checkpoint:
    """The checkpoint with a source and a target language; an empty name stands for the usual language."""
    config = checkpoint.config
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        if source or target:
            raise ConfigError(f"{checkpoint.name} has only one pair of languages. Leave out --from and --into.")
        return checkpoint
    usual = usual_languages(config)
    try:
        return with_languages(checkpoint, source or usual[0], target or usual[1])
    except ValueError as error:
        raise ConfigError(str(error)) from error
