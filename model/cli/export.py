"""`python -m model export`: write a checkpoint as a folder that Hugging Face's `transformers` opens."""

import argparse
from pathlib import Path

from model.cli.arguments import CHECKPOINT, Commands
from model.cli.resolve import translator_of

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write a checkpoint as a folder that Hugging Face's transformers opens"
    command = commands.add_parser("export", parents=[CHECKPOINT], help=text)
    command.add_argument("--to", choices=["marian"], default="marian", help="the architecture to write, default marian")
    command.add_argument("--out", required=True, help="the new folder")


def run(args: argparse.Namespace) -> None:
    from model.foreign.marian import write_marian  # transformers takes seconds to import

    folder = Path(args.out)
    checkpoint = translator_of(args)
    write_marian(checkpoint, folder)
    print(f"{checkpoint.name} is in {folder}. AutoModelForSeq2SeqLM and AutoTokenizer of transformers open it.")
