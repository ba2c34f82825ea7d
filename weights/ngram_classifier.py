"""A classifier that counts words, pairs and triples: simple, fast to train, and hard to beat on long texts.

It follows "Baselines and Bigrams" (Wang and Manning 2012, P12-2018, section 2): an n-gram counts more if it is much
more frequent in one class than in the other. Theirs is an SVM over words and pairs; this is a logistic regression that
also uses triples.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from model.corpora.corpora import CorpusError

__all__ = ["NgramClassifier"]

Grams = NDArray[np.uint64]

WORD = re.compile(r"n't|\w+|[!?.,;:]")
FEWEST_TEXTS = 2  # an n-gram of a single text teaches nothing about other texts
SMOOTHING = 1.0  # added to the number of texts of each n-gram
STRENGTH = 0.1  # of the data, compared with the L2 penalty of the weights
ROUNDS = 60


@dataclass(frozen=True, kw_only=True)
class NgramClassifier:
    """A weight for each n-gram of the training texts."""

    grams: Grams  # (N,), ascending
    weights: NDArray[np.float32]  # (N,), positive for class 1
    bias: float

    @classmethod
    def learn(cls, texts: Sequence[str], labels: Sequence[float]) -> "NgramClassifier":
        """Learn from texts with the labels 0 and 1. 30,000 texts of about 170 words take 1.7 GB of memory.

        Raises:
            CorpusError: no n-gram occurs in enough texts.
        """
        found = [grams_of(text) for text in texts]
        together = np.concatenate([np.empty(0, dtype=np.uint64), *found])
        grams, columns, counts = np.unique(together, return_inverse=True, return_counts=True)
        kept = counts >= FEWEST_TEXTS
        if not kept.any():
            raise CorpusError(
                f"No word occurs in {FEWEST_TEXTS} of the {len(texts)} texts. There are too few texts to learn from."
            )
        numbers = np.cumsum(kept) - 1
        texts_of = np.repeat(np.arange(len(found)), [len(row) for row in found])[kept[columns]]
        columns = numbers[columns[kept[columns]]]
        classes = np.asarray(labels)
        ratio = log_ratio(columns, classes[texts_of], size=int(kept.sum()))
        weights, bias = regression(
            torch.from_numpy(columns), torch.from_numpy(texts_of), torch.from_numpy(ratio), torch.from_numpy(classes)
        )
        return cls(grams=grams[kept], weights=weights.numpy() * ratio, bias=bias)

    def probability(self, text: str) -> float:
        """The probability of class 1."""
        found = grams_of(text)
        places = np.searchsorted(self.grams, found).clip(max=len(self.grams) - 1)
        score = self.bias + float(self.weights[places[self.grams[places] == found]].sum())
        return float(1 / (1 + np.exp(-score)))


@lru_cache(maxsize=300_000)
def number_of(word: str) -> int:
    return crc32(word.encode())


def grams_of(text: str) -> Grams:
    """The different words, pairs and triples of a text, as 64-bit numbers."""
    words = np.array([number_of(word) for word in WORD.findall(text.lower().replace("n't", " n't"))], dtype=np.uint64)
    # The products wrap around at 2⁶⁴. Among a few million n-grams, equal numbers are very rare.
    pairs = words[:-1] * np.uint64(0x9E3779B97F4A7C15) + words[1:]
    triples = pairs[:-1] * np.uint64(0xC2B2AE3D27D4EB4F) + words[2:]
    return np.unique(np.concatenate([words, pairs, triples]))


def log_ratio(columns: NDArray[np.int64], classes: NDArray[np.int64], *, size: int) -> NDArray[np.float32]:
    """The log-count ratio of each n-gram, (N,): positive if it is more frequent in class 1."""
    first, second = (np.bincount(columns[classes == c], minlength=size) + SMOOTHING for c in (1, 0))
    return np.log((first / first.sum()) / (second / second.sum())).astype(np.float32)


def regression(columns: Tensor, texts: Tensor, ratio: Tensor, labels: Tensor) -> tuple[Tensor, float]:
    """Logistic regression: a weight for each n-gram, and the bias. The n-grams of the texts are in one array."""
    starts = torch.searchsorted(texts, torch.arange(len(labels)))
    weights, bias = torch.zeros_like(ratio).requires_grad_(), torch.zeros(1).requires_grad_()
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=ROUNDS, line_search_fn="strong_wolfe")
    targets = labels.float()

    def loss() -> Tensor:
        optimizer.zero_grad()
        scores = F.embedding_bag(columns, (weights * ratio)[:, None], starts, mode="sum").squeeze(1) + bias  # (texts,)
        errors = F.binary_cross_entropy_with_logits(scores, targets, reduction="sum")
        total = STRENGTH * errors + 0.5 * (weights.square().sum() + bias.square().sum())
        total.backward()
        return total.detach()

    optimizer.step(loss)
    return weights.detach(), bias.item()
