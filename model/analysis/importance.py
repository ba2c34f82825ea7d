"""The importance of each head: how much the loss rises when it is silenced, and how much the gradient predicts.

The loss of a translator is that of a reference translation under teacher forcing, in nats per token. Without a
reference, the model's own translation is used. Then the loss shows how far the model moves away from its own
translation. The loss of a language model is that of the text itself, in nats per token. The loss of a classifier is
minus the log-odds of its own class, in nats.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_translation
from model.checkpoints.checkpoint import Loaded
from model.decoding.search import greedy_ids
from model.inference.classify import log_odds_of
from model.inference.passes import Ids, encode_texts, pad_ids
from model.interventions import Head
from model.network.protocols import Reads, ReadsBatches, Writes, classifies
from model.trace import Edit, ablate_heads, hook_name, tracing

__all__ = [
    "Examples",
    "Pairs",
    "Report",
    "all_heads",
    "gate_gradients",
    "gradient_importance",
    "importance_of_each_head",
    "in_batches",
    "loss_changes",
    "make_examples",
    "padded_examples",
]

Pairs = Sequence[tuple[str, str]]  # (sentence, its translation or its second text, or "")
Report = Callable[[int, int], object]  # (steps done, all steps)
BATCH = 16  # sentences
FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Examples:
    """A padded batch of sentences with what the loss needs."""

    source: Tensor  # what the encoder reads, (B, S); of a language model (B, 0)
    target: (
        Tensor  # of a translator (B, T), `<s>` first; of a language model the text; of a classifier the classes (B,)
    )
    real: Tensor | None = None  # of a language model: False at padding, (B, T)


def in_batches(pairs: Pairs) -> list[Pairs]:
    """The sentences in batches of 16; the last one may be smaller."""
    return [pairs[start : start + BATCH] for start in range(0, len(pairs), BATCH)]


def make_examples(checkpoint: Loaded, pairs: Pairs) -> Examples:
    """Make a padded batch of a few sentences.

    Args:
        checkpoint: A translator, a language model or a classifier; never changed.
        pairs: (sentence, translation) pairs. An empty translation is replaced by the model's own. For a classifier that
            reads pairs, the second one is the second text of the sentence.

    Raises:
        ConfigError: the model only reads.
    """
    model, texts = checkpoint.model, checkpoint.tokenizers.sources(pairs)
    if isinstance(model, ReadsBatches) or classifies(model):
        encoded = encode_texts(checkpoint, texts)
        return padded_examples(model, encoded.source, encoded.read)
    model, tokenizers = require_translation(checkpoint), checkpoint.tokenizers
    limit, specials = model.config.max_length, tokenizers.specials
    sources = [tokenizers.source_ids(source, limit)[0] for source, _ in pairs]
    without_reference = [ids for ids, (_, reference) in zip(sources, pairs, strict=True) if not reference]
    own = iter(greedy_ids(model, without_reference, specials=specials))
    first = () if specials.first is None else (specials.first,)

    def target_ids(reference: str) -> Sequence[int]:
        if not reference:
            return next(own)
        return (*first, *tokenizers.target.encode(reference).ids[: limit - len(first) - 2], specials.eos)

    targets = [[specials.bos, *target_ids(reference)] for _, reference in pairs]
    return padded_examples(model, sources, targets)


def padded_examples(model: Reads, source: Ids, target: Ids) -> Examples:
    """A padded batch of what the encoder reads, and of what a translator or a language model is to write."""
    ids = pad_ids(model, source, target, side="right")
    if isinstance(model, ReadsBatches):
        return Examples(source=ids.source, target=ids.read, real=ids.read_real)
    if classifies(model):
        with torch.inference_mode():
            labels = model(ids.source).argmax(dim=-1)
        return Examples(source=ids.source, target=labels.clone())
    return Examples(source=ids.source, target=ids.read)


def all_heads(model: Reads) -> list[Head]:
    """Every head of every kind of attention."""
    config = model.config
    return [Head(kind, layer, head) for kind, layer in config.attention_layers for head in range(config.num_heads)]


def sentence_losses(model: Reads, examples: Examples) -> Tensor:
    """The loss of each sentence, (B,), in nats; of a text that is written, in nats per token."""
    if classifies(model):
        odds = log_odds_of(model, model(examples.source).float())  # (B, C)
        return -odds.gather(1, examples.target[:, None])[:, 0]
    if isinstance(model, ReadsBatches):
        assert examples.real is not None
        logits = model.batch_logits(examples.target, examples.real)[:, :-1]  # (B, T - 1, V)
        losses = F.cross_entropy(logits.transpose(1, 2), examples.target[:, 1:], reduction="none")
        counted = examples.real[:, 1:]
        return (losses * counted).sum(dim=1) / counted.sum(dim=1).clamp(min=1)
    assert isinstance(model, Writes)
    labels = examples.target[:, 1:]  # (B, T)
    logits = model(examples.source, examples.target[:, :-1])  # (B, T, V)
    losses = F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=model.target_pad_id, reduction="none"
    )  # (B, T)
    return losses.sum(dim=1) / (labels != model.target_pad_id).sum(dim=1)


def importance_of_each_head(
    checkpoint: Loaded, pairs: Pairs, *, report: Report = lambda done, steps: None
) -> dict[str, FloatArray]:
    """Silence each head in turn.

    Args:
        checkpoint: See `make_examples`.
        pairs: N sentences.
        report: Called before each batch, with the number of heads done and of all heads. An exception ends the work.

    Returns:
        Kind → rise in the loss of each sentence when a head is silenced, (N, L, H), in nats.
    """
    config, heads, done = checkpoint.model.config, len(all_heads(checkpoint.model)), 0

    def step() -> None:
        report(done, heads)

    examples = []
    for some in in_batches(pairs):
        step()
        examples.append(make_examples(checkpoint, some))
    found = {
        kind: np.zeros((len(pairs), config.num_layers(kind), config.num_heads), np.float32) for kind in config.kinds
    }
    for head, changes in loss_changes(checkpoint.model, examples, step):
        found[head.kind][:, head.layer, head.head] = changes
        done += 1
    step()
    return found


def loss_changes(
    model: Reads, batches: Sequence[Examples], step: Callable[[], object] = lambda: None
) -> Iterator[tuple[Head, FloatArray]]:
    """Silence one head after the other.

    Args:
        model: Of the examples, in evaluation mode; never changed.
        batches: With N sentences in all.
        step: Called before each pass.

    Yields:
        Each head, and how much the loss of each sentence rises without it, (N,), in nats.
    """

    def losses() -> FloatArray:
        found = []
        for examples in batches:
            step()
            found.append(sentence_losses(model, examples))
        return torch.cat(found).cpu().numpy()

    with torch.inference_mode():
        before = losses()
    for head in all_heads(model):
        edits = {hook_name(head.kind, head.layer, "weights"): ablate_heads([head.head])}
        # A new block for each head: a caller may stop halfway, and then no trace must stay open.
        with torch.inference_mode(), tracing(record=(), edits=edits):
            after = losses()
        yield head, after - before


def gradient_importance(checkpoint: Loaded, pairs: Pairs) -> dict[str, FloatArray]:
    """`gate_gradients` of a few sentences; see `make_examples`."""
    return gate_gradients(checkpoint.model, make_examples(checkpoint, pairs))


def gate_gradients(model: Reads, examples: Examples) -> dict[str, FloatArray]:
    """The importance of each head predicted by the gradient: |∂loss / ∂ξ|, where a gate ξ = 1 multiplies its output.

    The source is Michel et al. (2019, "Are Sixteen Heads Really Better than One?", section 4.1), where the importance
    of a head is the mean over sentences.

    Args:
        model: Of the examples, in evaluation mode; never changed.
        examples: With N sentences.

    Returns:
        Kind → (N, L, H), in nats.
    """
    gates: dict[str, list[Tensor]] = {kind: [] for kind in model.config.kinds}
    edits: dict[str, Edit] = {}
    for kind, layer in model.config.attention_layers:
        size = (len(examples.target), model.config.num_heads, 1, 1)
        gate = torch.ones(size, device=examples.target.device, requires_grad=True)
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
