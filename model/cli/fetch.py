"""`python -m model fetch`: download a checkpoint from the Hugging Face Hub."""

import argparse
import sys
from pathlib import Path

from model.cli.arguments import Commands
from model.cli.resolve import few
from model.config.paths import folder_for_new
from model.inference.opening import read_any_config

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "download a checkpoint from the Hugging Face Hub to where the app finds it"
    command = commands.add_parser("fetch", help=text)
    command.add_argument("repository", help="name on the hub, such as Helsinki-NLP/opus-mt-en-de")
    text = "folder for the checkpoint's folder (default: the first of $HEADLIGHT_CHECKPOINTS, or else the app's own)"
    command.add_argument("--out", help=text)
    command.add_argument("--revision", help="a branch, a tag or a commit; default: the newest")


def run(args: argparse.Namespace) -> None:
    from model.foreign.fetch import fetch

    fetched = fetch(args.repository, Path(args.out or folder_for_new()), revision=args.revision)
    if fetched.left_out:
        print(f"Left out: {few(fetched.left_out)}", file=sys.stderr)
    config = read_any_config(fetched.folder)
    print(f"{args.repository} is in {fetched.folder}: {getattr(config, 'family', 'Headlight')}, {config.task}")
