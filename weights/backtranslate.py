"""Writes a corpus from sentences of one language: people wrote the target, and a model translates it into the source.

"Improving Neural Machine Translation Models with Monolingual Data" (Sennrich et al. 2016, P16-1009): mistakes in the
source do not teach the model to write wrong sentences.
"""

from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from model.checkpoints.checkpoint import Checkpoint
from model.config.corpus import CorpusName
from model.config.search import SearchConfig
from model.corpora.corpora import TATOEBA, CorpusError, find_side, kept_apart, read_lines, write_pairs
from model.corpora.overlap import Pair, sides, without
from model.inference.translate import translate_lines

__all__ = ["backtranslate"]

CHUNK = 1000  # lines between two updates of the progress bar


def backtranslate(
    checkpoint: Checkpoint, *, data_root: Path, corpus: str, search: SearchConfig, apart: Sequence[str] = ()
) -> Path:
    """Write the corpus `<corpus>-back-<language>`. It has only the split `train`.

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
    if folder.exists():
        raise CorpusError(f"{folder} exists already. Remove it to write the corpus again.")
    held_out = {side for name in apart for side in sides(kept_apart(data_root, name, read, written))}
    sentences = [line for line in dict.fromkeys(read_lines(find_side(data_root, corpus, "train", written))) if line]
    pairs: list[Pair] = []
    for start in tqdm(range(0, len(sentences), CHUNK), unit=" lines", unit_scale=CHUNK):
        chunk = sentences[start : start + CHUNK]
        found = translate_lines(checkpoint.model, checkpoint.tokenizers, chunk, search=search)
        pairs += [(" ".join(a.split()), b) for a, b in zip(found, chunk, strict=True) if a.strip()]
    write_pairs(folder, {"train": list(without(pairs, held_out))}, (read, written))
    return folder
