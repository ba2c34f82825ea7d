"""A corpus from sentences of one language alone: what is to be written is by people, what is read is a model's.

"Improving Neural Machine Translation Models with Monolingual Data" (Sennrich et al. 2016, P16-1009): mistakes in what
is read teach no wrong English.
"""

from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.corpora.corpora import TATOEBA, CorpusError, find_side, kept_apart, read_lines, write_pairs
from model.corpora.overlap import Pair, sides, without
from model.inference.translate import translate_lines

__all__ = ["backtranslate"]

CHUNK = 1000  # lines between two movements of the progress bar


def backtranslate(
    checkpoint: Checkpoint, *, data_root: Path, corpus: str, search: SearchConfig, apart: Sequence[str] = ()
) -> Path:
    """Write the corpus `<corpus>-back-<language>`, whose one split is `train`.

    Args:
        checkpoint: Translates the other way than the model that will learn: from its target to its source language.
        data_root: Folder of the corpora.
        corpus: Its training sentences in the language that the checkpoint reads are the new corpus's target side.
        search: How the checkpoint translates.
        apart: Corpora in both languages; of what they hold beside their training part no sentence comes in.

    Returns:
        The new folder.

    Raises:
        CorpusError: a corpus cannot be read or is several, or the new one is there already or cannot be written; then
            nothing is left behind.
    """
    written, read = checkpoint.config.tokenizer.source_language, checkpoint.config.tokenizer.target_language
    folder = data_root / f"{corpus}-back-{read}"
    if "+" in corpus or corpus in TATOEBA:
        raise CorpusError(f"{corpus} is not one folder with a file train.{written}; name such a one.")
    if folder.exists():
        raise CorpusError(f"{folder} is there already; remove it to make it anew.")
    held_out = {side for name in apart for side in sides(kept_apart(data_root, name, read, written))}
    sentences = [line for line in dict.fromkeys(read_lines(find_side(data_root, corpus, "train", written))) if line]
    pairs: list[Pair] = []
    for start in tqdm(range(0, len(sentences), CHUNK), unit=" lines", unit_scale=CHUNK):
        chunk = sentences[start : start + CHUNK]
        found = translate_lines(checkpoint.model, checkpoint.tokenizers, chunk, search=search)
        pairs += [(" ".join(a.split()), b) for a, b in zip(found, chunk, strict=True) if a.strip()]
    write_pairs(folder, {"train": list(without(pairs, held_out))}, (read, written))
    return folder
