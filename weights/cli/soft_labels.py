"""`python -m weights judge`: write a corpus of reviews, and how sure a count of n-grams is of each."""

import argparse

from model.cli.arguments import DATA, Commands
from model.corpora.corpora import data_dir
from weights.soft_labels import judge

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write a corpus of reviews, their pieces and mixtures, and how sure a count of n-grams is of each"
    command = commands.add_parser("judge", parents=[DATA], help=text)
    command.add_argument("--corpus", default="imdb", help="whose training texts are judged")
    command.add_argument("--more", default="sst2", help="from which to learn to judge too")


def run(args: argparse.Namespace) -> None:
    folder = judge(data_root=data_dir(args.data_dir), corpus=args.corpus, more=args.more)
    print(f"{args.corpus}, and how sure a count of n-grams is of it, is in {folder}")
