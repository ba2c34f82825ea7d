"""What a command is: its help, its options and the function that runs it. `commands.toml` has the options."""

import argparse
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Command", "Run", "commands_in"]

Run = Callable[[argparse.Namespace], None]
FILE = Path(__file__).with_name("commands.toml")


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


def share(text: str) -> tuple[int, int]:
    """Read `k/n`: the kth of n shares."""
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isdigit() for part in parts) or not 1 <= int(parts[0]) <= int(parts[1]):
        raise argparse.ArgumentTypeError(f"{text!r} must have the form 1/3: the first of three shares")
    return int(parts[0]), int(parts[1])


TYPES = {"int": int, "float": float, "positive": positive, "setting": setting, "share": share}


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command of a program."""

    about: str
    options: Mapping[str, Mapping[str, Any]]  # name → the settings of `argparse.ArgumentParser.add_argument`
    run: Run

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options to the parser of the command."""
        groups: dict[str, Any] = {}
        for name, given in self.options.items():
            settings = dict(given)
            group = settings.pop("either", "")
            if group and group not in groups:
                groups[group] = parser.add_mutually_exclusive_group()
            groups.get(group, parser).add_argument(name, **settings)


def commands_in(file: Path, runs: Mapping[str, Run], choices: Mapping[str, Sequence[str]]) -> dict[str, Command]:
    """The commands of a file, which is written as `commands.toml` beside this module, in the order of `runs`.

    Args:
        file: Their options.
        runs: Name of a command → its function.
        choices: The lists that the file names.
    """
    tables, shared = (tomllib.loads(path.read_text(encoding="utf-8")) for path in (file, FILE))

    def settings(name: str, given: Mapping[str, Any] | str) -> Mapping[str, Any]:
        found = dict(shared["shared"][name] if isinstance(given, str) else given)
        kinds = {"type": TYPES[found["type"]]} if "type" in found else {}
        listed = {"choices": choices[found["choices"]]} if isinstance(found.get("choices"), str) else {}
        return found | kinds | listed

    return {
        name: Command(
            about=tables[name]["about"],
            options={one: settings(one, given) for one, given in tables[name].items() if one != "about"},
            run=run,
        )
        for name, run in runs.items()
    }
