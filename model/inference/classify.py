"""Classify a text, with the attention maps of the run. The app and the command line start here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.checkpoints.checkpoint import ClassifierCheckpoint
from model.checkpoints.languages import tag
from model.corpora.examples import shortened
from model.inference.passes import padded_for
from model.inference.run import Candidate, Outcome, Recording, Result, Token, attention_maps, attention_masks, parts_of
from model.network.protocols import Classifies
from model.text.pair import Text, paired, texts_of
from model.text.tokenizers import TokenizerPair
from model.trace import ATTENTION, Edit, Trace, tracing

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
class Classification(Result):
    """The class of a text: a result that has a source and writes nothing. `text` is the most probable label."""

    probabilities: Mapping[str, float]  # label → probability; they sum to 1 unless `several_labels`
    logits: FloatArray  # (C,), of the labels in the order of `probabilities`
    several_labels: bool  # a text may have several labels, each with its own probability
    pooled_by: Literal["attention", "mean", "first"]  # a learned query, the mean of all vectors, or the first vector
    pooling: FloatArray | None  # (H, S), the attention of the learned query; None for the mean
    unread: float  # share of the characters that are in no token of the vocabulary

    @property
    def label(self) -> str:
        """The most probable label."""
        return self.text

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The most probable label. Its candidates are all labels in their order."""
        rows = zip(self.probabilities, self.probabilities.values(), range(len(self.probabilities)), strict=True)
        labels = tuple(Candidate(*row) for row in rows)
        return (
            Outcome(
                stack="encoder",
                position=None,
                id=[*self.probabilities].index(self.text),
                text=self.text,
                probability=self.probabilities[self.text],
                candidates=labels,
                logits=dict(enumerate(self.logits.astype(np.float64).tolist())),
                several=self.several_labels,
            ),
        )

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the tokens, S."""
        return tuple(token.id for token in self.source)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, S, with `</s>` at the end."""
        return tuple(token.text for token in self.source)

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of a pair that the tokens are in, S; see `Token.part`."""
        return tuple(token.part for token in self.source)

    @property
    def token_labels(self) -> tuple[str, ...]:
        """The tokens, with the names of their parts of a pair."""
        return tuple(token.label for token in self.source)

    @property
    def encoder(self) -> FloatArray:
        """The attention maps, (L, H, S, S)."""
        return self.maps["encoder"]

    @property
    def allowed(self) -> NDArray[np.bool_]:  # type: ignore[override]  # programs read it as an array
        """The masks, (L, S, S): False where a window masks the key."""
        return self.mask_of("encoder")


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
    checkpoint: ClassifierCheckpoint, text: Text, *, record: Sequence[str] = (), edits: Mapping[str, Edit] | None = None
) -> tuple[Classification, Recording]:
    """As `classify`, with its arguments, and record other hook points too; see `record_translation`."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizers.source
    specials = checkpoint.tokenizers.specials
    encoding = checkpoint.tokenizers.encode(text, model.config.max_length)
    ids = shortened(encoding.ids, model.config.max_length, specials)
    with tracing(record=(*ATTENTION, *record), edits=edits) as trace:
        logits = model(padded_for(model, [ids]))[0]  # (C,)
    by_label = dict(zip(model.config.labels, probabilities_of(model, logits).tolist(), strict=True))
    parts = parts_of(checkpoint.tokenizers, encoding, len(ids))
    rows = zip(ids, tokenizer.tokens(ids), tokenizer.words(ids), parts, strict=True)
    classification = Classification(
        text=max(by_label, key=lambda label: by_label[label]),
        source=tuple(
            Token(text=token, id=i, word=-1 if i in specials.marks else word, part=part, unknown=i == specials.unknown)
            for i, token, word, part in rows
        ),
        read=(),
        written=(),
        maps=attention_maps(trace, model, ()),
        masks=attention_masks(trace, model, ()),
        finished=True,
        languages=(tag(checkpoint.config.tokenizer.source_language), ""),
        probabilities=by_label,
        logits=logits.float().cpu().numpy(),
        several_labels=model.config.several_labels,
        pooled_by=model.config.pooling,
        pooling=pooled(model.config.pooling, trace, len(ids)),
        dropped=encoding.dropped + len(encoding.ids) - (len(ids) - len(specials.before) - len(specials.after)),
        unread=encoding.unread_share("".join(texts_of(text)), unknown=specials.unknown),
    )
    return classification, Recording(trace=trace)


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
