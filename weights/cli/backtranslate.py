"""`python -m weights backtranslate`: write a corpus to learn the other direction from."""

import argparse

from model.cli.arguments import BEAM, CHECKPOINT, DATA, DEVICE, Commands
from model.cli.resolve import search_settings, translator_of
from model.corpora.corpora import data_dir
from weights.backtranslate import backtranslate

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write a corpus of sentences and a checkpoint's translations, to learn the other direction from"
    command = commands.add_parser("backtranslate", parents=[CHECKPOINT, BEAM, DATA, DEVICE], help=text)
    command.add_argument("--corpus", default="multi30k", help="whose training sentences the checkpoint translates")
    command.add_argument(
        "--apart", nargs="*", default=[], metavar="CORPUS", help="leave out sentences of the tests of these"
    )


def run(args: argparse.Namespace) -> None:
    teacher, settings = translator_of(args), search_settings(args)
    folder = backtranslate(
        teacher, data_root=data_dir(args.data_dir), corpus=args.corpus, search=settings, apart=args.apart
    )
    print(f"{args.corpus} and what {args.checkpoint} makes of it are in {folder}")
