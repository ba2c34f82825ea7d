"""Commands that made our corpora and checkpoints once: python -m weights vary | distill | label | tiny | …"""

import argparse
import sys
from pathlib import Path

from model.cli.arguments import BEAM, CHECKPOINT, DATA, DEVICE
from model.cli.console import run_in_console
from model.cli.resolve import search_settings, translator_of
from model.corpora.corpora import data_dir
from weights import translated
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
    out = args.out or Path("runs") / args.name
    train_tiny(args.name, out, rounds=args.rounds or TINY[args.name].rounds)
    print(f"{args.name} is in {out}")


def run_tiny_figures(args: argparse.Namespace) -> None:
    tiny = open_tiny(args.folder)
    for name, value in figures(tiny).items():
        print(f"{name}\t{value:.3f}")
    print(head_table(tiny))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m weights", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    text = "write variants of the training pairs of English and German or Chinese"
    command = commands.add_parser("vary", parents=[DATA], help=text)
    command.set_defaults(run=run_vary)
    command.add_argument("corpus")
    command.add_argument("--source", default="en", help="the source language, default en")
    command.add_argument("--target", default="de", help="the target language, default de")
    command.add_argument("--own", type=int, default=6000, help="number of sentences from our phrasebook, default 6000")
    command.add_argument("--seed", type=int, default=1, help="seed of the random numbers, default 1")

    which = "translate the training sentences of this corpus, default multi30k"
    translating = [CHECKPOINT, BEAM, DATA, DEVICE]
    text = "write a corpus with a checkpoint's translations, for a smaller model"
    command = commands.add_parser("distill", parents=translating, help=text)
    command.set_defaults(run=run_distill)
    command.add_argument("--corpus", default="multi30k", help=which)

    text = "write a corpus for the opposite direction: a checkpoint's translations as sources, sentences as targets"
    command = commands.add_parser("backtranslate", parents=translating, help=text)
    command.set_defaults(run=run_backtranslate)
    command.add_argument("--corpus", default="multi30k", help=which)
    text = "leave out the validation and test sentences of these corpora"
    command.add_argument("--apart", nargs="*", default=[], metavar="CORPUS", help=text)

    text = "write a corpus of reviews, parts and mixtures, each with the probability by a classifier of n-grams"
    command = commands.add_parser("label", parents=[DATA], help=text)
    command.set_defaults(run=run_label)
    command.add_argument("--corpus", default="imdb", help="label the training texts of this corpus, default imdb")
    command.add_argument("--more", default="sst2", help="the classifier also learns from this corpus, default sst2")

    text = "train a tiny model on stories of our own; a stopped run continues after its last round"
    command = commands.add_parser("tiny", help=text)
    command.set_defaults(run=run_tiny)
    command.add_argument("name", choices=list(TINY))
    command.add_argument("--out", type=Path, help="folder of the model, default runs/NAME")
    command.add_argument("--rounds", type=int, help="rounds of 2,000 new stories, default as for our checkpoint")

    text = "measure a tiny model and its heads on stories that it has not read"
    command = commands.add_parser("tiny-figures", help=text)
    command.set_defaults(run=run_tiny_figures)
    command.add_argument("folder", type=Path)
    return parser


def main(argv: list[str] | None = None) -> int:
    given = sys.argv[1:] if argv is None else argv

    def run() -> None:
        args = make_parser().parse_args(given)
        args.run(args)

    return run_in_console(given, run)


if __name__ == "__main__":
    sys.exit(main())
