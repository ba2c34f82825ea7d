"""The commands: python -m model train | translate | classify | attention | export | fetch | download | toy."""

import argparse
import sys
from itertools import islice
from pathlib import Path

from model.checkpoints.checkpoint import Checkpoint
from model.checkpoints.languages import usual_languages, with_languages
from model.cli.resolve import (
    MOST_NAMES,
    classifier_of,
    note,
    note_cleaning,
    own_folder_at,
    require_training_packages,
    search_settings,
    texts_of,
    translator_of,
    written_for,
)
from model.config.foreign import ForeignConfig
from model.config.paths import folder_for_new
from model.config.recipe import load_recipe
from model.config.section import ConfigError
from model.corpora.corpora import data_dir
from model.corpora.download import download_corpus
from model.corpora.toys import TOYS, write_toy
from model.files import replace_file
from model.inference.classify import classify
from model.inference.continuation import with_continuation
from model.inference.export import FORMATS, facts_of
from model.inference.findings import finding_in_run
from model.inference.opening import read_any_config
from model.inference.run import Result
from model.inference.translate import translate, with_model_settings
from model.messages import few
from model.text.pair import Text, paired

__all__ = [
    *("run_attention", "run_classify", "run_download", "run_export", "run_fetch", "run_toy", "run_train"),
    *("run_translate", "maps_file", "print_shapes", "run_model", "write_maps"),
]


def run_train(args: argparse.Namespace) -> None:
    require_training_packages()
    from model.training.train import train  # other commands do not wait for these packages

    names = {"precision": "precision", "max_steps": "max_steps", "seed": "seed", "snapshots": "snapshot_steps"}
    typed = {f"train.{name}": getattr(args, typed) for typed, name in names.items() if getattr(args, typed) is not None}
    recipe = load_recipe(args.recipe).with_settings(dict(args.set) | typed)
    train(
        recipe,
        data_root=data_dir(args.data_dir),
        out=Path(args.out) if args.out else folder_for_new() / recipe.name,
        device=args.device,
        resume=args.resume,
        init=own_folder_at(args.init, "train --init") if args.init else None,
        tensorboard=args.tensorboard,
    )


def run_translate(args: argparse.Namespace) -> None:
    search = search_settings(args)  # before the checkpoint is loaded, so that a wrong option is refused at once
    checkpoint = in_languages(translator_of(args), args.source, args.target)
    checkpoint = with_continuation(checkpoint, new_tokens=args.new_tokens, chat=args.chat)
    search = with_model_settings(search, checkpoint.config)
    lines = texts_of(args)
    # A person at the keyboard gets each line at once. A file is translated in batches.
    size = 1 if sys.stdin.isatty() else 64
    while batch := list(islice(lines, size)):
        note_cleaning(checkpoint, batch)
        for text in written_for(checkpoint, batch, search):
            print(" ".join(text.splitlines()), flush=True)


def in_languages(checkpoint: Checkpoint, source: str, target: str) -> Checkpoint:
    """The checkpoint with a source and a target language; an empty name stands for the usual language."""
    config = checkpoint.config
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        if source or target:
            raise ConfigError(f"{checkpoint.name} has only one pair of languages. Leave out --from and --into.")
        return checkpoint
    usual = usual_languages(config)
    try:
        return with_languages(checkpoint, source or usual[0], target or usual[1])
    except ValueError as error:
        raise ConfigError(str(error)) from error


def run_classify(args: argparse.Namespace) -> None:
    checkpoint = classifier_of(args)
    for text in texts_of(args):
        note_cleaning(checkpoint, [text])
        result = classify(checkpoint, text, second=args.second)
        print(f"{result.label}\t{result.probabilities[result.label]:.3f}", flush=True)


def run_attention(args: argparse.Namespace) -> None:
    out = maps_file(args)
    checkpoint, text, translation = run_model(args)
    write_maps(out, checkpoint, text, translation)
    print_shapes(translation)


def maps_file(args: argparse.Namespace) -> Path:
    """Raises ConfigError if the name of the file names no format."""
    out = Path(args.out or "maps.npz")
    if out.suffix[1:] not in FORMATS:
        raise ConfigError(f"Maps cannot be written to {out}. The name must end in .{', .'.join(FORMATS)}.")
    return out


def run_model(args: argparse.Namespace) -> tuple[Checkpoint, Text, Result]:
    search = search_settings(args, usual_beam=1)
    checkpoint = with_continuation(translator_of(args), new_tokens=args.new_tokens, chat=args.chat)
    note_cleaning(checkpoint, [args.sentence])
    text = paired(args.sentence, args.second)
    translation = translate(checkpoint, text, search=with_model_settings(search, checkpoint.config))
    if finding := finding_in_run(translation):
        note(finding)
    return checkpoint, text, translation


def write_maps(out: Path, checkpoint: Checkpoint, text: Text, translation: Result) -> None:
    facts = {"checkpoint": checkpoint.name, **facts_of(text), "translation": translation.text}
    replace_file(out, FORMATS[out.suffix[1:]](translation, facts))


def print_shapes(translation: Result) -> None:
    print(translation.text)
    for name, maps in translation.maps.items():
        print(f"{name:8} {maps.shape}")


def run_export(args: argparse.Namespace) -> None:
    from model.foreign.marian import write_marian  # transformers takes seconds to import

    folder, checkpoint = Path(args.out), translator_of(args)
    write_marian(checkpoint, folder)
    print(f"{checkpoint.name} is in {folder}. AutoModelForSeq2SeqLM and AutoTokenizer of transformers open it.")


def run_fetch(args: argparse.Namespace) -> None:
    from model.foreign.fetch import fetch

    folder, left_out = fetch(args.repository, Path(args.out or folder_for_new()), revision=args.revision)
    if left_out:
        print(f"Left out: {few(left_out, MOST_NAMES)}", file=sys.stderr)
    config = read_any_config(folder)
    print(f"{args.repository} is in {folder}: {getattr(config, 'family', 'Headlight')}, {config.task}")


def run_download(args: argparse.Namespace) -> None:
    folder = download_corpus(args.corpus, data_dir(args.data_dir), base_url=args.mirror)
    print(f"{args.corpus} is in {folder}")


def run_toy(args: argparse.Namespace) -> None:
    folder = write_toy(data_dir(args.data_dir), args.toy, longest=args.longest, seed=args.seed)
    settings = {"corpus": args.toy, "source_language": TOYS[args.toy].source, "target_language": TOYS[args.toy].target}
    options = " ".join(f"--set {name}={value}" for name, value in settings.items())
    print(f"{args.toy} is in {folder}. Train a model on it:")
    print(f"python -m model train toy --data-dir {folder.parent} --out runs/{args.toy} {options}")
