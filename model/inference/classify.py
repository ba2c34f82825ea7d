"""Classify a text, with the attention maps of the run. The app and the command line start here."""

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
from model.inference.tokens import labelled, parts_of
from model.inference.translation import Recording
from model.network.protocols import Classifies
from model.text.pair import Text, paired, texts_of
from model.text.tokenizers import TokenizerPair
from model.trace import ATTENTION, Edit, Trace, hook_name, tracing

__all__ = [
    "Classification",
    "classify",
    "classify_lines",
    "log_odds_of",
    "probabilities_of",
    "record_classification",
]

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Classification:
    """The class of a text, with the attention maps of the run. Rows are queries, columns are keys; rows sum to 1."""

    label: str  # the most probable one
    probabilities: Mapping[str, float]  # label → probability; they sum to 1 unless `several_labels`
    logits: FloatArray  # (C,), of the labels in the order of `probabilities`
    several_labels: bool  # a text may have several labels, each with its own probability
    ids: tuple[int, ...]  # S, of the tokens
    tokens: tuple[str, ...]  # S, with `</s>` at the end
    parts: tuple[str, ...]  # S, see `Token.part`
    encoder: FloatArray  # (L, H, S, S)
    allowed: NDArray[np.bool_]  # (L, S, S): False where a window masks the key
    pooled_by: Literal["attention", "mean", "first"]  # a learned query, the mean of all vectors, or the first vector
    pooling: FloatArray | None  # (H, S), the attention of the learned query; None for the mean
    dropped: int  # tokens removed from the middle of a text that is too long, or from the ends of the texts of a pair
    unread: float  # share of the characters that are in no token of the vocabulary

    @property
    def token_labels(self) -> tuple[str, ...]:
        """The tokens, with the names of their parts of a pair."""
        return tuple(map(labelled, self.tokens, self.parts))


def classify(
    checkpoint: ClassifierCheckpoint, text: Text, *, second: str = "", edits: Mapping[str, Edit] | None = None
) -> Classification:
    """Classify one text, and keep the attention maps of the pass.

    Args:
        checkpoint: A loaded classifier; never changed.
        text: Any text; it may be empty.
        second: The second text of a pair, such as a hypothesis, for a classifier that reads pairs.
        edits: See `tracing`.

    Raises:
        ConfigError: the model does not read pairs.
    """
    return record_classification(checkpoint, paired(text, second), edits=edits)[0]


@torch.inference_mode()
def record_classification(
    checkpoint: ClassifierCheckpoint,
    text: Text,
    *,
    record: Sequence[str] = (),
    edits: Mapping[str, Edit] | None = None,
) -> tuple[Classification, Recording]:
    """As `classify`, and record other hook points too.

    Args:
        checkpoint: A loaded classifier; never changed.
        text: Any text, which may be empty, or a pair of texts.
        record: Patterns for the names of hook points to record, in addition to the weights and masks.
        edits: See `tracing`.

    Returns:
        The class with the attention maps, and what passed the other hook points.
    """
    model, tokenizer = checkpoint.model, checkpoint.tokenizers.source
    specials = checkpoint.tokenizers.specials
    encoding = checkpoint.tokenizers.encode(text, model.config.max_length)
    encoded = encoding.ids
    ids = shortened(encoded, model.config.max_length, specials)
    with tracing(record=(*ATTENTION, *record), edits=edits) as trace:
        logits = model(padded_for(model, [ids]))[0]  # (C,)
    by_label = dict(zip(model.config.labels, probabilities_of(model, logits).tolist(), strict=True))
    names = [hook_name("encoder", layer, "weights") for layer in range(model.config.num_layers("encoder"))]
    classification = Classification(
        label=max(by_label, key=lambda label: by_label[label]),
        probabilities=by_label,
        ids=tuple(ids),
        tokens=tokenizer.tokens(ids),
        parts=tuple(parts_of(checkpoint.tokenizers, encoding, len(ids))),
        encoder=torch.cat([trace.passes(name)[0] for name in names]).numpy(),
        allowed=allowed_in(trace, model.config.num_layers("encoder"), len(ids)),
        logits=logits.float().cpu().numpy(),
        several_labels=model.config.several_labels,
        pooled_by=model.config.pooling,
        pooling=pooled(model.config.pooling, trace, len(ids)),
        dropped=encoding.dropped + len(encoded) - (len(ids) - len(specials.before) - len(specials.after)),
        unread=unread_share(encoding, "".join(texts_of(text)), unknown=specials.unknown),
    )
    return classification, Recording(trace=trace, rows=(0,))


def probabilities_of(model: Classifies, logits: Tensor) -> Tensor:
    """The probabilities of all labels, (…, C), from their logits, (…, C).

    They sum to 1. Where a text may have several labels, each is a separate probability instead.
    """
    return logits.sigmoid() if model.config.several_labels else logits.softmax(dim=-1)


def log_odds_of(model: Classifies, logits: Tensor) -> Tensor:
    """The log-odds ln p / (1 − p) of all labels, (…, C), from their logits, (…, C), in nats."""
    if model.config.several_labels:
        return logits
    count = logits.size(-1)
    own = torch.eye(count, dtype=torch.bool, device=logits.device)
    others = logits[..., None, :].expand(*logits.shape, count).masked_fill(own, float("-inf"))  # (…, C, C)
    return logits - others.logsumexp(dim=-1)


def allowed_in(trace: Trace, layers: int, length: int) -> NDArray[np.bool_]:
    """The masks of the encoder for one text, (L, S, S); all True unless the model has windows."""
    names = [hook_name("encoder", layer, "mask") for layer in range(layers)]
    if not set(names) <= set(trace.names):
        return np.ones((layers, length, length), dtype=bool)
    return np.stack([trace.passes(name)[0][0, 0].numpy() for name in names])


def pooled(kind: str, trace: Trace, length: int) -> FloatArray | None:
    """The weights of the tokens in the vector that is classified, (H, S); None where it is their mean."""
    if kind == "attention":
        return np.asarray(trace.passes("pooling.attention.weights")[0][0, :, 0].numpy())
    return np.eye(1, length, dtype=np.float32) if kind == "first" else None


@torch.inference_mode()
def classify_lines(
    model: Classifies, tokenizers: TokenizerPair, lines: Sequence[Text], *, batch_size: int = 64
) -> list[int]:
    """Classify many texts, in batches of similar length.

    Args:
        model: A classifier, in evaluation mode.
        tokenizers: Of the model.
        lines: The texts, or pairs of texts.
        batch_size: How many texts one batch holds.

    Returns:
        The index of the most probable label of each text, in the order of the texts.
    """
    limit = model.config.max_length
    ids = [shortened(tokenizers.encode(line, limit).ids, limit, tokenizers.specials) for line in lines]
    order = sorted(range(len(lines)), key=lambda i: len(ids[i]))
    labels = [0] * len(lines)
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        most_probable = model(padded_for(model, [ids[i] for i in chosen])).argmax(dim=-1).tolist()
        for i, label in zip(chosen, most_probable, strict=True):
            labels[i] = label
    return labels
