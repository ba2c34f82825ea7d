"""The importance of each head: how much the loss rises when it is silenced, and how much the gradient predicts.

The loss is that of a reference translation under teacher forcing, in nats per token. Without a reference, the model's
own translation is used. Then the loss shows how far the model moves away from its own translation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_translation
from model.checkpoints.checkpoint import Checkpoint
from model.inference.padding import padded_for
from model.inference.searching import greedy_ids, source_ids
from model.interventions import Head
from model.network.protocols import Reads, Writes
from model.trace import Edit, ablate_heads, hook_name, tracing

__all__ = ["Examples", "all_heads", "gradient_importance", "loss_changes", "make_examples"]

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Examples:
    """A padded batch of sentences and their translations."""

    source: Tensor  # (B, S)
    target: Tensor  # (B, T), `<s>` first


def make_examples(checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]]) -> Examples:
    """Make a padded batch of a few sentences.

    Args:
        checkpoint: A translator; never changed.
        pairs: (sentence, translation) pairs. An empty translation is replaced by the model's own.

    Raises:
        ConfigError: the model does not translate.
    """
    model, tokenizers = require_translation(checkpoint), checkpoint.tokenizers
    limit, specials = model.config.max_length, tokenizers.specials
    sources = [source_ids(tokenizers, source, limit)[0] for source, _ in pairs]
    without_reference = [ids for ids, (_, reference) in zip(sources, pairs, strict=True) if not reference]
    own = iter(greedy_ids(model, without_reference, specials=specials))
    first = () if specials.first is None else (specials.first,)

    def target_ids(reference: str) -> Sequence[int]:
        if not reference:
            return next(own)
        return (*first, *tokenizers.target.encode(reference).ids[: limit - len(first) - 2], specials.eos)

    targets = [[specials.bos, *target_ids(reference)] for _, reference in pairs]
    return Examples(source=padded_for(model, sources), target=padded_for(model, targets))


def all_heads(model: Reads) -> list[Head]:
    """Every head of every kind of attention."""
    config = model.config
    return [
        Head(kind, layer, head)
        for kind in config.kinds
        for layer in range(config.num_layers(kind))
        for head in range(config.num_heads)
    ]


def sentence_losses(model: Writes, examples: Examples) -> Tensor:
    """The mean loss of each translation, (B,), in nats per token."""
    labels = examples.target[:, 1:]  # (B, T)
    logits = model(examples.source, examples.target[:, :-1])  # (B, T, V)
    losses = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=model.pad_id, reduction="none")  # (B, T)
    return losses.sum(dim=1) / (labels != model.pad_id).sum(dim=1)


def loss_changes(model: Writes, batches: Sequence[Examples]) -> Iterator[tuple[Head, FloatArray]]:
    """Silence one head after the other.

    Args:
        model: A translator, in evaluation mode; never changed.
        batches: With N sentences in all.

    Yields:
        Each head, and how much the loss of each sentence rises without it, (N,), in nats per token.
    """

    def losses() -> FloatArray:
        return torch.cat([sentence_losses(model, examples) for examples in batches]).cpu().numpy()

    with torch.inference_mode():
        before = losses()
    for head in all_heads(model):
        edits = {hook_name(head.kind, head.layer, "weights"): ablate_heads([head.head])}
        # A new block for each head: a caller may stop halfway, and then no trace must stay open.
        with torch.inference_mode(), tracing(record=(), edits=edits):
            after = losses()
        yield head, after - before


def gradient_importance(model: Writes, examples: Examples) -> dict[str, FloatArray]:
    """The importance of each head predicted by the gradient: |∂loss / ∂ξ|, where a gate ξ = 1 multiplies its output.

    The source is Michel et al. (2019, "Are Sixteen Heads Really Better than One?", section 4.1), where the importance
    of a head is the mean over sentences.

    Args:
        model: A translator, in evaluation mode; never changed.
        examples: With N sentences.

    Returns:
        Kind → (N, L, H), in nats per token.
    """
    gates: dict[str, list[Tensor]] = {kind: [] for kind in model.config.kinds}
    edits: dict[str, Edit] = {}
    for kind in model.config.kinds:
        for layer in range(model.config.num_layers(kind)):
            size = (len(examples.source), model.config.num_heads, 1, 1)
            gate = torch.ones(size, device=examples.source.device, requires_grad=True)
            gates[kind].append(gate)
            edits[hook_name(kind, layer, "head_outputs")] = partial(torch.mul, gate)
    flat = [gate for layers in gates.values() for gate in layers]
    with torch.enable_grad(), tracing(record=(), edits=edits):
        # The sentences of a batch are independent, so one pass gives the gradient of each.
        gradients = iter(torch.autograd.grad(sentence_losses(model, examples).sum(), flat))
    return {
        kind: np.stack([next(gradients).abs().flatten(1).cpu().numpy() for _ in layers], axis=1)
        for kind, layers in gates.items()
    }
