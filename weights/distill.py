"""A corpus for a small model to learn from a larger one: beside each reference stands what the larger one writes.

"Sequence-Level Knowledge Distillation" (Kim and Rush 2016): a teacher translates in the same way each time, which is
easier to learn than the choices of many people.
"""

from pathlib import Path

from tqdm import tqdm

from model.checkpoints.checkpoint import Checkpoint
from model.config.run import DISTILLED
from model.config.search import SearchConfig
from model.corpora.corpora import CorpusError, read_pairs, write_pairs
from model.inference.translate import translate_lines

__all__ = ["distill"]

CHUNK = 2000  # lines between two movements of the progress bar


def distill(checkpoint: Checkpoint, *, data_root: Path, corpus: str, search: SearchConfig) -> Path:
    """Write the corpus `<corpus>-distilled`: every training pair, and once more with the teacher's translation.

    Args:
        checkpoint: The teacher.
        data_root: Folder of the corpora.
        corpus: With a training and a validation split; the latter is taken over as it is.
        search: How the teacher translates.

    Returns:
        The new folder.

    Raises:
        CorpusError: the corpus cannot be read or is several, or the new one is there already or cannot be written; then
            nothing is left behind.
    """
    languages = (checkpoint.config.tokenizer.source_language, checkpoint.config.tokenizer.target_language)
    folder = data_root / f"{corpus}{DISTILLED}"
    if "+" in corpus:
        raise CorpusError(f"{corpus} is several corpora; distil them one by one.")
    if folder.exists():
        raise CorpusError(f"{folder} is there already; remove it to make it anew.")
    splits = {split: read_pairs(data_root, corpus, split, *languages) for split in ("train", "val")}
    sources = [source for source, _ in splits["train"]]
    for start in tqdm(range(0, len(sources), CHUNK), unit=" lines", unit_scale=CHUNK):
        chunk = sources[start : start + CHUNK]
        written = translate_lines(checkpoint.model, checkpoint.tokenizers, chunk, search=search)
        splits["train"] += [(a, " ".join(b.split())) for a, b in zip(chunk, written, strict=True) if b.strip()]
    write_pairs(folder, splits, languages)
    return folder
