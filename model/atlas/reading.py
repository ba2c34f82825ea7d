"""Run a model over one padded batch, and measure each layer when its weights pass: no map is kept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.anatomy import require_mixing
from model.analysis.availability import require_values
from model.analysis.importance import gate_gradients, padded_examples
from model.atlas.layout import Layout, layout_of
from model.atlas.measures import alignment_sums, counts, layer_sums, profile, real_weights
from model.atlas.texts import TextTokens
from model.checkpoints.checkpoint import Loaded
from model.config.section import ConfigError
from model.inference.passes import batch_logits, pad_ids
from model.network.protocols import Reads, ReadsBatches, Writes, classifies
from model.trace import Edit, hook_name, tracing

__all__ = ["KEYS", "BatchFound", "Means", "batches", "means_of", "read_batch"]

KEYS = 8  # of a row that are kept, the strongest
MAX_CELLS = 1 << 22  # weights of one layer in a batch
MAX_LOGITS = 1 << 23  # 34 MB; a gradient needs five times as much, and each core has a batch of its own
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Means:
    """What can be measured in a model, besides its weights."""

    importance: bool  # it has a loss whose gradient is known
    writes: bool  # it multiplies head outputs with one matrix
    syntax: bool = False  # there are pipelines of spaCy for its texts


def means_of(checkpoint: Loaded, *, syntax: bool = False) -> Means:
    """What can be measured in a model. It is tried with a few tokens, because models of other libraries differ."""
    model = checkpoint.model
    try:
        require_values(checkpoint)
        require_mixing(checkpoint)
        writes = True
    except ConfigError:
        writes = False
    return Means(importance=gradient_works(model), writes=writes, syntax=syntax)


def gradient_works(model: Reads) -> bool:
    """Whether the model has a loss with a gradient for each head."""
    if model.read_only_reason or not (isinstance(model, Writes) or classifies(model)):
        return False
    try:
        gate_gradients(model, padded_examples(model, [(0, 0)], [(0, 0, 0)]))
    except (ConfigError, RuntimeError, NotImplementedError):
        return False
    return True


@dataclass(kw_only=True)
class BatchFound:
    """What one kind of attention shows in B texts. Lists have one entry per layer."""

    layout: Layout
    with_loss: NDArray[np.bool_]  # (B,): False for a text of one token that no model predicts
    sums: list[FloatArray] = field(default_factory=list)  # (B, H, N), see `layer_sums`
    profiles: list[FloatArray] = field(default_factory=list)  # (B, H, O·C)
    weights: list[NDArray[np.float32]] = field(default_factory=list)  # (B, H, T, 8), the largest, largest first
    keys: list[NDArray[np.int64]] = field(default_factory=list)  # (B, H, T, 8), where they are
    outputs: dict[int, FloatArray] = field(default_factory=dict)  # layer → (H, C, K), summed over the rows of a class
    strongest: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # (B, H, T) each: of all keys, without sinks
    total: Tensor | None = None  # (B, T, S), the weights of all heads of all layers
    importance: NDArray[np.float32] | None = None  # (B, L, H)

    def add_weights(self, weights: Tensor) -> None:
        """Measure one layer (B, H, T, S)."""
        layout = self.layout
        real = real_weights(weights[..., : layout.columns.size(1)], layout)
        if not bool(real.isfinite().all()):
            raise ConfigError("The attention weights of this model are not numbers, so no atlas can be made of it.")
        self.sums.append(layer_sums(real, layout).cpu().numpy())
        self.profiles.append(profile(real, layout).cpu().numpy())
        missing = max(KEYS - real.size(-1), 0)
        found = torch.nn.functional.pad(real, (0, missing)).topk(KEYS, dim=-1)
        self.weights.append(found.values.cpu().numpy())
        self.keys.append(found.indices.cpu().numpy())
        if not layout.aligned:
            content = real.masked_fill(~layout.content[:, None, None], -1.0)
            self.strongest.append((real.argmax(dim=-1), content.argmax(dim=-1)))
            self.total = real.sum(dim=1) + (0.0 if self.total is None else self.total)

    def add_outputs(self, layer: int, outputs: Tensor) -> None:
        """Sum head outputs (B, H, T, K) over the rows of each class."""
        real = outputs.detach().float().where(self.layout.rows[:, None, :, None], 0.0)
        self.outputs[layer] = torch.einsum("btc,bhtk->hck", self.layout.row_classes, real).double().cpu().numpy()

    def numbers(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """All numbers summed over the rows of each text, (B, L, H, N), and the rows behind them, (B, N)."""
        sums, rows = np.stack(self.sums, axis=1), counts(self.layout).cpu().numpy()  # (B, L, H, …), (B, …)
        pairs = self.layout.row_classes.size(-1) ** 2
        alignment = np.zeros((*sums.shape[:3], 2))
        aligned_rows = np.zeros((len(rows), 2), dtype=np.int64)
        if self.total is not None:
            found, counted = alignment_sums(self.total, self.strongest, self.layout)
            alignment, aligned_rows[:] = found.cpu().numpy(), counted.cpu().numpy()[:, None]
        importance = self.importance[..., None] if self.importance is not None else np.zeros((*sums.shape[:3], 1))
        texts = self.with_loss[:, None] & (self.importance is not None)
        return (
            np.concatenate([sums[..., :-pairs], alignment, importance, sums[..., -pairs:]], axis=-1),
            np.concatenate([rows[:, :-pairs], aligned_rows, texts, rows[:, -pairs:]], axis=1),
        )


def batches(model: Reads, texts: Sequence[TextTokens]) -> Iterator[list[TextTokens]]:
    """Texts of similar length together, as many as the memory for one layer and for the logits allows."""
    vocabulary = getattr(model.config, "target_vocab_size", 1) if isinstance(model, Writes) else 1
    batch: list[TextTokens] = []
    for text in sorted(texts, key=lambda text: (text.length, text.line)):
        size, length = len(batch) + 1, max(text.length, len(text.read))
        if batch and (size * length**2 * model.config.num_heads > MAX_CELLS or size * length * vocabulary > MAX_LOGITS):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def read_batch(checkpoint: Loaded, texts: Sequence[TextTokens], means: Means) -> dict[str, BatchFound]:
    """Measure every head in a batch.

    Args:
        checkpoint: Of any task; never changed.
        texts: Of one batch, see `batches`.
        means: Of the model.

    Returns:
        Kind → what was found.

    Raises:
        ConfigError: weights are not numbers.
    """
    model, kinds = checkpoint.model, checkpoint.model.config.kinds
    with_loss = np.array([not isinstance(model, ReadsBatches) or len(text.read) > 1 for text in texts])
    found = {
        kind: BatchFound(layout=layout_of(texts, kind, model.device, syntax=means.syntax), with_loss=with_loss)
        for kind in kinds
    }
    source, read = [text.source.ids for text in texts], [text.read.ids for text in texts]
    ids = pad_ids(model, source, read, side="right")
    if model.read_only_reason:  # nothing can be edited, so the weights are recorded first
        names = {kind: [hook_name(kind, i, "weights") for i in range(model.config.num_layers(kind))] for kind in kinds}
        with torch.inference_mode(), tracing(record=[n for some in names.values() for n in some]) as trace:
            batch_logits(model, ids)
        for kind, layers in names.items():
            for name in layers:
                found[kind].add_weights(trace.passes(name)[0].to(model.device))
        return found
    with tracing(record=(), edits=edits_for(model, found, means)):
        if means.importance:
            target = [(*text.read.ids, *text.written.ids[-1:]) for text in texts]
            for kind, values in gate_gradients(model, padded_examples(model, source, target)).items():
                found[kind].importance = values
        else:
            with torch.inference_mode():
                batch_logits(model, ids)
    return found


def edits_for(model: Reads, found: Mapping[str, BatchFound], means: Means) -> dict[str, Edit]:
    """Edits that change nothing and measure what passes."""
    edits: dict[str, Edit] = {}
    for kind, of_kind in found.items():
        rows = of_kind.layout.rows.size(1)
        for layer in range(model.config.num_layers(kind)):
            edits[hook_name(kind, layer, "weights")] = seen_whole(rows, of_kind.add_weights)
            if means.writes:
                edits[hook_name(kind, layer, "head_outputs")] = seen_whole(rows, partial(of_kind.add_outputs, layer))
    return edits


def seen_whole(rows: int, use: Callable[[Tensor], None]) -> Edit:
    """An edit that changes nothing. It gives all rows of a tensor (B, H, T, X) to `use` once.

    A recurrent decoder passes once per row. What passes after the last row, such as padding of windows, is left out.
    """
    parts: list[Tensor] = []
    seen = 0

    def edit(tensor: Tensor) -> Tensor:
        nonlocal seen
        if seen < rows:
            parts.append(tensor.detach())
            seen += tensor.size(2)
            if seen >= rows:
                with torch.no_grad():
                    use(torch.cat(parts, dim=2)[:, :, :rows])
                parts.clear()
        return tensor

    return edit
