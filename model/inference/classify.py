"""Text in, class and trace out: the classifier's facade, as `model/inference/translate.py` is the translator's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.checkpoints.checkpoint import ClassifierCheckpoint
from model.corpora.examples import shortened
from model.inference.confidence import unread_share
from model.inference.padding import padded_for
from model.network.classifier import Classifier
from model.network.translator import Translator
from model.text.tokenizers import TokenizerPair
from model.trace import Edit, Trace, hook_name, tracing

__all__ = ["Classification", "classify", "classify_lines", "probabilities_of"]

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Classification:
    """The class of a text with the attention that led to it. Rows are queries, columns are keys; rows sum to 1."""

    label: str  # the most probable
    probabilities: Mapping[str, float]  # of every label; they sum to 1 unless `several_labels`
    several_labels: bool  # each has a probability of its own
    tokens: tuple[str, ...]  # S, `</s>` last
    encoder: FloatArray  # (L, H, S, S)
    allowed: NDArray[np.bool_]  # (L, S, S): False where a window forbids a query to look at a key
    pooled_by: Literal["attention", "mean", "first"]  # a learned query, the mean of all vectors, or the first vector
    pooling: FloatArray | None  # (H, S), what the learned query looks at; None where the mean is taken
    dropped: int  # tokens left out of the middle of a text that is too long
    unread: float  # share of the characters that no token of the vocabulary holds


@torch.inference_mode()
def classify(checkpoint: ClassifierCheckpoint, text: str, *, edits: Mapping[str, Edit] | None = None) -> Classification:
    """Classify one text and keep every attention map of the pass that did it.

    Args:
        checkpoint: A loaded classifier; never changed.
        text: Anything, even nothing.
        edits: See `tracing`.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizers.source
    encoding, specials = tokenizer.encode(text), checkpoint.tokenizers.specials
    encoded = encoding.ids
    ids = shortened(encoded, model.config.max_length, specials)
    with tracing(record=("*.weights", "*.mask"), edits=edits) as trace:
        logits = model(padded_for(model, [ids]))[0]  # (C,)
    by_label = dict(zip(model.config.labels, probabilities_of(model, logits).tolist(), strict=True))
    names = [hook_name("encoder", layer, "weights") for layer in range(model.config.num_encoder_layers)]
    return Classification(
        label=max(by_label, key=lambda label: by_label[label]),
        probabilities=by_label,
        tokens=tokenizer.tokens(ids),
        encoder=torch.cat([trace.passes(name)[0] for name in names]).numpy(),
        allowed=allowed_in(trace, model.config.num_encoder_layers, len(ids)),
        several_labels=model.config.several_labels,
        pooled_by=model.config.pooling,
        pooling=pooled(model.config.pooling, trace, len(ids)),
        dropped=len(encoded) - (len(ids) - len(specials.before) - len(specials.after)),
        unread=unread_share(encoding, text, unknown=specials.unknown),
    )


def probabilities_of(model: Classifier | Translator, logits: Tensor) -> Tensor:
    """Of every label, (…, C): they sum to 1, or each is a probability of its own where a text may have several."""
    return logits.sigmoid() if model.config.several_labels else logits.softmax(dim=-1)


def allowed_in(trace: Trace, layers: int, length: int) -> NDArray[np.bool_]:
    """The masks of the encoder for one text, (L, S, S); only models with windows have some."""
    names = [hook_name("encoder", layer, "mask") for layer in range(layers)]
    if not set(names) <= set(trace.names):
        return np.ones((layers, length, length), dtype=bool)
    return np.stack([trace.passes(name)[0][0, 0].numpy() for name in names])


def pooled(kind: str, trace: Trace, length: int) -> FloatArray | None:
    """Which tokens the class is read off, (H, S); None where it is the mean of all."""
    if kind == "attention":
        return np.asarray(trace.passes("pooling.attention.weights")[0][0, :, 0].numpy())
    return np.eye(1, length, dtype=np.float32) if kind == "first" else None


@torch.inference_mode()
def classify_lines(
    model: Classifier | Translator, tokenizers: TokenizerPair, lines: Sequence[str], *, batch_size: int = 64
) -> list[int]:
    """The number of the likeliest label of each text, in their order."""
    ids = [
        shortened(tokenizers.source.encode(line).ids, model.config.max_length, tokenizers.specials) for line in lines
    ]
    order = sorted(range(len(lines)), key=lambda i: len(ids[i]))
    labels = [0] * len(lines)
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        likeliest = model(padded_for(model, [ids[i] for i in chosen])).argmax(dim=-1).tolist()
        for i, label in zip(chosen, likeliest, strict=True):
            labels[i] = label
    return labels
