"""What decides the class of a text: how its probability changes when one word is deleted (leave-one-out)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from model.checkpoints.checkpoint import ClassifierCheckpoint
from model.corpora.examples import shortened
from model.inference.classify import classify, probabilities_of
from model.inference.padding import padded_for

__all__ = ["Deletion", "delete_each_word", "word_spans"]

MOST_TOKENS = 8_192  # in one batch


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A text without one of its words."""

    word: str
    change: float  # of the probability of the class that the whole text has; below 0, it falls
    label: str  # the class without the word


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end; its characters where no blanks part words."""
    found = [match.span() for match in re.finditer(r"\S+", text)]
    return found if len(found) > 1 else [match.span() for match in re.finditer(r"\S", text)]


@torch.inference_mode()
def delete_each_word(checkpoint: ClassifierCheckpoint, text: str, *, most: int) -> list[Deletion]:
    """Classify a text again and again, each time without another word.

    Args:
        checkpoint: A classifier; never changed.
        text: Anything.
        most: How many words are deleted, the first ones. None where the text has a single word.
    """
    model, tokenizer, specials = checkpoint.model, checkpoint.tokenizers.source, checkpoint.tokenizers.specials
    whole = classify(checkpoint, text)
    labels = list(whole.probabilities)
    spans = word_spans(text)
    if len(spans) < 2:  # nothing would be left
        return []
    ids = [
        shortened(tokenizer.encode(text[:start] + text[end:].lstrip()).ids, model.config.max_length, specials)
        for start, end in spans[:most]
    ]
    size = max(1, MOST_TOKENS // max(map(len, ids), default=1))
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
        for (start, end), row in zip(spans[:most], rows, strict=True)
    ]
