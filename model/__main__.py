"""The command line: python -m model train | evaluate | translate | classify | attention | export | fetch | …"""

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from model.arguments import make_parser
from model.checkpoint import (
    Checkpoint,
    CheckpointError,
    ClassifierCheckpoint,
    find_checkpoints,
    load_checkpoint,
    load_classifier,
    read_config,
    write_config,
)
from model.config import ConfigError, SearchConfig
from model.corpora.batching import Batches
from model.corpora.class_list import CLASS_LISTS, read_class_list
from model.corpora.corpora import CorpusError, data_dir, read_pairs
from model.corpora.download import DownloadError, download_corpus
from model.corpora.examples import sentence_pairs
from model.corpora.reviews import class_reviews, read_reviews
from model.corpora.toys import TOYS, write_toy
from model.corpora.variety import vary
from model.device import pick_device
from model.files import write_beside
from model.foreign_config import ForeignConfig
from model.inference.classify import classify, classify_lines
from model.inference.doubt import CERTAINTY, RARE, usual_certainty
from model.inference.export import maps_npz
from model.inference.translate import translate, translate_lines
from model.languages import between, usual_languages
from model.opening import open_translator, read_any_config
from model.recipe import load_recipe
from model.training.distill import distill
from model.training.evaluate import accuracy, bleu_by_length, mean_loss, score
from model.training.train import DivergedError, train

CHECKPOINTS = Path(__file__).resolve().parent.parent / "checkpoints"


def folder_at(name: str) -> Path:
    """A folder, or the name of a bundled checkpoint."""
    for folder in (Path(name), CHECKPOINTS / name):
        if folder.is_dir():
            return folder
    bundled = ", ".join(find_checkpoints([CHECKPOINTS])) or "none"
    raise CheckpointError(f"There is no checkpoint {name!r}. Bundled: {bundled}; or give the path of a folder.")


def search_settings(args: argparse.Namespace) -> SearchConfig:
    if getattr(args, "sample", False):
        return SearchConfig(
            method="sample", temperature=args.temperature, top_k=args.top_k, top_p=args.top_p, seed=args.seed
        )
    return SearchConfig(method="beam", beam_size=args.beam) if args.beam > 1 else SearchConfig()


def run_train(args: argparse.Namespace) -> None:
    recipe = load_recipe(args.recipe)
    settings = dict(args.set)
    for name in ("precision", "max_steps", "seed"):
        if getattr(args, name) is not None:
            settings[f"train.{name}"] = getattr(args, name)
    if args.snapshots:
        settings["train.snapshot_steps"] = args.snapshots
    recipe = recipe.with_settings(settings)
    out = Path(args.out) if args.out else CHECKPOINTS / recipe.name
    train(
        recipe,
        data_root=data_dir(args.data_dir),
        out=out,
        device=args.device,
        resume=args.resume,
        init=folder_at(args.init) if args.init else None,
        tensorboard=args.tensorboard,
    )


def run_evaluate(args: argparse.Namespace) -> None:
    folder = folder_at(args.checkpoint)
    if args.class_list:
        run_class_list(args)
        return
    if args.certainty:
        run_certainty(folder, args)
        return
    config = read_config(folder)
    corpus = args.corpus or config.train.corpora[0]
    split = args.split or ("test_2016_flickr" if corpus == "multi30k" else "test")
    evaluate = evaluate_classifier if config.task == "classification" else evaluate_translator
    scores = evaluate(corpus, split, args)
    place = split if corpus == "multi30k" else f"{corpus}.{split}"
    if args.record:
        measured = ("bleu", "bleu_lowercased", "bleu_tokenized", "chrf", "perplexity", "accuracy")
        found = {f"{place}.{name}": round(scores[name], 2) for name in measured if scores.get(name) is not None}
        record(folder, found)
    if args.json:
        print(json.dumps({"checkpoint": folder.name, "split": place} | scores))
        return
    print(f"{folder.name} on {place}, {scores['examples']} examples")
    for name, (label, unit) in LABELS.items():
        if scores.get(name) is not None:
            print(f"{label:24}{scores[name]:7.2f}   {scores.get(f'{name}_signature', unit)}")


def run_class_list(args: argparse.Namespace) -> None:
    """Print what the checkpoint gets wrong of what a class types first, and the share that it gets right."""
    if read_any_config(folder_at(args.checkpoint)).task == "classification":
        run_class_reviews(args)
        return
    checkpoint = translator_of(args)
    languages = checkpoint.config.tokenizer
    sentences = read_class_list(languages.source_language, languages.target_language, folder=CLASS_LISTS)
    found = written_for(checkpoint, [sentence.source for sentence in sentences], SearchConfig())
    for sentence, text in zip(sentences, found, strict=True):
        if not sentence.accepts(text):
            print(f"{sentence.source}\t{text}\t({min(sentence.answers, key=len)})")
    right = sum(sentence.accepts(text) for sentence, text in zip(sentences, found, strict=True))
    print(f"{checkpoint.name}: {right} of {len(sentences)} acceptable, {100 * right / len(sentences):.1f} %")


def run_class_reviews(args: argparse.Namespace) -> None:
    checkpoint, reviews = classifier_of(args), class_reviews()
    found = classify_lines(checkpoint.model, checkpoint.tokenizers, [text for text, _ in reviews])
    for (text, label), label_found in zip(reviews, found, strict=True):
        if label != label_found:
            print(f"{text}\t{checkpoint.model.config.labels[label_found]}")
    right = accuracy(found, [label for _, label in reviews])
    print(f"{checkpoint.name}: {right * len(reviews) / 100:.0f} of {len(reviews)} right, {right:.1f} %")


def run_certainty(folder: Path, args: argparse.Namespace) -> None:
    """Print how sure a translator is of all but a few of the validation sentences."""
    checkpoint = translator_of(args)
    languages, corpus = checkpoint.config.tokenizer, args.corpus or "+".join(read_config(folder).train.corpora)
    pairs = read_pairs(data_dir(args.data_dir), corpus, "val", languages.source_language, languages.target_language)
    value = round(usual_certainty(checkpoint, [source for source, _ in pairs]), 3)
    if args.record:
        record(folder, {CERTAINTY: value})
    print(f"{folder.name} gives the tokens of all but {RARE} % of {len(pairs)} sentences {value} or more on average.")


def record(folder: Path, figures: Mapping[str, float]) -> None:
    config = read_config(folder)
    write_config(folder, dataclasses.replace(config, figures={**config.figures, **figures}))


LABELS = {
    "bleu": ("BLEU", ""),
    "bleu_lowercased": ("BLEU lower-cased", ""),
    "bleu_tokenized": ("BLEU of Moses tokens", "lower-cased"),
    "chrf": ("chrF", ""),
    "loss": ("loss", "nats a token"),
    "perplexity": ("perplexity", ""),
    "accuracy": ("accuracy", "%"),
}


def translator_of(args: argparse.Namespace) -> Checkpoint:
    return open_translator(folder_at(args.checkpoint), device=str(pick_device(args.device)))


def classifier_of(args: argparse.Namespace) -> ClassifierCheckpoint:
    return load_classifier(folder_at(args.checkpoint), device=str(pick_device(args.device)))


def evaluate_translator(corpus: str, split: str, args: argparse.Namespace) -> dict[str, Any]:
    folder = folder_at(args.checkpoint)
    checkpoint = load_checkpoint(folder, device=str(pick_device(args.device)))
    batch_tokens = read_config(folder).train.batch_tokens
    model, tokenizers, languages = checkpoint.model, checkpoint.tokenizers, checkpoint.config.tokenizer
    target = languages.target_language
    pairs = read_pairs(data_dir(args.data_dir), corpus, split, languages.source_language, target)
    examples = sentence_pairs(pairs, tokenizers, max_length=model.config.max_length)
    hypotheses = translate_lines(model, tokenizers, [source for source, _ in pairs], search=search_settings(args))
    device = next(model.parameters()).device
    loss = mean_loss(model, Batches(examples, batch_tokens=batch_tokens, device=device).in_order())
    references = [reference for _, reference in pairs]
    scores = score(hypotheses, references, loss=loss, language=target).to_dict()
    if args.by_length:
        for name, count, bleu in bleu_by_length(
            [source for source, _ in pairs], hypotheses, references, language=target
        ):
            print(f"{name + ' words':20} {count:5} sentences {bleu:6.2f} BLEU lower-cased")
    return {"beam": args.beam, "examples": len(pairs)} | scores


def evaluate_classifier(corpus: str, split: str, args: argparse.Namespace) -> dict[str, Any]:
    checkpoint = classifier_of(args)
    texts, labels = zip(*read_reviews(data_dir(args.data_dir), corpus, split), strict=True)
    found = classify_lines(checkpoint.model, checkpoint.tokenizers, texts)
    return {"examples": len(texts), "accuracy": accuracy(found, labels)}


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


def run_translate(args: argparse.Namespace) -> None:
    checkpoint, search = in_languages(translator_of(args), args.source, args.target), search_settings(args)
    lines = (line.rstrip("\n") for line in sys.stdin)
    # A person at the keyboard gets each line at once, a file is translated in batches.
    size = 1 if sys.stdin.isatty() else 64
    while batch := list(islice(lines, size)):
        for text in written_for(checkpoint, batch, search):
            print(" ".join(text.splitlines()), flush=True)


def written_for(checkpoint: Checkpoint, lines: Sequence[str], search: SearchConfig) -> list[str]:
    """What is written for each line: its translation, its continuation, or itself with what was masked."""
    if checkpoint.config.task == "translation":
        return translate_lines(checkpoint.model, checkpoint.tokenizers, lines, search=search)
    return [translate(checkpoint, line, search=search).text for line in lines]


def run_classify(args: argparse.Namespace) -> None:
    checkpoint = classifier_of(args)
    for line in sys.stdin:
        result = classify(checkpoint, line.rstrip("\n"))
        print(f"{result.label}\t{result.probabilities[result.label]:.3f}", flush=True)


def run_attention(args: argparse.Namespace) -> None:
    translation = translate(open_translator(folder_at(args.checkpoint)), args.sentence, search=search_settings(args))
    out = Path(args.out)
    write_beside(out, maps_npz(translation))
    print(translation.text)
    for name, maps in translation.maps.items():
        print(f"{name:8} {maps.shape}")


def run_export(args: argparse.Namespace) -> None:
    from model.foreign.marian import write_marian  # the library takes seconds to import, and no other command needs it

    folder = Path(args.out)
    write_marian(open_translator(folder_at(args.checkpoint)), folder)
    print(f"{args.checkpoint} is in {folder}; AutoModelForSeq2SeqLM and AutoTokenizer of transformers open it.")


def run_fetch(args: argparse.Namespace) -> None:
    from model.foreign.fetch import fetch

    named = os.environ.get("HEADLIGHT_CHECKPOINTS", "").split(os.pathsep)[0]
    folder = fetch(args.repository, Path(args.out or named or CHECKPOINTS), revision=args.revision)
    config = read_any_config(folder)
    print(f"{args.repository} is in {folder}: {getattr(config, 'family', 'Headlight')}, {config.task}")


def run_download(args: argparse.Namespace) -> None:
    folder = download_corpus(args.corpus, data_dir(args.data_dir), base_url=args.mirror)
    print(f"{args.corpus} is in {folder}")


def run_distill(args: argparse.Namespace) -> None:
    teacher, root = translator_of(args), data_dir(args.data_dir)
    folder = distill(teacher, data_root=root, corpus=args.corpus, search=search_settings(args))
    print(f"{args.corpus}, as {args.checkpoint} translates it, is in {folder}")


def run_toy(args: argparse.Namespace) -> None:
    folder = write_toy(data_dir(args.data_dir), args.toy, longest=args.longest, seed=args.seed)
    sides = f"--set corpus={args.toy} --set source_language={TOYS[args.toy].source} --set target_language="
    print(f"{folder} is there. Learn it: python -m model train toy {sides}{TOYS[args.toy].target}")


def run_vary(args: argparse.Namespace) -> None:
    folder = vary(
        data_dir(args.data_dir), args.corpus, languages=(args.source, args.target), own=args.own, seed=args.seed
    )
    print(f"Variants of {args.corpus} are in {folder}")


def main(argv: list[str] | None = None) -> int:
    args = make_parser(__doc__).parse_args(argv)
    try:
        RUN[args.command](args)
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
}


if __name__ == "__main__":
    sys.exit(main())
