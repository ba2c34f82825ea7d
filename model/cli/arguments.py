"""Arguments that several commands share."""

import argparse
import tomllib
from typing import Any

from model.text.vocab import NEW_TOKENS

__all__ = [
    "BEAM",
    "CHECKPOINT",
    "DATA",
    "DEVICE",
    "SECOND",
    "TEXTS",
    "Commands",
    "add_continuation_options",
    "add_search_options",
    "positive",
    "setting",
    "shared",
]

Commands = Any  # argparse does not export the type that `add_subparsers` returns


def setting(text: str) -> tuple[str, object]:
    """Read `name=value`. The value is read as TOML if possible, else as plain text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} must have the form name=value")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number above 0")
    return int(text)


def shared(*names: str, **settings: Any) -> argparse.ArgumentParser:
    """An argument as a parent parser, for argparse's `parents`."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument(*names, **settings)
    return parent


CHECKPOINT = shared("checkpoint", help="name of a bundled checkpoint, or path of a folder")
TEXTS = shared("texts", nargs="*", metavar="TEXT", help="default: the lines of the standard input")
SECOND = shared("--second", default="", metavar="TEXT", help="the second text of a pair, for a model that reads pairs")
DATA = shared("--data-dir", help="folder of the corpora (default: $HEADLIGHT_DATA, or else data/)")
BEAM = shared("--beam", type=positive, help="number of hypotheses of the beam search, default 5; 1 is greedy search")
DEVICE = shared("--device", default="auto", choices=["auto", "cpu", "cuda", "mps"], help="default: the fastest one")


def add_search_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a search. They have no defaults here: None means "not typed", so none is silently ignored."""
    text = "sample tokens at random instead of searching; the options below need it"
    command.add_argument("--sample", action="store_true", help=text)
    text = "below 1 makes likely tokens likelier, above 1 makes all tokens more alike, default 1"
    command.add_argument("--temperature", type=float, help=text)
    command.add_argument("--top-k", type=int, help="sample from the k most likely tokens, default 0: from all")
    text = "sample from the smallest set of tokens that reaches this probability, default 1"
    command.add_argument("--top-p", type=float, help=text)
    command.add_argument("--seed", type=int, help="seed of the random numbers, default 0")


def add_continuation_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a language model."""
    text = f"the most tokens that a language model writes after a text, default {NEW_TOKENS}"
    command.add_argument("--new-tokens", type=positive, metavar="N", help=text)
    text = "give a language model each text inside its chat template"
    command.add_argument("--chat", action="store_true", help=text)
