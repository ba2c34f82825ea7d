"""Word alignment by attention: which source word each head gives the most weight for a target word.

The model is forced to write a human translation. The weights for a target word can be taken at the step that writes it,
or one step later, when the decoder reads it. The later step is often better, because the decoder then knows the word
(Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from model.analysis.availability import require_cross_attention
from model.analysis.followed import Followed, run_names
from model.analysis.importance import Report
from model.analysis.influence import influence
from model.analysis.statistics import merge_tokens, translation_rollout
from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.corpora.aligned import AlignedPair, Links, read_aligned
from model.corpora.corpora import CorpusError
from model.inference.run import FloatArray, Result, Run
from model.inference.translate import forced_ids, record_translation
from model.text.encoding import Encoding

__all__ = ["WHEN", "Pointer", "aligned_pairs", "link_all_pairs", "link_words"]

WHEN = ("written", "read")


@dataclass(frozen=True, order=True)
class Pointer:
    """What links the words: one head of the cross-attention, or a summary of all heads."""

    name: str  # "head", "mean of all heads", "rollout" or "ALTI+"
    when: str  # one of `WHEN`: the step that writes the target word, or the step that reads it
    layer: int = -1  # of a head, counted from 0
    head: int = -1


def aligned_pairs(checkpoint: Checkpoint) -> tuple[AlignedPair, ...]:
    """Pairs of sentences in the checkpoint's languages that people aligned by hand; may be empty."""
    languages = checkpoint.config.tokenizer
    try:
        return read_aligned(languages.source_language, languages.target_language)
    except CorpusError:
        return ()


def link_all_pairs(
    checkpoint: Checkpoint, *, report: Report = lambda done, pairs: None
) -> tuple[Mapping[Pointer, Links], ...]:
    """`link_words` for each of the `aligned_pairs`; `report` gets the number of pairs done and of all pairs."""
    pairs, found = aligned_pairs(checkpoint), []
    for done, pair in enumerate(pairs):
        report(done, len(pairs))
        found.append(link_words(checkpoint, pair))
    return tuple(found)


def link_words(checkpoint: Checkpoint, pair: AlignedPair) -> dict[Pointer, Links]:
    """Link each target word to the source word with the most weight. Special tokens are left out.

    Args:
        checkpoint: A translator with cross-attention; never changed.
        pair: The words of a sentence and of its translation, which the model is forced to write.

    Returns:
        Pointer → pairs of (source word, target word), counted from 0.

    Raises:
        ConfigError: there is no cross-attention, or the model has too few positions for the text.
    """
    require_cross_attention(checkpoint)
    source, target = join_words(pair.source), join_words(pair.target)
    read, written = checkpoint.tokenizers.source.encode(source), checkpoint.tokenizers.target.encode(target)
    specials, forced = checkpoint.tokenizers.specials, forced_ids(checkpoint.tokenizers, target)
    try:
        names = run_names(checkpoint.model)
    except ConfigError:  # the blocks of the model are not known
        names = ()
    translation, recording = record_translation(checkpoint, source, record=names, forced=forced)
    if not translation.finished or translation.dropped:
        raise ConfigError(
            "{checkpoint} has {max_length} positions. The sentence has {source} tokens and its translation has "
            "{target}, which is too many. Shorten both.",
            checkpoint=checkpoint.name,
            max_length=checkpoint.model.config.max_length,
            source=len(read.ids),
            target=len(written.ids),
        )
    maps = pointer_maps(translation)
    if names:
        run, arrays = Run(text=source, forced=tuple(forced.items())), recording.arrays()
        text = Followed(
            checkpoint=checkpoint,
            run=run,
            result=translation,
            record=lambda: arrays,
            record_layer=lambda stack, layer: arrays,
        )
        maps["ALTI+", -1, -1] = influence(text).source.astype(np.float32)
    rows, columns = word_per_token(written, target, pair.target), word_per_token(read, source, pair.source)
    before, start = len(specials.before), int(specials.first is not None)
    return {
        Pointer(name, when, layer, head): strongest_links(
            weights[start + (when == "read") :][: len(rows), before : before + len(columns)], rows, columns
        )
        for (name, layer, head), weights in maps.items()
        for when in WHEN
    }


def pointer_maps(translation: Result) -> dict[tuple[str, int, int], FloatArray]:
    """The weights (T, S) of each head, of the mean of all heads and of the rollout, by (name, layer, head)."""
    cross = translation.maps["cross"]  # (L, H, T, S)
    maps: dict[tuple[str, int, int], FloatArray] = {
        ("head", layer, head): cross[layer, head] for layer in range(len(cross)) for head in range(cross.shape[1])
    }
    maps["mean of all heads", -1, -1] = cross.mean(axis=(0, 1))
    if {"encoder", "decoder"} <= set(translation.maps):
        _, source_shares = translation_rollout(translation.maps["encoder"], translation.maps["decoder"], cross)
        maps["rollout", -1, -1] = source_shares[-1]
    return maps


def join_words(words: Sequence[str]) -> str:
    """Words as a text, without a space before punctuation."""
    text = ""
    for word in words:
        text += word if not text or word in ".,!?;:" else f" {word}"
    return text


def word_per_token(encoding: Encoding, text: str, words: Sequence[str]) -> list[int]:
    """For each token, the index of its word."""
    ends, end = [], 0
    for word in words:
        end = text.index(word, end) + len(word)
        ends.append(end)
    return [next(i for i, end in enumerate(ends) if start < end) for start, _ in encoding.offsets]


def strongest_links(weights: FloatArray, rows: Sequence[int], columns: Sequence[int]) -> Links:
    """Link each target word to the source word with the most weight.

    Args:
        weights: Of tokens, (T, S). The tokens of a word are summed as keys and averaged as queries.
        rows: The target word of each of the T tokens.
        columns: The source word of each of the S tokens.
    """
    merged = merge_tokens(weights, rows, columns)  # (T', S')
    return frozenset((int(source), target) for target, source in enumerate(merged.argmax(axis=1)))
