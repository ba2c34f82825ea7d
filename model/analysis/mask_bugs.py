"""Mistakes with masks that real code has shipped, made on purpose, and what each of them does.

Each is a set of edits at the hook points around the softmax, so the model itself is as it always was. A decode with a
key/value cache needs no causal mask and would hide half of them: here every step reads its whole prefix again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.checkpoint import Checkpoint
from model.corpora.batching import pad
from model.decoding.decode import length_limit
from model.inference.translate import SPECIALS, source_ids, translated_ids
from model.network.masks import decoder_mask, padding_mask
from model.network.transformer import Transformer
from model.text.vocab import BOS_ID, EOS_ID, PAD_ID
from model.trace import Edit, hook_name, tracing

__all__ = ["BUGS", "Bug", "BugReport", "bug_weights", "mask_bug"]

FloatArray = NDArray[np.float32]
FORBIDDEN = -1e9  # what code that fears NaN puts in the place of minus infinity


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A mistake, as a person reads of it, and the edits that make it."""

    title: str
    code: str  # the line that does it
    explanation: str
    edits: Callable[[], Mapping[str, Edit]]


class Around:
    """The scores of the attention that is being computed, and where its mask forbids, for edits that come later."""

    def __init__(self) -> None:
        self.scores = torch.empty(0)
        self.forbidden = torch.empty(0)
        self.padded_target: Tensor | None = None  # (B, 1, T, 1), from the latest decoder self-attention

    def keep(self, scores: Tensor) -> Tensor:
        self.scores = scores
        return scores

    def masked(self, change: Callable[["Around"], Tensor]) -> Edit:
        def edit(masked_scores: Tensor) -> Tensor:
            self.forbidden = masked_scores == float("-inf")  # (B, H, T, S)
            return change(self)

        return edit


def tiny_fill() -> dict[str, Edit]:
    return {"*.masked_scores": lambda masked: masked.masked_fill(masked == float("-inf"), 1e-12)}


def inverted_causal() -> dict[str, Edit]:
    around = Around()

    def change(around: Around) -> Tensor:
        past = torch.ones(around.scores.shape[-2:], dtype=torch.bool).tril(-1)
        padded = around.forbidden[..., -1:, :]  # the last query sees all but the padding
        return around.scores.masked_fill(past | padded, FORBIDDEN)

    return {
        "decoder.*.self_attention.scores": around.keep,
        "decoder.*.self_attention.masked_scores": around.masked(change),
    }


def after_softmax() -> dict[str, Edit]:
    around = Around()
    return {
        "*.scores": around.keep,
        "*.masked_scores": around.masked(lambda around: around.scores),
        "*.weights": lambda weights: weights.masked_fill(around.forbidden, 0.0),
    }


def no_padding() -> dict[str, Edit]:
    around = Around()

    def causal_only(around: Around) -> Tensor:
        future = torch.ones(around.scores.shape[-2:], dtype=torch.bool).triu(1)
        return around.scores.masked_fill(future, float("-inf"))

    everything = around.masked(lambda around: around.scores)
    return {
        "*.scores": around.keep,
        "encoder.*.masked_scores": everything,
        "decoder.*.cross_attention.masked_scores": everything,
        "decoder.*.self_attention.masked_scores": around.masked(causal_only),
    }


def on_queries() -> dict[str, Edit]:
    around = Around()

    def encoder(around: Around) -> Tensor:
        return around.scores.masked_fill(around.forbidden.transpose(-2, -1), FORBIDDEN)

    def own(around: Around) -> Tensor:
        around.padded_target = around.forbidden[..., -1:, :].transpose(-2, -1)
        future = torch.ones(around.scores.shape[-2:], dtype=torch.bool).triu(1)
        return around.scores.masked_fill(around.padded_target | future, FORBIDDEN)

    def cross(around: Around) -> Tensor:
        assert around.padded_target is not None
        return around.scores.masked_fill(around.padded_target, FORBIDDEN)

    return {
        "*.scores": around.keep,
        "encoder.*.masked_scores": around.masked(encoder),
        "decoder.*.self_attention.masked_scores": around.masked(own),
        "decoder.*.cross_attention.masked_scores": around.masked(cross),
    }


BUGS: Mapping[str, Bug] = {
    "fill": Bug(
        title="Filled with 1e-12",
        code="scores.masked_fill(~mask, 1e-12)",
        explanation="A tiny number is not a small score: e to the 1e-12 is 1, so masked keys get weight like any "
        "other. The fill value must be minus infinity.",
        edits=tiny_fill,
    ),
    "inverted": Bug(
        title="Causal mask inverted",
        code="causal = torch.triu(torch.ones(T, T))  # 1 = may attend",
        explanation="The upper triangle is the future. Each position now sees only itself and what is still to come, "
        "which is nothing while the model writes.",
        edits=inverted_causal,
    ),
    "after": Bug(
        title="Mask after the softmax",
        code="weights = scores.softmax(-1) * mask",
        explanation="Masked keys have no weight, but they had their share in the sum that the softmax divided by: rows "
        "no longer sum to 1, and forbidden tokens still change the outcome.",
        edits=after_softmax,
    ),
    "padding": Bug(
        title="No padding mask",
        code="scores  # only the decoder's causal mask is applied",
        explanation="Queries look at <pad>: what a sentence becomes depends on the longest sentence beside it.",
        edits=no_padding,
    ),
    "queries": Bug(
        title="Mask on queries instead of keys",
        code="mask[:, None, :, None]  # instead of mask[:, None, None, :]",
        explanation="The rows of <pad> are masked, which nobody reads, and its columns are open to everyone.",
        edits=on_queries,
    ),
}


@dataclass(frozen=True, kw_only=True)
class BugReport:
    """What a set of edits does to a padded batch, measured while the correct translations are read."""

    texts: tuple[str, ...]  # the translations, written under the edits
    leaked: Mapping[str, FloatArray]  # kind → (B,): mean share of a real query's weight on keys that are forbidden
    row_sums: Mapping[str, FloatArray]  # kind → (B, 2): smallest and largest sum of a real query's weights
    future: FloatArray  # (B,): largest change of an earlier log-probability when the last token is another
    company: FloatArray  # (B,): the same when the sentence stands alone instead of in the batch


@torch.inference_mode()
def mask_bug(checkpoint: Checkpoint, texts: tuple[str, ...], name: str = "") -> BugReport:
    """Run texts as one padded batch with one of the `BUGS`, or, without a name, as is right.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        texts: At least one.
        name: Of the bug.
    """
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    make_edits = BUGS[name].edits if name else dict
    ids, read = read_by_both(checkpoint, texts)
    source, target = pad(ids), pad(read)
    with tracing(record=("*.weights",), edits=make_edits()) as trace:
        log_probs = model(source, target).log_softmax(dim=-1)  # (B, T, V)
        weights = {
            kind: torch.stack(
                [trace.passes(hook_name(kind, layer, "weights"))[0] for layer in range(model.config.layers_of(kind))]
            )
            for kind in model.config.kinds
        }
    with tracing(record=(), edits=make_edits()):
        written = rerun_greedy(model, source)
    with tracing(record=(), edits=make_edits()):
        changed = model(source, with_other_ends(target)).log_softmax(dim=-1)  # (B, T, V)
    future, company = [], []
    difference = (changed - log_probs).abs()
    for row, (one, prefix) in enumerate(zip(ids, read, strict=True)):
        earlier, whole = difference[row, : len(prefix) - 1], log_probs[row, : len(prefix)]
        with tracing(record=(), edits=make_edits()):
            alone = model(pad([one]), pad([prefix])).log_softmax(dim=-1)[0]
        future.append(float(earlier.max()) if len(earlier) else 0.0)
        company.append(float((alone - whole).abs().max()))
    allowed = {
        "encoder": padding_mask(source, PAD_ID).expand(-1, -1, source.size(1), -1),
        "decoder": decoder_mask(target, PAD_ID),
        "cross": padding_mask(source, PAD_ID).expand(-1, -1, target.size(1), -1),
    }
    real = {"encoder": source != PAD_ID, "decoder": target != PAD_ID, "cross": target != PAD_ID}
    return BugReport(
        texts=tuple(tokenizers.target.decode(row) for row in written),
        leaked={kind: leak(weights[kind], allowed[kind], real[kind]) for kind in model.config.kinds},
        row_sums={kind: sums(weights[kind], real[kind]) for kind in model.config.kinds},
        future=np.array(future, dtype=np.float32),
        company=np.array(company, dtype=np.float32),
    )


@torch.inference_mode()
def bug_weights(checkpoint: Checkpoint, texts: tuple[str, ...], name: str, kind: str, layer: int) -> FloatArray:
    """The weights of one attention layer under a bug, (B, H, T, S); arguments as of `mask_bug`."""
    ids, read = read_by_both(checkpoint, texts)
    point = hook_name(kind, layer, "weights")
    with tracing(record=(point,), edits=BUGS[name].edits() if name else {}) as trace:
        checkpoint.model(pad(ids), pad(read))
    return np.asarray(trace.passes(point)[0].numpy(), dtype=np.float32)


def read_by_both(checkpoint: Checkpoint, texts: tuple[str, ...]) -> tuple[list[list[int]], list[list[int]]]:
    """Ids that the encoder reads of each text, and those that the decoder reads of its correct translation."""
    model = checkpoint.model
    ids = [source_ids(checkpoint.tokenizers, text, model.config.max_length)[0] for text in texts]
    return ids, [[BOS_ID, *written[:-1]] for written in translated_ids(model, ids)]


def with_other_ends(target: Tensor) -> Tensor:
    """Target ids (B, T) with another token in the place of the last of each sentence."""
    other, rows = target.clone(), torch.arange(len(target))
    last = (target != PAD_ID).sum(dim=1) - 1
    other[rows, last] = torch.where(target[rows, last] == EOS_ID, BOS_ID, EOS_ID)
    return other


def leak(weights: Tensor, allowed: Tensor, real: Tensor) -> FloatArray:
    """Mean over layers, heads and real queries of the weight on forbidden keys: (L, B, H, T, S) → (B,)."""
    outside = weights.masked_fill(allowed, 0.0).sum(dim=-1).mean(dim=(0, 2))  # (B, T)
    return np.asarray(((outside * real).sum(dim=1) / real.sum(dim=1)).numpy(), dtype=np.float32)


def sums(weights: Tensor, real: Tensor) -> FloatArray:
    """Smallest and largest sum of a real query's row: (L, B, H, T, S) → (B, 2)."""
    rows = weights.sum(dim=-1).movedim(1, 0)  # (B, L, H, T)
    found = [sentence[..., kept] for sentence, kept in zip(rows, real, strict=True)]
    return np.array([[float(row.min()), float(row.max())] for row in found], dtype=np.float32)


def rerun_greedy(model: Transformer, source: Tensor) -> list[list[int]]:
    """Greedy search over a padded batch that reads the whole prefix anew for each token; ids without `</s>`."""
    memory, cross_mask = model.encode(source)
    limits = [length_limit(n, model.config.max_length) for n in (source != PAD_ID).sum(dim=1).tolist()]
    read = torch.full((len(source), 1), BOS_ID)
    ended = torch.zeros(len(source), dtype=torch.bool)
    while not ended.all():
        logits = model.project(model.decode(read, memory, cross_mask)[:, -1])  # (B, V)
        token = logits.index_fill(1, torch.tensor(SPECIALS.banned), float("-inf")).argmax(dim=-1)
        ended |= torch.tensor([read.size(1) > limit for limit in limits]) | (token == EOS_ID)
        read = torch.cat([read, token.masked_fill(ended, PAD_ID)[:, None]], dim=1)
    return [[int(i) for i in row if i != PAD_ID] for row in read[:, 1:]]
