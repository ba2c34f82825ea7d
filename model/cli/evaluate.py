"""`python -m model evaluate`: measure how good a checkpoint is on a corpus or a class list, and how confident."""

import argparse
import dataclasses
import json
from collections.abc import Mapping
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import BY_LENGTH, read_config, write_config
from model.cli.resolve import (
    USUAL_BEAM,
    classifier_of,
    folder_at,
    own_folder_at,
    refuse,
    require_training_packages,
    search_settings,
    translator_of,
    written_for,
)
from model.config.search import SearchConfig
from model.corpora.class_list import CLASS_LISTS, read_class_list
from model.corpora.corpora import data_dir, read_pairs
from model.corpora.examples import Examples, sentence_pairs
from model.corpora.reviews import class_reviews, read_reviews
from model.files import finite
from model.inference.classify import classify_lines
from model.inference.confidence import LOW_PERCENTILE, USUAL_CONFIDENCE, usual_confidence
from model.inference.opening import read_any_config
from model.inference.translate import translate_lines
from model.network.own_model import Translator
from model.network.team import Team, launched_team
from model.text.tokenizers import LearnedPair

__all__ = ["run_evaluate"]

NOT_WITH_CLASS = ("corpus", "split", "data_dir", "beam", "json", "by_length", "certainty", "record")
NOT_WITH_CERTAINTY = ("split", "beam", "json", "by_length")
NOT_OF_CLASSIFIERS = ("certainty", "by_length", "beam")


LABELS = {
    "bleu": ("BLEU", ""),
    "bleu_lowercased": ("BLEU lower-cased", ""),
    "bleu_tokenized": ("BLEU of Moses tokens", "lower-cased"),
    "chrf": ("chrF", ""),
    "loss": ("loss", "nats per token"),
    "perplexity": ("perplexity", ""),
    "accuracy": ("accuracy", "%"),
}


def run_evaluate(args: argparse.Namespace) -> None:
    if args.class_list:
        refuse(args, NOT_WITH_CLASS, "{option} has no effect with --class, which uses a list of its own. Leave it out.")
        run_class_list(args)
        return
    folder = own_folder_at(args.checkpoint, "evaluate without --class")
    config = read_config(folder)
    if config.task == "classification":
        sentence = f"{{option}} has no effect on {folder.name}, which classifies texts. Leave it out."
        refuse(args, NOT_OF_CLASSIFIERS, sentence)
    if args.certainty:
        refuse(args, NOT_WITH_CERTAINTY, "{option} has no effect with --certainty. Leave out one of the two.")
        run_certainty(folder, args)
        return
    corpus = args.corpus or config.train.corpora[0]
    split = args.split or ("test_2016_flickr" if corpus == "multi30k" else "test")
    measure = evaluate_classifier if config.task == "classification" else evaluate_translator
    with launched_team() as team:
        scores = measure(corpus, split, args, team)
    if team.rank:  # the first process has the whole result
        return
    place = split if corpus == "multi30k" else f"{corpus}.{split}"
    if args.record:
        measured = ("bleu", "bleu_lowercased", "bleu_tokenized", "chrf", "perplexity", "accuracy")
        found = {f"{place}.{name}": round(scores[name], 2) for name in measured if scores.get(name) is not None}
        found |= {f"{place}.{BY_LENGTH}{words}": round(bleu, 2) for words, _, bleu in scores.get("by_length", ())}
        record(folder, found)
    if args.json:
        print(json.dumps(finite({"checkpoint": folder.name, "split": place} | scores), allow_nan=False))
        return
    print(f"{folder.name} on {place}, {scores['examples']} examples")
    for name, (label, unit) in LABELS.items():
        if scores.get(name) is not None:
            print(f"{label:24}{scores[name]:7.2f}   {scores.get(f'{name}_signature', unit)}")
    for words, count, bleu in scores.get("by_length", ()):
        print(f"{words + ' words':20} {count:5} sentences {bleu:6.2f} BLEU lower-cased")


def run_class_list(args: argparse.Namespace) -> None:
    """Print the sentences of a class list that the checkpoint translates wrong, and the share that is acceptable."""
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
    print(f"{checkpoint.name}: {right} of {len(sentences)} acceptable, {100 * right / len(sentences):.1f}\u00a0%")


def run_class_reviews(args: argparse.Namespace) -> None:
    """Print the reviews of the class list that the classifier labels wrong, and the share that it labels right."""
    from model.training.evaluate import accuracy

    checkpoint, reviews = classifier_of(args), class_reviews()
    found = classify_lines(checkpoint.model, checkpoint.tokenizers, [text for text, _ in reviews])
    for (text, label), label_found in zip(reviews, found, strict=True):
        if label != label_found:
            print(f"{text}\t{checkpoint.model.config.labels[label_found]}")
    right = accuracy(found, [label for _, label in reviews])
    print(f"{checkpoint.name}: {right * len(reviews) / 100:.0f} of {len(reviews)} right, {right:.1f}\u00a0%")


def run_certainty(folder: Path, args: argparse.Namespace) -> None:
    """Print the confidence that a translator reaches on nearly all validation sentences."""
    checkpoint = translator_of(args)
    languages, corpus = checkpoint.config.tokenizer, args.corpus or "+".join(read_config(folder).train.corpora)
    pairs = read_pairs(data_dir(args.data_dir), corpus, "val", languages.source_language, languages.target_language)
    value = round(usual_confidence(checkpoint, [source for source, _ in pairs]), 3)
    if args.record:
        record(folder, {USUAL_CONFIDENCE: value})
    share = f"{100 - LOW_PERCENTILE}\u00a0%"
    print(f"{folder.name} gives its tokens a mean probability of {value} or more in {share} of {len(pairs)} sentences.")


def record(folder: Path, figures: Mapping[str, float]) -> None:
    config = read_config(folder)
    finite = {name: figure for name, figure in figures.items() if isfinite(figure)}
    write_config(folder, dataclasses.replace(config, figures={**config.figures, **finite}))


def evaluate_translator(corpus: str, split: str, args: argparse.Namespace, team: Team) -> dict[str, Any]:
    require_training_packages()
    from model.corpora.batch import (
        Batches,
        TranslationBatch,  # other commands do not wait for these packages
    )
    from model.training.evaluate import bleu_by_length, mean_loss, score, shared_lines

    checkpoint = translator_of(args)
    batch_tokens = read_config(checkpoint.path).train.batch_tokens
    model, tokenizers, languages = checkpoint.model, checkpoint.tokenizers, checkpoint.config.tokenizer
    target = languages.target_language
    assert isinstance(model, Translator)
    assert isinstance(tokenizers, LearnedPair)
    pairs = read_pairs(data_dir(args.data_dir), corpus, split, languages.source_language, target)
    examples = Examples.of(sentence_pairs(pairs, tokenizers, max_length=model.config.max_length))
    translated = partial(translate_lines, model, tokenizers, search=search_settings(args))
    hypotheses = shared_lines(translated, [source for source, _ in pairs], team)
    batches = Batches(examples, TranslationBatch.of, batch_tokens=batch_tokens, device=model.device)
    loss = mean_loss(model, batches, team)
    references = [reference for _, reference in pairs]
    scores = score(hypotheses, references, loss=loss, language=target)
    rows = bleu_by_length([source for source, _ in pairs], hypotheses, references, language=target)
    return (
        {"beam": args.beam or USUAL_BEAM, "examples": len(pairs)}
        | scores
        | ({"by_length": rows} if args.by_length else {})
    )


def evaluate_classifier(corpus: str, split: str, args: argparse.Namespace, team: Team) -> dict[str, Any]:
    from model.training.evaluate import accuracy, shared_lines

    checkpoint = classifier_of(args)
    texts, labels = zip(*read_reviews(data_dir(args.data_dir), corpus, split), strict=True)
    found = shared_lines(partial(classify_lines, checkpoint.model, checkpoint.tokenizers), texts, team)
    return {"examples": len(texts), "accuracy": accuracy(found, labels)}
