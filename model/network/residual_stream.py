"""How a model makes its residual stream: what each block reads and adds, and how the last state becomes logits.

A model describes itself with a `Stack`. Analyses read this description beside a recording. They do not ask for the
class of a model, so they work for our own models and for those of other libraries. Names are names of hook points.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from model.network.norms import SampleNorm, sample_deviation

__all__ = [
    "Activation",
    "AttentionPooling",
    "Block",
    "Code",
    "Matrix",
    "Norm",
    "Pooling",
    "ReadoutStep",
    "Stack",
    "StackName",
    "norm_of",
    "read_out",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class Norm:
    """(x − mean) / √(variance + ε) · scale + shift: a LayerNorm (Ba et al. 2016).

    If it is not `centred`, it is an RMSNorm (Zhang and Sennrich 2019): x / √(mean of x² + ε) · scale + shift. If it is
    of a `sample`, see `SampleNorm`.
    """

    scale: Tensor  # (D,)
    shift: Tensor  # (D,)
    epsilon: float
    centred: bool = True
    sample: bool = False

    def __call__(self, x: Tensor) -> Tensor:  # (…, D) → (…, D)
        if self.centred:
            x = x - x.mean(dim=-1, keepdim=True)
        return x / self.divisor(x) * self.scale.to(x) + self.shift.to(x)

    def divisor(self, x: Tensor) -> Tensor:
        """What the centred `x` is divided by: (…, D) → (…, 1)."""
        if self.sample:
            return sample_deviation(x) + self.epsilon
        return (x.square().mean(dim=-1, keepdim=True) + self.epsilon).sqrt()


@dataclass(frozen=True, kw_only=True, eq=False)
class Matrix:
    """xWᵀ + b."""

    weight: Tensor  # (N, D)
    bias: Tensor | None = None  # (N,)

    def __call__(self, x: Tensor) -> Tensor:  # (…, D) → (…, N)
        product = x @ self.weight.to(x).T
        return product if self.bias is None else product + self.bias.to(x)


@dataclass(frozen=True, kw_only=True, eq=False)
class Activation:
    """A function of each number with f(0) = 0, such as GELU, tanh, a cap or a constant factor."""

    function: Callable[[Tensor], Tensor]

    def __call__(self, x: Tensor) -> Tensor:  # (…, N) → (…, N)
        return self.function(x)


# A classifier reads one vector: that of the first token, a mean, or a mean weighted by attention. "late" is the mean of
# the logits of all positions (EuroBERT).
StackName = Literal["encoder", "decoder"]
Pooling = Literal["none", "first", "mean", "attention", "late"]
ReadoutStep = Norm | Matrix | Activation
Code = tuple[Callable[..., object], ...]  # functions whose source is shown


def read_out(steps: Sequence[ReadoutStep], x: Tensor) -> Tensor:
    """Apply the steps one after the other: from states (…, D) to logits (…, N)."""
    for step in steps:
        x = step(x)
    return x


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Attention or a feed-forward network: it reads the stream and adds a vector to it.

    The stream after the block is norm_after(stream + added), where the stream is the one after the block before. In a
    layer with parallel blocks (GPT-NeoX), the second block reads the stream of the first.
    """

    name: str  # of the module, such as "decoder.layers.3.cross_attention" or "decoder.layers.3.feed_forward"
    kind: str | None  # the kind of attention, one of `KINDS`; None for a feed-forward network
    layer: int  # counted from 0
    reads: str  # the stream that it reads, (B, T, D)
    added: str  # the vector that it adds, (B, T, D): multiplier · norm_added(output)
    norm_before: Norm | None = None  # of what it reads ("pre")
    norm_added: Norm | None = None  # of its output (Gemma 2, OLMo 2)
    norm_after: Norm | None = None  # of the sum ("post")
    multiplier: float = 1.0  # of its output (Granite)
    # Only of attention. The queries of a position (H, K), from norm_before(reads) there (D,), and the position:
    query: Callable[[Tensor, int], Tensor] | None = None  # None where they are only recorded
    score_vector: Tensor | None = None  # (H, K), of additive scores
    # Only of a feed-forward network:
    feed_forward: Callable[[Tensor], Tensor] | None = None  # from norm_before(reads) to its output, (…, D) → (…, D)
    units: str = ""  # its units after the activation, (B, T, F); "" where they are not recorded
    contract: Matrix | None = None  # from its units to its output; None where it needs more than one matrix
    # To show the code of a block:
    code: Code = ()  # computes its output
    sum_code: Code = ()  # computes the norms around it and the sum


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionPooling:
    """One learned query attends to all normed states."""

    weights: str  # the hook point of its weights, (B, H, 1, S)
    values: Matrix  # from a state to the values of all heads, D → H·K
    output: Matrix  # from the head outputs to the pooled vector, H·K → D
    pool: Callable[[Tensor], Tensor]  # from normed states to the pooled vector, (B, S, D) → (B, D)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stack:
    """The encoder or the decoder of a model."""

    name: StackName
    token_vectors: str  # the token embeddings, scaled as the model uses them, (B, T, D)
    embedding: str  # their sum with positions and token types, (B, T, D)
    embedding_norm: Norm | None  # of this sum (BERT, BART); streams[0] comes after it
    embedding_matrix: Matrix | None = None  # after this norm, where the embeddings are narrower (ELECTRA)
    blocks: tuple[Block, ...]  # in the order of the sum
    streams: tuple[str, ...]  # before the first layer and after each layer, L + 1 hook points (B, T, D)
    final_norm: Norm | None  # of the last stream
    pooling: Pooling = "none"
    attention_pooling: AttentionPooling | None = None  # only for "attention"
    readout: tuple[ReadoutStep, ...] = ()  # from the normed (and pooled) states to logits; () if nothing is written
    embed: Callable[[Tensor], Tensor] | None = None  # from token ids (B, T) to `token_vectors`
    embed_scale: float = 1.0  # the factor of the token embeddings in it, where it is shown
    embedding_code: Code = ()  # computes `embedding`
    readout_code: Code = ()  # computes the logits

    def blocks_of(self, layer: int) -> list[Block]:
        """The blocks of one layer."""
        return [block for block in self.blocks if block.layer == layer]

    def enter(self, total: Tensor) -> Tensor:
        """The stream before the first layer, from the sum of the embeddings: (…, E) → (…, D)."""
        normed = total if self.embedding_norm is None else self.embedding_norm(total)
        return normed if self.embedding_matrix is None else self.embedding_matrix(normed)

    def logits(self, stream: Tensor) -> Tensor:
        """The logits of the last stream, or of an earlier one in its place: (…, D) → (…, N). Without pooling."""
        return read_out(self.readout, stream if self.final_norm is None else self.final_norm(stream))


def norm_of(module: nn.Module) -> Norm | None:
    """The description of an `nn.LayerNorm` or an `nn.RMSNorm`; None for `nn.Identity`.

    Raises:
        TypeError: another module.
    """
    if isinstance(module, nn.Identity):
        return None
    if not isinstance(module, nn.LayerNorm | nn.RMSNorm):
        raise TypeError(f"{type(module).__name__} is neither a norm nor an identity.")
    weight, bias = module.weight.detach(), getattr(module, "bias", None)
    return Norm(
        scale=weight,
        shift=torch.zeros_like(weight) if bias is None else bias.detach(),
        epsilon=module.eps or 0.0,
        centred=isinstance(module, nn.LayerNorm),
        sample=isinstance(module, SampleNorm),
    )
