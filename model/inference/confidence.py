"""Whether a translator can read a text well: what is told, quietly, beside a translation that may be nonsense.

A model that meets another language, or words that it never read, spreads its probability: eight in ten sentences of
another language get less of it than all but one in fifty of those that it was validated on.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np

from model.checkpoints.checkpoint import Checkpoint
from model.inference.searching import GREEDY, best_hypotheses
from model.inference.tokens import Token
from model.inference.translation import Translation
from model.text.encoding import Encoding

__all__ = [
    "LOW_PERCENTILE",
    "MAX_UNREAD_SHARE",
    "USUAL_CONFIDENCE",
    "LowConfidence",
    "confidence",
    "low_confidence",
    "unread_share",
    "usual_confidence",
]

# Why a translation may be poor: another script, characters outside the vocabulary, an unsure model, or no reason.
LowConfidence = Literal["script", "pieces", "unsure", ""]
USUAL_CONFIDENCE = "usual_certainty"  # the figure in config.json, see `usual_confidence`
LOW_PERCENTILE = 2  # percent of the validation sentences that are doubted
SCRIPTS = {"de": "LATIN", "en": "LATIN", "zh": "CJK"}  # language → first word of the Unicode names of its letters
MAX_FOREIGN_SHARE, MAX_UNREAD_SHARE = 0.5, 0.4  # shares of the letters, and of the characters, that are too many


def confidence(written: Sequence[Token]) -> float:
    """Geometric mean of the model's own probabilities of what it wrote, `</s>` included; 1 of nothing."""
    return math.exp(np.mean([math.log(max(token.probability, 1e-30)) for token in written])) if written else 1.0


def usual_confidence(checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """The certainty that all but `LOW_PERCENTILE` percent of the greedy translations of ordinary texts exceed."""
    found = best_hypotheses(checkpoint.model, checkpoint.tokenizers, texts, search=GREEDY)
    means = [np.mean(hypothesis.log_probs) for hypothesis in found if hypothesis is not None]
    return float(np.exp(np.percentile(means, LOW_PERCENTILE)))


def low_confidence(checkpoint: Checkpoint, text: str, translation: Translation) -> LowConfidence:
    """The first of the reasons to mistrust the translation of a text, or nothing.

    Args:
        checkpoint: Where its certainty was never measured, a text is doubted for its letters and characters alone.
        text: What was translated.
        translation: Of it, without anything forced, edited or drawn at random.
    """
    tokenizers = checkpoint.tokenizers
    if foreign_share(text, checkpoint.config.tokenizer.source_language) > MAX_FOREIGN_SHARE:
        return "script"
    if unread_share(tokenizers.source.encode(text), text, unknown=tokenizers.specials.unknown) > MAX_UNREAD_SHARE:
        return "pieces"
    return "unsure" if confidence(translation.written) < checkpoint.config.figures.get(USUAL_CONFIDENCE, 0.0) else ""


def foreign_share(text: str, language: str) -> float:
    """Share of the letters that are not of the language's script; 0 of a language whose script is not known here."""
    names = [unicodedata.name(character, "") for character in text if character.isalpha()]
    own = SCRIPTS.get(language, "")
    return sum(not name.startswith(own) for name in names) / max(len(names), 1)


def unread_share(encoding: Encoding, text: str, *, unknown: int | None) -> float:
    """Share of the characters that no token of the vocabulary holds: cut into bytes, or a part of an unknown word."""
    unread, tokens_of = set[int](), Counter(encoding.offsets)
    for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        if token == unknown or (end - start == 1 and tokens_of[start, end] > 1):
            unread.update(range(start, end))
    return len(unread) / max(sum(not character.isspace() for character in text), 1)
