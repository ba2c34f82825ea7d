"""`python -m model download`: download a corpus from its public repository."""

import argparse

from model.cli.arguments import DATA, Commands
from model.corpora.corpora import data_dir
from model.corpora.download import CORPORA, download_corpus

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    command = commands.add_parser("download", parents=[DATA], help="download a corpus from its public repository")
    command.add_argument("corpus", choices=list(CORPORA))
    command.add_argument("--mirror", metavar="URL", help="download the files from another address")


def run(args: argparse.Namespace) -> None:
    folder = download_corpus(args.corpus, data_dir(args.data_dir), base_url=args.mirror)
    print(f"{args.corpus} is in {folder}")
