"""Whether a translation may be poor, because the text is in another language or the model is unsure.

A model that reads another language, or words that it does not know, gives its own tokens low probabilities. For 80 % of
the sentences in another language, they are lower than for 98 % of the validation sentences.
"""

import math
import unicodedata
from collections.abc import Sequence
from typing import Literal

import numpy as np

from model.checkpoints.checkpoint import Checkpoint
from model.config.search import GREEDY
from model.inference.run import Result, Token
from model.inference.translate import best_hypotheses

__all__ = [
    "LOW_PERCENTILE",
    "MAX_UNREAD_SHARE",
    "USUAL_CONFIDENCE",
    "LowConfidence",
    "confidence",
    "low_confidence",
    "usual_confidence",
]

# Why a translation may be poor: another script, characters outside the vocabulary, an unsure model, or no reason.
LowConfidence = Literal["script", "vocabulary", "unsure", ""]
USUAL_CONFIDENCE = "usual_certainty"  # its key in config.json; see `usual_confidence`
LOW_PERCENTILE = 2  # percent of the validation sentences with low confidence
SCRIPTS = {"de": "LATIN", "en": "LATIN", "zh": "CJK"}  # language → first word of the Unicode names of its letters
MAX_FOREIGN_SHARE, MAX_UNREAD_SHARE = 0.5, 0.4  # of the letters; of the characters


def confidence(written: Sequence[Token]) -> float:
    """The geometric mean of the probabilities of the written tokens, with `</s>`; 1 without tokens."""
    return math.exp(np.mean([math.log(max(token.probability, 1e-30)) for token in written])) if written else 1.0


def usual_confidence(checkpoint: Checkpoint, texts: Sequence[str]) -> float:
    """The confidence that all but `LOW_PERCENTILE` percent of greedy translations exceed.

    Args:
        checkpoint: A translator; never changed.
        texts: Ordinary texts, such as the validation sentences.
    """
    hypotheses = best_hypotheses(checkpoint.model, checkpoint.tokenizers, texts, search=GREEDY)
    means = [np.mean(hypothesis.log_probs) for hypothesis in hypotheses if hypothesis is not None]
    return float(np.exp(np.percentile(means, LOW_PERCENTILE)))


def low_confidence(checkpoint: Checkpoint, text: str, translation: Result) -> LowConfidence:
    """The first reason why a translation may be poor, or "".

    Args:
        checkpoint: The translator. Without a measured `usual_confidence`, only the text is checked.
        text: The source.
        translation: Its translation, without forced tokens, edits or sampling.
    """
    tokenizers = checkpoint.tokenizers
    if foreign_share(text, checkpoint.config.tokenizer.source_language) > MAX_FOREIGN_SHARE:
        return "script"
    if tokenizers.source.encode(text).unread_share(text, unknown=tokenizers.specials.unknown) > MAX_UNREAD_SHARE:
        return "vocabulary"
    return "unsure" if confidence(translation.written) < checkpoint.config.figures.get(USUAL_CONFIDENCE, 0.0) else ""


def foreign_share(text: str, language: str) -> float:
    """The share of the letters in another script than that of the language; 0 for a language without a known script."""
    names = [unicodedata.name(character, "") for character in text if character.isalpha()]
    own = SCRIPTS.get(language, "")
    return sum(not name.startswith(own) for name in names) / max(len(names), 1)
