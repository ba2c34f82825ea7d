"""Writes corpora in which a checkpoint wrote one side of each pair."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from model.checkpoints.checkpoint import Checkpoint
from model.config.run import CorpusName
from model.config.search import SearchConfig
from model.corpora.corpora import (
    TATOEBA,
    CorpusError,
    find_side,
    kept_apart,
    read_lines,
    read_pairs,
    require_new,
    write_pairs,
)
from model.corpora.overlap import Pair, sides, without
from model.inference.translate import translate_lines

__all__ = ["backtranslate", "distill"]

CHUNK = 1000  # lines between two updates of the progress bar


def translated(checkpoint: Checkpoint, sentences: Sequence[str], search: SearchConfig) -> Iterator[Pair]:
    """Each sentence with its translation, except where the checkpoint writes nothing."""
    for start in tqdm(range(0, len(sentences), CHUNK), unit=" lines", unit_scale=CHUNK):
        chunk = sentences[start : start + CHUNK]
        written = translate_lines(checkpoint.model, checkpoint.tokenizers, chunk, search=search)
        yield from ((a, " ".join(b.split())) for a, b in zip(chunk, written, strict=True) if b.strip())


def distill(checkpoint: Checkpoint, *, data_root: Path, corpus: str, search: SearchConfig) -> Path:
    """Write the corpus `<corpus>-distilled`: every training pair, and again with the teacher's translation.

    "Sequence-Level Knowledge Distillation" (Kim and Rush 2016): a teacher always translates in the same way. This is
    easier for a small model to learn than the choices of many people.

    Args:
        checkpoint: The teacher.
        data_root: Folder of the corpora.
        corpus: A corpus with a training and a validation split. The validation split is copied.
        search: How the teacher translates.

    Returns:
        The new folder.

    Raises:
        CorpusError: the corpus cannot be read or consists of several, or the new folder exists already or cannot be
            written. Then nothing is written.
    """
    languages = checkpoint.config.tokenizer.source_language, checkpoint.config.tokenizer.target_language
    folder = data_root / CorpusName(corpus).distilled().name
    if "+" in corpus:
        raise CorpusError(f"{corpus} names several corpora. Distil them one by one.")
    require_new(folder)
    splits = {split: read_pairs(data_root, corpus, split, *languages) for split in ("train", "val")}
    splits["train"] += translated(checkpoint, [source for source, _ in splits["train"]], search)
    write_pairs(folder, splits, languages)
    return folder


def backtranslate(
    checkpoint: Checkpoint, *, data_root: Path, corpus: str, search: SearchConfig, apart: Sequence[str] = ()
) -> Path:
    """Write the corpus `<corpus>-back-<language>`: people wrote the target, and a model translates it into the source.

    "Improving Neural Machine Translation Models with Monolingual Data" (Sennrich et al. 2016, P16-1009): mistakes in
    the source do not teach the model to write wrong sentences. The corpus has only the split `train`.

    Args:
        checkpoint: It translates in the opposite direction: from the target to the source language of the new corpus.
        data_root: Folder of the corpora.
        corpus: Its training sentences in the language that the checkpoint reads become the target side.
        search: How the checkpoint translates.
        apart: Corpora in both languages. Sentences of their validation and test parts are left out.

    Returns:
        The new folder.

    Raises:
        CorpusError: a corpus cannot be read or consists of several, or the new folder exists already or cannot be
            written. Then nothing is written.
    """
    written, read = checkpoint.config.tokenizer.source_language, checkpoint.config.tokenizer.target_language
    folder = data_root / CorpusName(corpus).back_translated_into(read).name
    if "+" in corpus or corpus in TATOEBA:
        raise CorpusError(f"{corpus} is not a folder with a file train.{written}. Name one such folder.")
    require_new(folder)
    held_out = {side for name in apart for side in sides(kept_apart(data_root, name, read, written))}
    sentences = [line for line in dict.fromkeys(read_lines(find_side(data_root, corpus, "train", written))) if line]
    pairs = [(source, target) for target, source in translated(checkpoint, sentences, search)]
    write_pairs(folder, {"train": list(without(pairs, held_out))}, (read, written))
    return folder
