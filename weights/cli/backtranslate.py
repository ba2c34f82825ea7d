"""`python -m weights backtranslate`: write a corpus for the opposite direction, with a checkpoint's translations."""

import argparse

from model.cli.arguments import BEAM, CHECKPOINT, DATA, DEVICE, Commands
from model.cli.resolve import search_settings, translator_of
from model.corpora.corpora import data_dir
from weights.backtranslate import backtranslate

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write a corpus for the opposite direction: a checkpoint's translations as sources, sentences as targets"
    command = commands.add_parser("backtranslate", parents=[CHECKPOINT, BEAM, DATA, DEVICE], help=text)
    text = "translate the training sentences of this corpus, default multi30k"
    command.add_argument("--corpus", default="multi30k", help=text)
    text = "leave out the validation and test sentences of these corpora"
    command.add_argument("--apart", nargs="*", default=[], metavar="CORPUS", help=text)


def run(args: argparse.Namespace) -> None:
    teacher, settings = translator_of(args), search_settings(args)
    folder = backtranslate(
        teacher, data_root=data_dir(args.data_dir), corpus=args.corpus, search=settings, apart=args.apart
    )
    print(f"{args.corpus} with translations by {args.checkpoint} as sources is in {folder}")
