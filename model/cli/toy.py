"""`python -m model toy`: write a toy language."""

import argparse

from model.cli.arguments import DATA, Commands
from model.corpora.corpora import data_dir
from model.corpora.toys import TOYS, write_toy

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "write a toy language, such as letters and their reverse, that a model learns in a minute"
    command = commands.add_parser("toy", parents=[DATA], help=text)
    command.add_argument("toy", choices=list(TOYS))
    command.add_argument("--longest", type=int, default=8, help="letters of the longest words, default 8")
    command.add_argument("--seed", type=int, default=1, help="seed of the random numbers, default 1")


def run(args: argparse.Namespace) -> None:
    folder = write_toy(data_dir(args.data_dir), args.toy, longest=args.longest, seed=args.seed)
    settings = {"corpus": args.toy, "source_language": TOYS[args.toy].source, "target_language": TOYS[args.toy].target}
    options = " ".join(f"--set {name}={value}" for name, value in settings.items())
    print(f"{args.toy} is in {folder}. Train a model on it:")
    print(f"python -m model train toy --data-dir {folder.parent} --out runs/{args.toy} {options}")
