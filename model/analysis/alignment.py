"""Which source word each head points at, and how often it is the one that was translated.

A person's translation is forced upon the model. A head can be asked when a word is written, which the query before it
does, and one step later, when it is read (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine
Translation"): often only then does it know which word it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.analysis.availability import require_cross_attention
from model.analysis.influence import influence
from model.analysis.statistics import merge_tokens, translation_rollout
from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.corpora.aligned import AlignedPair, Links
from model.inference.searching import forced_ids
from model.inference.translate import translate
from model.network.transformer import Transformer
from model.text.encoding import Encoding

__all__ = ["WHEN", "Pointer", "link_words"]

FloatArray = NDArray[np.float32]
WHEN = ("written", "read")


@dataclass(frozen=True, order=True)
class Pointer:
    """What points: a head of the cross-attention, or one of the ways to sum up all."""

    name: str  # "head", "mean of all heads", "rollout" or "ALTI+"
    when: str  # one of `WHEN`
    layer: int = -1  # of a head, counted from 0
    head: int = -1


def link_words(checkpoint: Checkpoint, pair: AlignedPair) -> dict[Pointer, Links]:
    """Each target word to the source word that a pointer gives the most weight; special tokens are left out.

    Args:
        checkpoint: A translator with cross-attention; never changed.
        pair: Its words are forced, as a text.

    Raises:
        ConfigError: there is no cross-attention, or there are too few positions for the text.
    """
    require_cross_attention(checkpoint)
    source, target = joined(pair.source), joined(pair.target)
    pieces, written = checkpoint.tokenizers.source.encode(source), checkpoint.tokenizers.target.encode(target)
    specials, forced = checkpoint.tokenizers.specials, forced_ids(checkpoint.tokenizers, target)
    followed = isinstance(checkpoint.model, Transformer)
    translation, shares = influence(checkpoint, source, forced) if followed else (None, None)
    translation = translation or translate(checkpoint, source, forced=forced)
    if not translation.finished or translation.dropped:
        raise ConfigError(
            f"{checkpoint.name} has {checkpoint.model.config.max_length} positions. The sentence has {len(pieces.ids)} "
            f"tokens and its translation has {len(written.ids)}, which is too many. Shorten both."
        )
    cross = translation.maps["cross"]  # (L, H, T, S)
    maps: dict[tuple[str, int, int], FloatArray] = {
        ("head", layer, head): cross[layer, head] for layer in range(len(cross)) for head in range(cross.shape[1])
    }
    maps["mean of all heads", -1, -1] = cross.mean(axis=(0, 1))
    if {"encoder", "decoder"} <= set(translation.maps):
        _, reached = translation_rollout(translation.maps["encoder"], translation.maps["decoder"], cross)
        maps["rollout", -1, -1] = reached[-1]
    if shares is not None:
        maps["ALTI+", -1, -1] = shares.source.astype(np.float32)
    rows, columns = words_at(written, target, pair.target), words_at(pieces, source, pair.source)
    before, start = len(specials.before), int(specials.first is not None)
    return {
        Pointer(name, when, layer, head): pointed(
            weights[start + (when == "read") :][: len(rows), before : before + len(columns)], rows, columns
        )
        for (name, layer, head), weights in maps.items()
        for when in WHEN
    }


def joined(words: Sequence[str]) -> str:
    """Words as a text: no space before a full stop or a comma."""
    text = ""
    for word in words:
        text += word if not text or word in ".,!?;:" else f" {word}"
    return text


def words_at(encoding: Encoding, text: str, words: Sequence[str]) -> list[int]:
    """For each token the number of the word that it is of."""
    ends, at = [], 0
    for word in words:
        at = text.index(word, at) + len(word)
        ends.append(at)
    return [next(i for i, end in enumerate(ends) if start < end) for start, _ in encoding.offsets]


def pointed(weights: FloatArray, rows: Sequence[int], columns: Sequence[int]) -> Links:
    """(T, S) of tokens to the largest weight of each word: pieces added up as keys, averaged as queries."""
    merged = merge_tokens(weights, rows, columns)  # (T', S')
    return frozenset((int(source), target) for target, source in enumerate(merged.argmax(axis=1)))
