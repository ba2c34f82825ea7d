"""`python -m weights distill`: write a corpus with a checkpoint's translations."""

import argparse

from model.cli.arguments import BEAM, CHECKPOINT, DATA, DEVICE, Commands
from model.cli.resolve import search_settings, translator_of
from model.corpora.corpora import data_dir
from weights.distill import distill

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write a corpus with a checkpoint's translations, for a smaller model"
    command = commands.add_parser("distill", parents=[CHECKPOINT, BEAM, DATA, DEVICE], help=text)
    text = "translate the training sentences of this corpus, default multi30k"
    command.add_argument("--corpus", default="multi30k", help=text)


def run(args: argparse.Namespace) -> None:
    teacher, root = translator_of(args), data_dir(args.data_dir)
    folder = distill(teacher, data_root=root, corpus=args.corpus, search=search_settings(args))
    print(f"{args.corpus} with translations by {args.checkpoint} is in {folder}")
