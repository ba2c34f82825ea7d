"""The command line: python -m model train | evaluate | translate | attention | download."""

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from model.config import ConfigError, load_recipe
from model.data.corpora import CorpusError, data_dir

CHECKPOINTS = Path(__file__).resolve().parent.parent / "checkpoints"


def setting(text: str) -> tuple[str, Any]:
    """`name=value`, the value as TOML would read it, else as plain text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def run_train(args: argparse.Namespace) -> None:
    from model.train import train

    recipe = load_recipe(args.recipe)
    settings = dict(args.set)
    for name in ("precision", "max_steps", "seed"):
        if getattr(args, name) is not None:
            settings[f"train.{name}"] = getattr(args, name)
    recipe = recipe.with_settings(settings)
    out = Path(args.out) if args.out else CHECKPOINTS / recipe.name
    train(recipe, data_root=data_dir(args.data_dir), out=out, device=args.device, resume=args.resume)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m model", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("train", help="train a recipe into a checkpoint")
    command.add_argument("recipe", help="name of a bundled recipe, or path of a .toml file")
    command.add_argument("--data-dir", help="folder of the corpora (default: $HEADLIGHT_DATA, else data/)")
    command.add_argument("--out", help="folder of the checkpoint (default: checkpoints/RECIPE)")
    command.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda", "mps"])
    command.add_argument("--precision", choices=["fp32", "bf16"])
    command.add_argument("--max-steps", type=int)
    command.add_argument("--seed", type=int)
    command.add_argument("--resume", action="store_true", help="continue the run in --out")
    command.add_argument("--set", action="append", default=[], type=setting, metavar="NAME=VALUE")
    command.set_defaults(run=run_train)

    args = parser.parse_args(argv)
    try:
        args.run(args)
    except (ConfigError, CorpusError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
