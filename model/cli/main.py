"""The command line: python -m model train | evaluate | translate | classify | attention | export | publish | …"""

import argparse
import sys
from types import ModuleType

from model.cli import attention, classify, describe, download, evaluate, export, fetch, publish, toy, train, translate
from model.cli.console import run_in_console

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


def make_parser(program: str, about: str | None) -> argparse.ArgumentParser:
    """The parser of the whole command line. In its result, `command` is the name of the command."""
    parser = argparse.ArgumentParser(prog=program, description=about)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS.values():
        command.add_parser(subparsers)
    return parser


def main(argv: list[str] | None = None, *, program: str = "python -m model", about: str | None = __doc__) -> int:
    given = sys.argv[1:] if argv is None else argv

    def run() -> None:
        args = make_parser(program, about).parse_args(given)
        COMMANDS[args.command].run(args)

    return run_in_console(given, run)
