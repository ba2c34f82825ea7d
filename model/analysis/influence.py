"""How much each predicted token depends on each token that the model read.

The method is ALTI+ (Ferrando et al. 2022, "Towards Opening the Black Box of Neural Machine Translation"). At each
position, the output of attention is a sum of vectors, one for each key. In self-attention, the residual connection
belongs to the vector of the position itself; in cross-attention, it is a separate vector, which comes from the target.
The share of a vector is how much closer it brings the sum to the output. Shares are multiplied layer by layer.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.analysis.availability import require_attention_steps
from model.analysis.followed import Followed
from model.analysis.streams import (
    FloatArray,
    Passage,
    head_matrices,
    linearize,
    pooling_map,
    recorded,
    stacks_of,
    walk,
)
from model.config.section import ConfigError
from model.inference.run import AttentionMaps, RecordedArrays
from model.network.protocols import Reads
from model.network.residual_stream import Stack, read_out
from model.trace import hook_name

__all__ = ["Influence", "influence", "nearness_shares"]

MAX_PRODUCTS = 1 << 35  # multiplications for one text, about five seconds on one core
MAX_VECTORS = 1 << 20  # numbers in the vectors that are computed at once, 4 MB: they stay in the processor's cache

ROUNDING = 1e-4  # of the largest number in a layer


@dataclass(frozen=True, kw_only=True)
class Influence:
    """The shares of all tokens that the model read, at each position. A row of both arrays sums to 1.

    Rows are positions of the decoder (T), or of the encoder in a model that only reads (S).
    """

    source: FloatArray  # (T or S, S)
    target: FloatArray  # (T, T): of the target tokens, beginning with `<s>`; (S, 0) in a model that only reads
    residual: float  # the largest difference of a layer, as the sum of its vectors, from the recorded layer
    size: float  # the largest number in a recorded layer
    pooled: FloatArray | None = None  # (S,), in the vector that a classifier reads

    @property
    def agrees(self) -> bool:
        """Whether the vectors of all layers add up to the recorded layers, except for rounding."""
        return self.residual <= ROUNDING * max(1.0, self.size)

    def given(self, prompt_length: int = 0) -> FloatArray:
        """The share of what the model was given, (T,): of the source, or of the prompt of a language model.

        Args:
            prompt_length: How many of the first written tokens are a prompt.
        """
        return (self.source if self.source.size else self.target[:, : prompt_length + 1]).sum(axis=1)


@torch.inference_mode()
def influence(text: Followed) -> Influence:
    """Follow each position back to the tokens that the model read.

    Raises:
        ConfigError: the model's blocks are not known, it is read-only, or the text is too long.
    """
    model, maps = text.model, text.maps
    require_attention_steps(model)
    stacks_of(model)
    require_short(model, maps)
    recording, agreement = text.recording, Agreement()
    encoder, pooled = np.zeros((0, 0)), None
    if "encoder" in maps:
        encoder, pooled = encoder_shares(model, maps, recording, agreement)
    source, target = encoder, np.zeros((len(encoder), 0))
    if "decoder" in maps:
        source, target = decoder_shares(model, maps, recording, encoder, agreement)
    return Influence(source=source, target=target, residual=agreement.residual, size=agreement.size, pooled=pooled)


@dataclass(kw_only=True)
class Agreement:
    """How far the sums of vectors are from what was recorded."""

    residual: float = 0.0  # the largest difference
    size: float = 0.0  # the largest recorded number

    def compare(self, ours: Tensor, models: Tensor) -> None:
        """Note the difference of a sum from the recorded vectors."""
        self.residual = max(self.residual, float((ours - models).abs().max()))
        self.size = max(self.size, float(models.abs().max()))


def encoder_shares(
    model: Reads, maps: AttentionMaps, recording: RecordedArrays, agreement: Agreement
) -> tuple[FloatArray, FloatArray | None]:
    """The share of each token (column) in each last state (row), (S, S), and in the pooled vector, (S,)."""
    stack, found = model.stack("encoder"), np.eye(maps["encoder"].shape[-1])
    last = recorded(recording, stack.streams[0])
    for passage in walk(stack, recording):
        last = passage.after
        if passage.block.kind is not None:
            found = decompose(model, passage, maps, recording, agreement) @ found
    agreement.compare(last, recorded(recording, stack.streams[-1]))
    return found, None if stack.pooling == "none" else pooled_shares(stack, recording, last) @ found


def decoder_shares(
    model: Reads, maps: AttentionMaps, recording: RecordedArrays, encoder: FloatArray, agreement: Agreement
) -> tuple[FloatArray, FloatArray]:
    """The shares of the source tokens (T, S) and of the target tokens (T, T) in each last state."""
    stack, count = model.stack("decoder"), maps["decoder"].shape[-2]
    target, source = np.eye(count), np.zeros((count, len(encoder)))
    last = recorded(recording, stack.streams[0])
    for passage in walk(stack, recording):
        last = passage.after
        if passage.block.kind is None:
            continue
        found = decompose(model, passage, maps, recording, agreement)
        if passage.block.kind == "cross":
            kept = found[:, -1:]
            target, source = kept * target, kept * source + found[:, :-1] @ encoder
        else:
            target, source = found @ target, found @ source
    agreement.compare(last, recorded(recording, stack.streams[-1]))
    return source, target


def decompose(
    model: Reads, passage: Passage, maps: AttentionMaps, recording: RecordedArrays, agreement: Agreement
) -> FloatArray:
    """The shares of the keys in one attention block with its residual connection.

    Returns:
        In self-attention, a column is a token (T, T), and the residual connection counts for the token itself. In
        cross-attention, the last column is the residual connection (T, S + 1).
    """
    block = passage.block
    assert block.kind is not None
    weights = torch.from_numpy(maps[block.kind][block.layer].astype(np.float64))  # (H, T, S)
    values = recorded(recording, hook_name(block.kind, block.layer, "values"))  # (H, S, K)
    matrices, bias = head_matrices(model, block.kind, block.layer, len(values))
    mixed = values @ matrices  # (H, S, D)
    output = torch.einsum("htk,hkd->td", weights @ values, matrices) + bias
    inner = linearize(block.norm_added, output)
    added = block.multiplier * inner.whole(output)
    after = linearize(block.norm_after, passage.before + added)
    # What does not depend on the query is applied once to the values, and what is one number per query to the weights.
    vectors = after.undivided(block.multiplier * inner.undivided(mixed))  # (H, S, D)
    divisors = [linear.divisor for linear in (inner, after) if linear.divisor is not None]
    for divisor in divisors:
        weights = weights / divisor  # (H, T, S)
    agreement.compare(added, passage.added)
    total, kept = after.whole(passage.before + added), after.parts(passage.before)
    return shares_of_keys(total, weights, vectors, kept, own=block.kind != "cross")


def shares_of_keys(total: Tensor, weights: Tensor, vectors: Tensor, residual: Tensor, *, own: bool) -> FloatArray:
    """The shares of the vectors of all keys and of the residual connection in the output of a block.

    Args:
        total: The output, (T, D).
        weights: (H, T, S).
        vectors: Of each key through each head, (H, S, D). Times the weights, they add up to the output.
        residual: The residual connection, (T, D).
        own: The residual connection belongs to the vector of the position itself. Otherwise it comes last.

    Returns:
        (T, S) or (T, S + 1); rows sum to 1.
    """
    y, kept = total.float(), residual.float()
    by_key, mixed = weights.permute(2, 1, 0).float().contiguous(), vectors.transpose(0, 1).float().contiguous()
    length = y.abs().sum(dim=-1)  # (T,)
    nearer = torch.empty(len(y), len(mixed))  # (T, S)
    step = max(1, MAX_VECTORS // y.numel())
    for first in range(0, len(mixed), step):
        keys = slice(first, first + step)
        parts = torch.bmm(by_key[keys], mixed[keys])  # (s, T, D)
        if own:
            positions = torch.arange(first, first + len(parts))
            parts[positions - first, positions] += kept[positions]
        nearer[:, keys] = (length - parts.sub_(y).abs_().sum(dim=-1)).T
    masked = (weights == 0).all(dim=0)  # (T, S): a part that is 0 has exactly the share 0, whatever the rounding
    if own:
        masked.fill_diagonal_(False)
    nearer = nearer.masked_fill(masked, 0.0)
    if not own:
        nearer = torch.cat([nearer, (length - (y - kept).abs().sum(dim=-1))[:, None]], dim=1)
    return normalize(nearer).numpy()


def nearness_shares(total: Tensor, parts: Tensor) -> Tensor:
    """The share of each part in a sum y: ‖y‖₁ − ‖y − part‖₁ where this is above 0, divided by the total of all parts.

    Args:
        total: y, (T, D). It may contain a rest that is in no part.
        parts: (T, N, D).

    Returns:
        (T, N); rows sum to 1.
    """
    return normalize(total.abs().sum(dim=-1, keepdim=True) - (total[:, None] - parts).abs().sum(dim=-1))


def normalize(nearer: Tensor) -> Tensor:
    """How much closer each part brings a sum (T, N), as shares: rows sum to 1. Parts that lead away have no share."""
    nearer = nearer.double().clamp_min(0)  # in single precision, the shares of several layers would not sum to 1
    whole = nearer.sum(dim=1, keepdim=True)
    even = torch.full_like(nearer, 1 / nearer.size(1))  # where no part brings the sum closer, all have the same share
    return torch.where(whole > 0, nearer / whole, even)


def pooled_shares(stack: Stack, recording: RecordedArrays, last: Tensor) -> FloatArray:
    """The share of each state (S, D) of the last stream in the pooled vector, or in the pooled logits, (S,)."""
    states = linearize(stack.final_norm, last).whole(last)
    if stack.pooling == "late":
        logits = read_out(stack.readout, states) / len(states)  # (S, C)
        return nearness_shares(logits.sum(dim=0)[None], logits[None])[0].numpy()
    pooling = pooling_map(stack, recording, len(states))
    return nearness_shares(pooling.whole(states)[None], pooling.vectors(states)[None])[0].numpy()


def require_short(model: Reads, maps: AttentionMaps) -> None:
    """Refuse a text that would take too long.

    Raises:
        ConfigError: the vectors of all layers need more than `MAX_PRODUCTS` multiplications.
    """
    products, longest = 0, 0
    for kind, found in maps.items():
        layers, heads, queries, keys = found.shape
        width = model.mixing(kind, 0).matrix.size(1)
        products += layers * heads * queries * keys * width
        longest = max(longest, queries, keys)
    if products > MAX_PRODUCTS:
        raise ConfigError(
            "The text has {n} tokens. To follow them through all layers takes {products} billion "
            "multiplications; the limit is {limit} billion. Shorten the text.",
            n=longest,
            products=f"{products / 1e9:,.0f}",
            limit=f"{MAX_PRODUCTS / 1e9:,.0f}",
        )
