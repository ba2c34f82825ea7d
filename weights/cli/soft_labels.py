"""`python -m weights label`: write a corpus of reviews with probabilities by a classifier of n-grams."""

import argparse

from model.cli.arguments import DATA, Commands
from model.corpora.corpora import data_dir
from weights.soft_labels import label_reviews

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write a corpus of reviews, parts and mixtures, each with the probability by a classifier of n-grams"
    command = commands.add_parser("label", parents=[DATA], help=text)
    command.add_argument("--corpus", default="imdb", help="label the training texts of this corpus, default imdb")
    command.add_argument("--more", default="sst2", help="the classifier also learns from this corpus, default sst2")


def run(args: argparse.Namespace) -> None:
    folder = label_reviews(data_root=data_dir(args.data_dir), corpus=args.corpus, more=args.more)
    print(f"{args.corpus} with probabilities is in {folder}")
