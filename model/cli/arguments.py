"""What several commands can be given."""

import argparse
import tomllib
from typing import Any

__all__ = [
    "BEAM",
    "CHECKPOINT",
    "DATA",
    "DEVICE",
    "TEXTS",
    "Commands",
    "add_search_options",
    "positive",
    "setting",
    "shared",
]

Commands = Any  # argparse keeps the type of what `add_subparsers` returns to itself


def setting(text: str) -> tuple[str, Any]:
    """`name=value`, the value as TOML would read it, else as plain text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def shared(*names: str, **settings: Any) -> argparse.ArgumentParser:
    """An argument that several commands take."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument(*names, **settings)
    return parent


CHECKPOINT = shared("checkpoint", help="name of a bundled checkpoint, or path of a folder")
TEXTS = shared("texts", nargs="*", metavar="TEXT", help="default: the lines of the standard input")
DATA = shared("--data-dir", help="folder of the corpora (default: $HEADLIGHT_DATA, else data/)")
BEAM = shared("--beam", type=positive, help="width of the beam, default 5; 1 is greedy")
DEVICE = shared("--device", default="auto", choices=["auto", "cpu", "cuda", "mps"], help="default: the fastest")


def add_search_options(command: argparse.ArgumentParser) -> None:
    """How to search. No option has a default here: what was not typed is None, so that none is ignored in silence."""
    command.add_argument("--sample", action="store_true", help="draw tokens at random instead; all below need it")
    command.add_argument("--temperature", type=float, help="below 1 sharpens, above 1 flattens, default 1")
    command.add_argument("--top-k", type=int, help="draw from the k best tokens, default 0: from all")
    command.add_argument("--top-p", type=float, help="draw from the fewest tokens that hold this share, default 1")
    command.add_argument("--seed", type=int, help="of the random numbers, default 0")
