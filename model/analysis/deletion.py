"""Which words decide the class of a text: how its probability changes when one word is deleted (leave-one-out)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from model.checkpoints.checkpoint import ClassifierCheckpoint
from model.corpora.examples import shortened
from model.inference.classify import classify, probabilities_of
from model.inference.padding import padded_for

__all__ = ["Deletion", "delete_each_word", "word_spans"]

MAX_TOKENS = 8_192  # in one batch


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A text without one of its words."""

    word: str
    change: float  # of the probability of the whole text's class; below 0, it falls
    label: str  # the class without the word


def word_spans(text: str) -> list[tuple[int, int]]:
    """The start and end of each word; of each character where no spaces separate words, as in Chinese."""
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    return spans if len(spans) > 1 else [match.span() for match in re.finditer(r"\S", text)]


@torch.inference_mode()
def delete_each_word(checkpoint: ClassifierCheckpoint, text: str, *, max_words: int) -> list[Deletion]:
    """Classify a text without its first word, without its second word and so on.

    Args:
        checkpoint: A classifier; never changed.
        text: Any text.
        max_words: How many words are deleted at most, from the start of the text.

    Returns:
        One deletion per word; none where the text has a single word.
    """
    model, tokenizer, specials = checkpoint.model, checkpoint.tokenizers.source, checkpoint.tokenizers.specials
    whole = classify(checkpoint, text)
    labels = list(whole.probabilities)
    spans = word_spans(text)
    if len(spans) < 2:  # nothing would be left
        return []
    ids = [
        shortened(tokenizer.encode(text[:start] + text[end:].lstrip()).ids, model.config.max_length, specials)
        for start, end in spans[:max_words]
    ]
    size = max(1, MAX_TOKENS // max(map(len, ids), default=1))
    rows: list[Sequence[float]] = []
    for start in range(0, len(ids), size):
        logits = model(padded_for(model, ids[start : start + size]))
        rows += probabilities_of(model, logits).tolist()
    own = labels.index(whole.label)
    return [
        Deletion(
            word=text[start:end],
            change=row[own] - whole.probabilities[whole.label],
            label=labels[max(range(len(labels)), key=row.__getitem__)],
        )
        for (start, end), row in zip(spans[:max_words], rows, strict=True)
    ]
