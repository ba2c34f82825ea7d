"""Commands that made our corpora and checkpoints once: python -m weights vary | distill | label | tiny | atlases | …"""

import argparse
import sys
from functools import partial
from pathlib import Path

from model.cli.arguments import commands_in
from model.cli.main import main as command_line
from model.cli.resolve import search_settings, translator_of
from model.corpora.corpora import data_dir
from weights import translated
from weights.atlases import FORMS, make_atlases
from weights.label import label_reviews
from weights.tiny.figures import figures, head_table, open_tiny
from weights.tiny.train import TINY, train_tiny
from weights.vary import vary

__all__ = ["main"]


def run_vary(args: argparse.Namespace) -> None:
    languages = args.source, args.target
    folder = vary(data_dir(args.data_dir), args.corpus, languages=languages, own=args.own, seed=args.seed)
    print(f"Variants of {args.corpus} are in {folder}")


def run_distill(args: argparse.Namespace) -> None:
    teacher, root = translator_of(args), data_dir(args.data_dir)
    folder = translated.distill(teacher, data_root=root, corpus=args.corpus, search=search_settings(args))
    print(f"{args.corpus} with translations by {args.checkpoint} is in {folder}")


def run_backtranslate(args: argparse.Namespace) -> None:
    teacher, root, search = translator_of(args), data_dir(args.data_dir), search_settings(args)
    folder = translated.backtranslate(teacher, data_root=root, corpus=args.corpus, search=search, apart=args.apart)
    print(f"{args.corpus} with translations by {args.checkpoint} as sources is in {folder}")


def run_label(args: argparse.Namespace) -> None:
    folder = label_reviews(data_root=data_dir(args.data_dir), corpus=args.corpus, more=args.more)
    print(f"{args.corpus} with probabilities is in {folder}")


def run_tiny(args: argparse.Namespace) -> None:
    out = Path(args.out or f"runs/{args.name}")
    train_tiny(args.name, out, rounds=args.rounds or TINY[args.name].rounds)
    print(f"{args.name} is in {out}")


def run_tiny_figures(args: argparse.Namespace) -> None:
    opened = open_tiny(Path(args.folder))
    for name, value in figures(opened).items():
        print(f"{name}\t{value:.3f}")
    print(head_table(opened))


def run_atlases(args: argparse.Namespace) -> None:
    make_atlases(args.names or list(FORMS), seed=args.seed, report=partial(print, flush=True))


RUNS = {
    "vary": run_vary,
    "distill": run_distill,
    "backtranslate": run_backtranslate,
    "label": run_label,
    "tiny": run_tiny,
    "tiny-figures": run_tiny_figures,
    "atlases": run_atlases,
}
COMMANDS = commands_in(Path(__file__).with_name("commands.toml"), RUNS, {"tiny": list(TINY), "atlases": list(FORMS)})


def main(argv: list[str] | None = None) -> int:
    return command_line(argv, program="python -m weights", about=__doc__, commands=COMMANDS)


if __name__ == "__main__":
    sys.exit(main())
