"""The command line: python -m model train | evaluate | translate | classify | attention | atlas | …

`headlight publish` and `headlight attention --html` need the screen. They are in `headlight/`.
"""

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence

from model.checkpoints.checkpoint import CheckpointError
from model.cli import commands
from model.cli.arguments import FILE, Command, commands_in
from model.cli.atlas import run_atlas
from model.cli.describe import run_describe
from model.cli.evaluate import run_evaluate
from model.config.section import ConfigError
from model.corpora.corpora import CorpusError
from model.corpora.download import CORPORA, DownloadError
from model.corpora.toys import TOYS
from model.training import DivergedError

__all__ = ["COMMANDS", "main", "run_in_console"]

COMMANDS = commands_in(
    FILE,
    {
        "train": commands.run_train,
        "evaluate": run_evaluate,
        "translate": commands.run_translate,
        "classify": commands.run_classify,
        "attention": commands.run_attention,
        "atlas": run_atlas,
        "export": commands.run_export,
        "fetch": commands.run_fetch,
        "describe": run_describe,
        "download": commands.run_download,
        "toy": commands.run_toy,
    },
    {"corpora": list(CORPORA), "toys": list(TOYS)},
)
CLOSED, STOPPED = 141, 130  # the exit codes that a shell reports after the signals SIGPIPE and SIGINT
HALF = re.compile(r"[\udc80-\udcff]")  # how Python keeps a byte that is not UTF-8
ERRORS = (CheckpointError, ConfigError, CorpusError, DivergedError, DownloadError)


def make_parser(program: str, about: str | None, commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    """The parser of the whole command line. In its result, `command` is the name of the command."""
    parser = argparse.ArgumentParser(prog=program, description=about)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in commands.items():
        command.add_options(subparsers.add_parser(name, help=command.about))
    return parser


def main(
    argv: list[str] | None = None,
    *,
    program: str = "python -m model",
    about: str | None = __doc__,
    commands: Mapping[str, Command] = COMMANDS,
) -> int:
    given = sys.argv[1:] if argv is None else argv

    def run() -> None:
        args = make_parser(program, about, commands).parse_args(given)
        commands[args.command].run(args)

    return run_in_console(given, run)


def run_in_console(arguments: Sequence[str], run: Callable[[], None]) -> int:
    """Run a command, and return its exit code.

    Args:
        arguments: As typed. A byte that is not UTF-8 is refused, because no model and no file can have it.
        run: Prints, raises one of `ERRORS`, or exits as argparse does.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a console without a character shows its number
    for argument in arguments:
        if half := HALF.search(argument):
            return failed(f"{argument!r} is not UTF-8: byte {ord(half[0]) - 0xDC00:#04x}. Set the console to UTF-8.")
    try:
        try:
            run()
        finally:
            print(end="", flush=True)
    except OSError as error:
        # Python flushes the rest when it ends, and that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # Where the pipe is broken, the reader has left, as in `| head`.
        return CLOSED if isinstance(error, BrokenPipeError) else failed(str(error))
    except KeyboardInterrupt:
        return STOPPED
    except ERRORS as error:
        return failed(str(error))
    except UnicodeDecodeError as error:
        return failed(f"the input is not {error.encoding.upper()}: byte {error.object[error.start]:#04x}.")
    return 0


def failed(reason: str) -> int:
    print(f"Error: {reason}", file=sys.stderr)
    return 1
