"""`python -m weights vary`: write a corpus of variants of the training pairs."""

import argparse

from model.cli.arguments import DATA, Commands
from model.corpora.corpora import data_dir
from weights.augmentation import vary

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write variants of the training pairs of English and German or Chinese"
    command = commands.add_parser("vary", parents=[DATA], help=text)
    command.add_argument("corpus")
    command.add_argument("--source", default="en", help="the source language, default en")
    command.add_argument("--target", default="de", help="the target language, default de")
    command.add_argument("--own", type=int, default=6000, help="number of sentences from our phrasebook, default 6000")
    command.add_argument("--seed", type=int, default=1, help="seed of the random numbers, default 1")


def run(args: argparse.Namespace) -> None:
    folder = vary(
        data_dir(args.data_dir), args.corpus, languages=(args.source, args.target), own=args.own, seed=args.seed
    )
    print(f"Variants of {args.corpus} are in {folder}")
