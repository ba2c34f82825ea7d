"""`python -m weights tiny`: train a tiny language model or a tiny masked model on our stories."""

import argparse
from pathlib import Path

from model.cli.arguments import Commands
from weights.tiny.models import TINY
from weights.tiny.train import train_tiny

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "train a tiny model on stories of our own; a stopped run continues after its last round"
    command = commands.add_parser("tiny", help=text)
    command.add_argument("name", choices=list(TINY))
    command.add_argument("--out", type=Path, help="folder of the model, default runs/NAME")
    command.add_argument("--rounds", type=int, help="rounds of 2,000 new stories, default as for our checkpoint")


def run(args: argparse.Namespace) -> None:
    out = args.out or Path("runs") / args.name
    train_tiny(args.name, out, rounds=args.rounds or TINY[args.name].rounds)
    print(f"{args.name} is in {out}")
