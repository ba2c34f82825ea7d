"""Writes a corpus from which a small model learns from a larger one: references and translations by the larger model.

"Sequence-Level Knowledge Distillation" (Kim and Rush 2016): a teacher always translates in the same way. This is easier
to learn than the choices of many people.
"""

from pathlib import Path

from tqdm import tqdm

from model.checkpoints.checkpoint import Checkpoint
from model.config.corpus import CorpusName
from model.config.search import SearchConfig
from model.corpora.corpora import CorpusError, read_pairs, write_pairs
from model.inference.translate import translate_lines

__all__ = ["distill"]

CHUNK = 2000  # lines between two updates of the progress bar


def distill(checkpoint: Checkpoint, *, data_root: Path, corpus: str, search: SearchConfig) -> Path:
    """Write the corpus `<corpus>-distilled`: every training pair, and again with the teacher's translation.

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
    languages = (checkpoint.config.tokenizer.source_language, checkpoint.config.tokenizer.target_language)
    folder = data_root / CorpusName(corpus).distilled().name
    if "+" in corpus:
        raise CorpusError(f"{corpus} names several corpora. Distil them one by one.")
    if folder.exists():
        raise CorpusError(f"{folder} exists already. Remove it to write the corpus again.")
    splits = {split: read_pairs(data_root, corpus, split, *languages) for split in ("train", "val")}
    sources = [source for source, _ in splits["train"]]
    for start in tqdm(range(0, len(sources), CHUNK), unit=" lines", unit_scale=CHUNK):
        chunk = sources[start : start + CHUNK]
        written = translate_lines(checkpoint.model, checkpoint.tokenizers, chunk, search=search)
        splits["train"] += [(a, " ".join(b.split())) for a, b in zip(chunk, written, strict=True) if b.strip()]
    write_pairs(folder, splits, languages)
    return folder
