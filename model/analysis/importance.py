"""How much each head matters: the change in loss when it is silenced, and what the gradient expects of that.

The loss is that of given translations under teacher forcing, in nats a token. Where a person gave no translation, the
model's own is used: then a change says how far a head moves the model away from what it would have written.
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
from model.network.translator import Translator
from model.trace import Edit, ablate_heads, hook_name, tracing

__all__ = ["Examples", "all_heads", "gradient_importance", "loss_changes", "make_examples"]

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Examples:
    """A padded batch of sentences and their translations."""

    source: Tensor  # (B, S)
    target: Tensor  # (B, T), `<s>` first


def make_examples(checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]]) -> Examples:
    """Ids of a few (sentence, translation) pairs; an empty translation is replaced by the model's own.

    Raises:
        ConfigError: the model does not translate.
    """
    require_translation(checkpoint)
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    limit, specials = model.config.max_length, tokenizers.specials
    sources = [source_ids(tokenizers, source, limit)[0] for source, _ in pairs]
    untold = [ids for ids, (_, given) in zip(sources, pairs, strict=True) if not given]
    own = iter(greedy_ids(model, untold, specials=specials))
    first = () if specials.first is None else (specials.first,)

    def written(given: str) -> Sequence[int]:
        room = limit - len(first) - 2
        return (*first, *tokenizers.target.encode(given).ids[:room], specials.eos) if given else next(own)

    targets = [[specials.bos, *written(given)] for _, given in pairs]
    return Examples(source=padded_for(model, sources), target=padded_for(model, targets))


def all_heads(model: Translator) -> list[Head]:
    """Every head of every kind of attention."""
    config = model.config
    return [
        Head(kind, layer, head)
        for kind in config.kinds
        for layer in range(config.num_layers(kind))
        for head in range(config.num_heads)
    ]


def sentence_losses(model: Translator, examples: Examples) -> Tensor:
    """Mean loss of each translation, (B,), in nats a token."""
    labels = examples.target[:, 1:]  # (B, T)
    logits = model(examples.source, examples.target[:, :-1])  # (B, T, V)
    losses = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=model.pad_id, reduction="none")  # (B, T)
    return losses.sum(dim=1) / (labels != model.pad_id).sum(dim=1)


def loss_changes(model: Translator, batches: Sequence[Examples]) -> Iterator[tuple[Head, FloatArray]]:
    """Silence one head after the other: the head, and by how much the loss of each sentence rises, (N,)."""

    def losses() -> FloatArray:
        return torch.cat([sentence_losses(model, examples) for examples in batches]).cpu().numpy()

    with torch.inference_mode():
        before = losses()
    for head in all_heads(model):
        edits = {hook_name(head.kind, head.layer, "weights"): ablate_heads([head.head])}
        # Entered again for each head: a caller that stops half way must not leave a trace open.
        with torch.inference_mode(), tracing(record=(), edits=edits):
            after = losses()
        yield head, after - before


def gradient_importance(model: Translator, examples: Examples) -> dict[str, FloatArray]:
    """|∂loss / ∂ξ| of each head for each sentence, where ξ = 1 multiplies its output (Michel et al. 2019, section 4.1).

    The importance of a head is the mean over sentences, as there.

    Returns:
        Kind → (N, L, H), in nats a token.
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
        # Sentences do not meet, so one pass gives the gradient of each.
        gradients = iter(torch.autograd.grad(sentence_losses(model, examples).sum(), flat))
    return {
        kind: np.stack([next(gradients).abs().flatten(1).cpu().numpy() for _ in layers], axis=1)
        for kind, layers in gates.items()
    }
