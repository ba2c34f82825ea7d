"""`python -m model classify`: classify texts, or lines from the standard input."""

import argparse

from model.cli.arguments import CHECKPOINT, DEVICE, SECOND, TEXTS, Commands
from model.cli.resolve import classifier_of, note_cleaning, texts_of
from model.inference.classify import classify

__all__ = ["add_parser", "run"]


def add_parser(commands: Commands) -> None:
    text = "classify texts, or the lines of the standard input; print label and probability"
    commands.add_parser("classify", parents=[CHECKPOINT, TEXTS, SECOND, DEVICE], help=text)


def run(args: argparse.Namespace) -> None:
    checkpoint = classifier_of(args)
    for text in texts_of(args):
        note_cleaning(checkpoint, [text])
        result = classify(checkpoint, text, second=args.second)
        print(f"{result.label}\t{result.probabilities[result.label]:.3f}", flush=True)
