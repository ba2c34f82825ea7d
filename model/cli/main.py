"""The command line: python -m model train | evaluate | translate | classify | attention | export | publish | …"""

import argparse
import os
import sys
from collections.abc import Mapping
from types import ModuleType

from model.checkpoints.checkpoint import CheckpointError
from model.cli import attention, classify, describe, download, evaluate, export, fetch, publish, toy, train, translate
from model.config.section import ConfigError
from model.corpora.corpora import CorpusError
from model.corpora.download import DownloadError
from model.training.diverged import DivergedError

__all__ = ["COMMANDS", "main"]

COMMANDS: dict[str, ModuleType] = {
    "train": train,
    "evaluate": evaluate,
    "translate": translate,
    "classify": classify,
    "attention": attention,
    "export": export,
    "publish": publish,
    "fetch": fetch,
    "describe": describe,
    "download": download,
    "toy": toy,
}


def make_parser(program: str, about: str | None, commands: Mapping[str, ModuleType]) -> argparse.ArgumentParser:
    """The parser of the whole command line. In its result, `command` is the name of the command."""
    parser = argparse.ArgumentParser(prog=program, description=about)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in commands.values():
        command.add_parser(subparsers)
    return parser


CLOSED = 141  # the exit code that a shell reports after the signal SIGPIPE


def main(
    argv: list[str] | None = None,
    *,
    program: str = "python -m model",
    about: str | None = __doc__,
    commands: Mapping[str, ModuleType] = COMMANDS,
) -> int:
    args = make_parser(program, about, commands).parse_args(argv)
    try:
        commands[args.command].run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has left, as in `| head`. Python flushes the rest when it ends, and that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED
    except (CheckpointError, ConfigError, CorpusError, DivergedError, DownloadError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except UnicodeDecodeError as error:
        print(f"Error: the input is not UTF-8: byte {error.object[error.start]:#04x}.", file=sys.stderr)
        return 1
    return 0
