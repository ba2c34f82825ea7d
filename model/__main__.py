"""The command line: python -m model train | evaluate | translate | classify | attention | export | fetch | …"""

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from model.arguments import make_parser
from model.asked import classifier_of, folder_at, own_folder_at, search_settings, translator_of, written_for
from model.checkpoint import (
    Checkpoint,
    CheckpointError,
)
from model.config import ConfigError
from model.corpora.corpora import CorpusError, data_dir
from model.corpora.download import DownloadError, download_corpus
from model.corpora.toys import TOYS, write_toy
from model.corpora.variety import vary
from model.evaluate_command import run_evaluate
from model.files import write_beside
from model.foreign_config import ForeignConfig
from model.inference.classify import classify
from model.inference.export import FORMATS
from model.languages import between, usual_languages
from model.notebook import OpenCheckpoint, ShownTranslation, open_checkpoint
from model.opening import open_translator, read_any_config
from model.places import folder_for_new
from model.recipe import load_recipe
from model.training.backtranslate import backtranslate
from model.training.distill import distill
from model.training.judge import judge
from model.training.train import DivergedError, train


def run_train(args: argparse.Namespace) -> None:
    recipe = load_recipe(args.recipe)
    settings = dict(args.set)
    for name in ("precision", "max_steps", "seed"):
        if getattr(args, name) is not None:
            settings[f"train.{name}"] = getattr(args, name)
    if args.snapshots:
        settings["train.snapshot_steps"] = args.snapshots
    recipe = recipe.with_settings(settings)
    out = Path(args.out) if args.out else folder_for_new() / recipe.name
    train(
        recipe,
        data_root=data_dir(args.data_dir),
        out=out,
        device=args.device,
        resume=args.resume,
        init=own_folder_at(args.init, "train --init") if args.init else None,
        tensorboard=args.tensorboard,
    )


def in_languages(checkpoint: Checkpoint, source: str, target: str) -> Checkpoint:
    """The checkpoint between two languages, as its files or we have them where none is named."""
    config = checkpoint.config
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        if source or target:
            raise ConfigError(f"{checkpoint.name} is not of many languages, so there is nothing to choose.")
        return checkpoint
    usual = usual_languages(config)
    try:
        return between(checkpoint, source or usual[0], target or usual[1])
    except ValueError as error:
        raise ConfigError(str(error)) from error


def texts_of(args: argparse.Namespace) -> Iterator[str]:
    """Those in the arguments, else the lines of the standard input."""
    return iter(args.texts) if args.texts else (line.rstrip("\n") for line in sys.stdin)


def run_translate(args: argparse.Namespace) -> None:
    search = search_settings(args)  # refuses what it cannot do before a checkpoint is read
    checkpoint = in_languages(translator_of(args), args.source, args.target)
    lines = texts_of(args)
    # A person at the keyboard gets each line at once, a file is translated in batches.
    size = 1 if sys.stdin.isatty() else 64
    while batch := list(islice(lines, size)):
        for text in written_for(checkpoint, batch, search):
            print(" ".join(text.splitlines()), flush=True)


def run_classify(args: argparse.Namespace) -> None:
    checkpoint = classifier_of(args)
    for text in texts_of(args):
        result = classify(checkpoint, text)
        print(f"{result.label}\t{result.probabilities[result.label]:.3f}", flush=True)


def run_attention(args: argparse.Namespace) -> None:
    out = Path(args.out or "maps.npz")
    if out.suffix[1:] not in FORMATS:
        raise ConfigError(f"{out} is no name for a file of maps: it has to end in .{', .'.join(FORMATS)}.")
    search = search_settings(args, usual_beam=1)
    checkpoint = open_checkpoint(args.checkpoint)
    if not isinstance(checkpoint, OpenCheckpoint):
        raise CheckpointError(f"{checkpoint.name} classifies texts and does not translate; choose another checkpoint.")
    translation = checkpoint.translate(args.sentence, search=search)
    if args.out or not args.html:
        facts = {"checkpoint": checkpoint.name, "sentence": args.sentence, "translation": translation.text}
        write_beside(out, FORMATS[out.suffix[1:]](translation, facts))
    if args.html:
        write_beside(Path(args.html), page_of(translation))
    print(translation.text)
    for name, maps in translation.maps.items():
        print(f"{name:8} {maps.shape}")


def page_of(translation: ShownTranslation) -> str:
    try:
        return translation.html()
    except ValueError as error:  # the text has too many tokens for one page
        raise ConfigError(f"{error} A file that --out names, such as maps.npz, holds maps of any size.") from error


def run_export(args: argparse.Namespace) -> None:
    from model.foreign.marian import write_marian  # the library takes seconds to import, and no other command needs it

    folder = Path(args.out)
    write_marian(open_translator(folder_at(args.checkpoint)), folder)
    print(f"{args.checkpoint} is in {folder}; AutoModelForSeq2SeqLM and AutoTokenizer of transformers open it.")


def run_fetch(args: argparse.Namespace) -> None:
    from model.foreign.fetch import fetch

    folder = fetch(args.repository, Path(args.out or folder_for_new()), revision=args.revision)
    config = read_any_config(folder)
    print(f"{args.repository} is in {folder}: {getattr(config, 'family', 'Headlight')}, {config.task}")


def run_download(args: argparse.Namespace) -> None:
    folder = download_corpus(args.corpus, data_dir(args.data_dir), base_url=args.mirror)
    print(f"{args.corpus} is in {folder}")


def run_distill(args: argparse.Namespace) -> None:
    teacher, root = translator_of(args), data_dir(args.data_dir)
    folder = distill(teacher, data_root=root, corpus=args.corpus, search=search_settings(args))
    print(f"{args.corpus}, as {args.checkpoint} translates it, is in {folder}")


def run_judge(args: argparse.Namespace) -> None:
    folder = judge(data_root=data_dir(args.data_dir), corpus=args.corpus, more=args.more)
    print(f"{args.corpus}, and how sure a count of n-grams is of it, is in {folder}")


def run_backtranslate(args: argparse.Namespace) -> None:
    teacher, settings = translator_of(args), search_settings(args)
    folder = backtranslate(
        teacher, data_root=data_dir(args.data_dir), corpus=args.corpus, search=settings, apart=args.apart
    )
    print(f"{args.corpus} and what {args.checkpoint} makes of it are in {folder}")


def run_toy(args: argparse.Namespace) -> None:
    folder = write_toy(data_dir(args.data_dir), args.toy, longest=args.longest, seed=args.seed)
    settings = {"corpus": args.toy, "source_language": TOYS[args.toy].source, "target_language": TOYS[args.toy].target}
    told = " ".join(f"--set {name}={value}" for name, value in settings.items())
    print(f"{folder} is there. Learn it:")
    print(f"python -m model train toy --data-dir {folder.parent} --out runs/{args.toy} {told}")


def run_vary(args: argparse.Namespace) -> None:
    folder = vary(
        data_dir(args.data_dir), args.corpus, languages=(args.source, args.target), own=args.own, seed=args.seed
    )
    print(f"Variants of {args.corpus} are in {folder}")


CLOSED = 141  # what a shell shows of a program that the signal SIGPIPE ended


def main(argv: list[str] | None = None, *, program: str = "python -m model", about: str | None = __doc__) -> int:
    args = make_parser(program, about).parse_args(argv)
    try:
        RUN[args.command](args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads on, as behind `| head`. Python writes what is left at its end, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED
    except (CheckpointError, ConfigError, CorpusError, DivergedError, DownloadError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except UnicodeDecodeError as error:
        print(f"Error: the input is not UTF-8: byte {error.object[error.start]:#04x}.", file=sys.stderr)
        return 1
    return 0


RUN = {
    "train": run_train,
    "evaluate": run_evaluate,
    "translate": run_translate,
    "classify": run_classify,
    "attention": run_attention,
    "export": run_export,
    "fetch": run_fetch,
    "download": run_download,
    "vary": run_vary,
    "toy": run_toy,
    "distill": run_distill,
    "judge": run_judge,
    "backtranslate": run_backtranslate,
}


if __name__ == "__main__":
    sys.exit(main())
