"""Value zeroing: a second measure of how much each token influences each layer (Mohebbi et al. 2023).

The value vectors of one token are set to zero in one attention block, and the rest of the layer runs again. The cosine
distance shows how far the output at each position moves. Unlike ALTI+, this includes the feed-forward network, and each
layer is measured alone: after a layer, the stream gets its recorded state back before the next layer reads it. So one
pass of the model measures all layers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_attention_steps
from model.analysis.followed import Followed
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.inference.passes import pass_over
from model.messages import Message
from model.network.protocols import Reads
from model.network.residual_stream import Stack
from model.trace import Edit, hook_name, tracing

__all__ = ["Zeroing", "value_zeroing"]

MAX_PRODUCTS = 1 << 37  # multiplications for one text, a few seconds on one core
MAX_TENSOR_SIZE = 1 << 22  # numbers in the largest tensor of a batch, 16 MB

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Zeroing:
    """How far the output of each layer moves at each position, as a cosine distance.

    The layers are those of the decoder; of the encoder in a model that only reads.
    """

    source: FloatArray  # (L, T or S, S): without the value of a source token
    target: FloatArray  # (L, T, T): without the value of a target token; (L, S, 0) in a model that only reads
    residual: float  # with nothing zeroed, the largest difference of a layer's output from the model's own

    @property
    def shares(self) -> FloatArray:
        """The share of the source tokens in all distances, (L, T); 0.5 where nothing moves."""
        source = self.source.sum(axis=-1)
        return share_of(source, source + self.target.sum(axis=-1))

    def given(self, prompt_length: int = 0) -> FloatArray:
        """The share of what the model was given, (L, T): of the source, or of the prompt of a language model.

        Args:
            prompt_length: How many of the first written tokens are a prompt.
        """
        if self.source.size:
            return self.shares
        return share_of(self.target[..., : prompt_length + 1].sum(axis=-1), self.target.sum(axis=-1))


def share_of(part: FloatArray, whole: FloatArray) -> FloatArray:
    """A part of a distance divided by the whole, in single precision; 0.5 where nothing moves."""
    return np.divide(part, whole, out=np.full_like(whole, 0.5), where=whole > 0)


class LastLayerReached(Exception):  # noqa: N818 - not an error
    """Ends a pass of the model after its last layer, because nobody reads the logits."""


@torch.inference_mode()
def value_zeroing(text: Followed) -> Zeroing:
    """Zero the value of one token at a time in each layer. The model runs again; it never changes.

    Raises:
        ConfigError: the model's blocks are not known, it is read-only, or the text is too long.
    """
    require_attention_steps(text.model)
    stack = text.model.stack("decoder" if "decoder" in text.maps else "encoder")
    experiment = Experiment(text, stack)
    kinds = dict.fromkeys(block.kind for block in stack.blocks if block.kind is not None)
    experiment.require_short(list(kinds))
    residual = experiment.differences()
    found = {kind: experiment.distances(kind) for kind in kinds}
    nothing = np.zeros((len(stack.streams) - 1, experiment.length, 0), dtype=np.float32)
    return Zeroing(
        source=found.get("cross", found.get("encoder", nothing)),
        target=found.get("decoder", nothing),
        residual=residual,
    )


class Experiment:
    """Passes of one model over one text, with edits."""

    def __init__(self, text: Followed, stack: Stack) -> None:
        self.text, self.stack = text, stack
        streams = (text.recording.array(name) for name in stack.streams[1:])
        self.streams = [torch.tensor(stream, device=text.model.device) for stream in streams]  # (T, D)
        self.length, self.width = self.streams[0].shape
        self.run_rows = pass_over(text.model, text.ids("encoder"), text.ids("decoder"))

    def run(self, rows: int, edits: dict[str, Edit], watch: Callable[[int, Tensor, Tensor], None]) -> None:
        """Run over a batch of equal rows. After each layer, `watch` sees the changed and the recorded stream.

        Then the next layer reads the recorded stream.
        """

        def restore(layer: int, stream: Tensor) -> Tensor:
            own = self.streams[layer].to(stream)
            watch(layer, stream, own)
            if layer == len(self.streams) - 1:
                raise LastLayerReached
            return own.expand_as(stream)

        restored = {name: partial(restore, layer) for layer, name in enumerate(self.stack.streams[1:])}
        try:
            with tracing(record=(), edits=edits | restored):
                self.run_rows(rows)
        except LastLayerReached:
            return

    def differences(self) -> float:
        """The largest difference of a layer's output from the recorded one, with nothing zeroed."""
        found = [0.0]
        self.run(1, {}, lambda _layer, stream, own: found.append(float((stream[0] - own).abs().max())))
        return max(found)

    def distances(self, kind: str) -> FloatArray:
        """How far the output of each layer moves without the value of each key: 1 − cosine, (L, T, keys)."""
        keys, rows = len(self.text.keys(kind)), self.rows_per_batch(kind)
        found = np.zeros((len(self.streams), self.length, keys), dtype=np.float32)

        def measure(layer: int, stream: Tensor, own: Tensor) -> None:
            distance = 1 - torch.cosine_similarity(own.double(), stream.double(), dim=-1)  # (count, T)
            found[layer, :, first : first + len(stream)] = distance.clamp_min(0).T.cpu().numpy()

        for first in range(0, keys, rows):
            count = min(rows, keys - first)
            self.run(count, {hook_name(kind, "*", "values"): without_each(first)}, measure)
        return found

    def rows_per_batch(self, kind: str) -> int:
        """How many copies of the text fit into one batch, at least one."""
        longest = max(self.length, len(self.text.keys(kind)))
        width = max(4 * self.width, self.text.model.config.num_heads * longest)
        return max(1, MAX_TENSOR_SIZE // (longest * width))

    def require_short(self, kinds: list[str]) -> None:
        """Refuse a text that would take too long.

        Raises:
            ConfigError: the passes need more than `MAX_PRODUCTS` multiplications.
        """
        keys = {kind: len(self.text.keys(kind)) for kind in kinds}
        products = sum(keys.values()) * self.length * parameters_of_layers(self.text.model)
        if products > MAX_PRODUCTS:
            lengths = {KINDS[kind].keys: count for kind, count in keys.items()}
            counted = (
                Message(
                    "It has {source} source tokens and {target} target tokens.",
                    source=lengths["source"],
                    target=lengths["read"],
                )
                if len(lengths) > 1
                else Message("It has {n} tokens.", n=max(lengths.values()))
            )
            raise ConfigError(
                "The text is too long for value zeroing. {counted} It needs {products} billion multiplications, "
                "and the limit is {limit} billion. Shorten the text.",
                counted=counted,
                products=f"{products / 1e9:,.0f}",
                limit=f"{MAX_PRODUCTS / 1e9:,.0f}",
            )


def parameters_of_layers(model: Reads) -> int:
    """How many parameters the matrices of the layers have, without those that are as tall as the vocabulary."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() == 2]
    vocabulary = max(map(len, matrices))
    return sum(matrix.numel() for matrix in matrices if len(matrix) < vocabulary)


def without_each(first: int) -> Edit:
    """An edit for `*.values` (B, H, S, K) that zeroes key `first` + j in row j of the batch."""

    def edit(values: Tensor) -> Tensor:
        rows = torch.arange(values.size(0), device=values.device)
        zeroed = values.clone()
        zeroed[rows, :, first + rows] = 0.0
        return zeroed

    return edit
