"""What a head looks for, what it writes, and which heads read it, from its weights alone.

The QK circuit of a head is W_Q W_Kᵀ, its OV circuit W_V W_O (Elhage et al. 2021, "A Mathematical Framework for
Transformer Circuits"). Both are products of thin factors, so no (D, D) or (V, V) matrix is made: a singular value, a
norm or an eigenvalue of a product is one of a (K, K) matrix.

The scale of the norm in front of a head, and its subtraction of the mean, are part of the factors, and so are those of
the norms that lie between two heads, or between a head and the logits. Their division by the deviation depends on the
text and is left out: it multiplies a circuit with a positive number. Only where a head reads a single token, the norms
in front of it divide by the deviation of this token's vector. Biases and the shifts of norms are constant and
belong to no circuit; only the bias of the queries changes which keys a query prefers, and it counts there.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.streams import FloatArray, LinearMap, linearize, stacks_of
from model.checkpoints.checkpoint import Loaded
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.interventions import Head
from model.network.protocols import STAGES, Reads, Stage
from model.network.residual_stream import Activation, Block, Matrix, Norm, ReadoutStep, Stack

__all__ = [
    "Composition",
    "Compositions",
    "Extremes",
    "Spectrum",
    "compositions",
    "copying_score",
    "spectrum",
    "token_keys",
    "token_writes",
]

BLOCK = 512  # tokens of the vocabulary at once: their vectors fit into the memory near a core
TINY = 1e-30  # instead of 0 as a divisor, for heads whose weights are all 0
EVERY = slice(None)  # all heads of a layer
Circuit = tuple[Tensor, Tensor]  # two thin factors of the heads of a layer: (H, D, K) and (H, K, D)


@dataclass(frozen=True, kw_only=True)
class Extremes:
    """For each of N tokens, the K' tokens of a vocabulary with the largest numbers and those with the smallest."""

    most: NDArray[np.int64]  # (N, K'), ids, the largest number first
    most_values: FloatArray
    least: NDArray[np.int64]  # (N, K'), ids, the smallest number first
    least_values: FloatArray


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """The singular values of a circuit, largest first."""

    values: FloatArray  # (K,)

    @property
    def effective_rank(self) -> float:
        """E to the power of the entropy of the values as shares (Roy and Vetterli 2007).

        It is K if all values are equal, and 1 if only one is not 0.
        """
        shares = self.values / max(self.values.sum(), TINY)
        return float(np.exp(-(shares * np.log(np.where(shares > 0, shares, 1.0))).sum()))


@dataclass(frozen=True, kw_only=True)
class Composition:
    """How much of what one head reads is what another head wrote."""

    writer: Head
    reader: Head
    through: Stage  # queries, keys or values: Q-, K- or V-composition
    score: float  # 0 to 1


@dataclass(frozen=True, kw_only=True)
class Compositions:
    """All compositions of one head, the strongest first."""

    into: tuple[Composition, ...]  # it is the reader
    out_of: tuple[Composition, ...]  # it is the writer
    baseline: float  # the score of two random heads


@torch.no_grad()
def spectrum(checkpoint: Loaded, head: Head) -> dict[str, Spectrum]:
    """The singular values of "QK" and "OV". "QK" is missing where the head has no fixed matrix for it.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    model = checkpoint.model
    found = circuits(model, block_of(model, head)[1], only(head))
    names: dict[Stage, str] = {"queries": "QK", "values": "OV"}
    return {name: spectrum_of(found[stage]) for stage, name in names.items() if stage in found}


def spectrum_of(factors: Circuit) -> Spectrum:
    """The singular values of the circuit of one head, from triangular factors (K, K)."""
    first, second = (torch.linalg.qr(part[0].double()).R for part in (factors[0], factors[1].mT))
    return Spectrum(values=torch.linalg.svdvals(first @ second.T).numpy())


@torch.no_grad()
def token_keys(checkpoint: Loaded, head: Head, queries: Sequence[int], most: int = 5) -> Extremes:
    """The tokens that each query token prefers as keys, and those that it avoids: the full QK circuit.

    The layer reads each token alone: its embedding without a position, to which earlier blocks add nothing. The numbers
    are scores of the layer, before a limit and without a number for the distance, minus their mean over all keys. With
    rotary positions they hold for a query and a key at the same position.

    Args:
        checkpoint: With scaled dot products.
        head: Of it.
        queries: N token ids.
        most: K', how many tokens for each query.

    Raises:
        ConfigError: the model has no such circuit.
    """
    model = checkpoint.model
    stack, block = block_of(model, head)
    query, key = (matrix_of_head(model, head, stage) for stage in ("queries", "keys"))
    asked = query(read_alone(model, stack, block, queries))  # (N, K)
    directions = asked @ key.weight * model.scoring(head.kind, head.layer).scaling  # (N, D)
    scores = torch.cat([directions @ part.T for part in every_key(checkpoint, head)], dim=1)  # (N, V)
    return extremes(scores - scores.mean(dim=1, keepdim=True), most)


@torch.no_grad()
def token_writes(checkpoint: Loaded, head: Head, keys: Sequence[int], most: int = 5) -> Extremes:
    """The output tokens that the head raises and lowers when it attends to a token: the full OV circuit.

    The layer reads the token alone, as in `token_keys`, and later blocks add nothing. The numbers are changes of
    logits, minus their mean over the vocabulary, divided by their standard deviation: the size of a change depends on
    the deviations of the norms on the way.

    Args:
        checkpoint: That writes or fills in tokens.
        head: Of it.
        keys: N token ids that are attended to.
        most: K', how many tokens for each of them.

    Raises:
        ConfigError: the model has no such circuit.
    """
    model = checkpoint.model
    values, outputs, unembedding = to_vocabulary(model, head)
    logits = keys_alone(model, head)(keys) @ values @ outputs @ unembedding.T  # (N, V)
    changes = logits - logits.mean(dim=1, keepdim=True)
    return extremes(changes / changes.std(dim=1, keepdim=True).clamp_min(TINY), most)


@torch.no_grad()
def copying_score(checkpoint: Loaded, head: Head) -> float:
    """How far the full OV circuit raises the tokens that it reads: Σλ / Σ|λ| over its eigenvalues λ, from −1 to 1.

    1: all eigenvalues are positive, as of a head that copies (Elhage et al. 2021, "Summarizing OV/QK Matrices"). The
    (V, V) circuit E W_V W_O U has the same eigenvalues as the (K, K) product of its factors in the other order.

    Raises:
        ConfigError: the model has no such circuit, or it reads and writes different vocabularies.
    """
    model = checkpoint.model
    values, outputs, unembedding = to_vocabulary(model, head)
    tokenizers = checkpoint.tokenizers
    if head.kind == "cross" and tokenizers.source is not tokenizers.target:
        raise ConfigError("The source and the target have different vocabularies, so a head cannot copy a token.")
    factors = (
        (outputs @ rows.T) @ (read[: len(rows)] @ values)  # (K, K)
        for read, rows in zip(every_key(checkpoint, head), unembedding.split(BLOCK), strict=False)
    )
    eigenvalues = torch.linalg.eigvals(finite(sum(factors, torch.zeros(()))))
    return float(eigenvalues.real.sum() / eigenvalues.abs().sum().clamp_min(TINY))


@torch.no_grad()
def compositions(checkpoint: Loaded, head: Head) -> Compositions:
    """How strongly a head reads what other heads write, and they what it writes: Q-, K- and V-composition.

    The score of a writer and a reader is ‖W_OV W‖ / (‖W_OV‖ ‖W‖) in Frobenius norms, where W is W_QK, W_QKᵀ or W_OV of
    the reader (Elhage et al. 2021). For factors with independent Gaussian numbers the expected square of the numerator
    is 1/D of that of the denominator, so the baseline is 1/√D.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    model = checkpoint.model
    own = block_of(model, head)[1]
    circuits_here = circuits(model, own, only(head))
    every = [(stack, block) for stack in stacks_of(model) for block in attention_blocks(stack)]
    into: list[Composition] = []
    out_of: list[Composition] = []
    for stack, writer in every:
        here = writer.name == own.name
        writers = [head] if here else heads_of(model, writer)
        values, outputs = circuits_here["values"] if here else circuit(model, writer, EVERY, "values")
        for reader, stages, moved in readers(model, stack, writer, outputs):
            if here:
                out_of += links(
                    writers, (values, moved), heads_of(model, reader), circuits(model, reader, EVERY), stages
                )
            elif reader.name == own.name:
                into += links(writers, (values, moved), [head], circuits_here, stages)
    return Compositions(into=strongest(into), out_of=strongest(out_of), baseline=model.config.d_model**-0.5)


def links(
    writers: Sequence[Head],
    wrote: Circuit,
    readers: Sequence[Head],
    read: Mapping[Stage, Circuit],
    stages: Collection[Stage],
) -> Iterator[Composition]:
    """The compositions of some heads of one layer with some of another, through the stages that are known."""
    left = wrote[0][:, None], wrote[1][:, None]
    for stage in stages:
        if stage in read:
            scores = composition(left, read[stage])  # (W, R)
            for (writer, reader), found in zip(product(writers, readers), scores.flatten().tolist(), strict=True):
                yield Composition(writer=writer, reader=reader, through=stage, score=found)


def strongest(found: Sequence[Composition]) -> tuple[Composition, ...]:
    return tuple(sorted(found, key=lambda one: -one.score))


def heads_of(model: Reads, block: Block) -> list[Head]:
    assert block.kind is not None
    return [Head(block.kind, block.layer, head) for head in range(model.config.num_heads)]


def only(head: Head) -> slice:
    return slice(head.head, head.head + 1)


def block_of(model: Reads, head: Head) -> tuple[Stack, Block]:
    """The attention block of a head, and its stack. Raises ConfigError if the blocks of the model are not known."""
    stack = model.stack(KINDS[head.kind].stack)
    return stack, next(
        block for block in attention_blocks(stack) if (block.kind, block.layer) == (head.kind, head.layer)
    )


def attention_blocks(stack: Stack) -> Iterator[Block]:
    return (block for block in stack.blocks if block.kind is not None)


def linear_part(step: ReadoutStep | None) -> LinearMap:
    """A step without its constant, and without the division of a norm by the deviation.

    Raises:
        ConfigError: the step is a function that is not linear.
    """
    sample = step.scale.cpu() if isinstance(step, Norm) else torch.tensor([-2.0, -1.0, 1.0, 2.0])
    found = linearize(step, sample)
    factor, weight = (None if part is None else part.float() for part in (found.factor, found.weight))
    if not isinstance(step, Activation):
        return LinearMap(centred=found.centred, factor=factor, weight=weight)
    assert factor is not None
    if not torch.allclose(factor, factor[:1]):
        raise ConfigError(
            "The model applies a function that is not linear between its last state and its logits. So what a head "
            "writes changes no logit by a fixed amount."
        )
    return LinearMap(factor=factor[:1])


def matrix_of(model: Reads, block: Block, stage: Stage) -> Matrix:
    """What computes the queries, keys or values of all heads, D → H·K.

    Raises:
        ConfigError: the scores are no products, or the stage has no fixed matrix.
    """
    assert block.kind is not None
    if stage != "values" and model.config.attention != "scaled_dot_product":
        raise ConfigError(
            "The scores of {attention} attention are no products of queries and keys, so its heads have no QK circuit.",
            attention=model.config.attention,
        )
    return model.projection(block.kind, block.layer, stage)


def matrix_of_head(model: Reads, head: Head, stage: Stage) -> Matrix:
    """What computes the queries, keys or values of one head, D → K, in single precision."""
    whole = matrix_of(model, block_of(model, head)[1], stage)
    bias = None if whole.bias is None else by_head(model, whole.bias, only(head))[0]
    return Matrix(weight=by_head(model, whole.weight, only(head))[0], bias=bias)


def circuits(model: Reads, block: Block, heads: slice) -> dict[Stage, Circuit]:
    """What heads of a layer do with what each stage reads; a stage without a fixed matrix is missing."""
    found: dict[Stage, Circuit] = {"values": circuit(model, block, heads, "values")}
    with suppress(ConfigError):  # `token_keys` says why
        queries, keys = circuit(model, block, heads, "queries")
        found |= {"queries": (queries, keys), "keys": (keys.mT, queries.mT)}
    return found


def circuit(model: Reads, block: Block, heads: slice, stage: Stage) -> Circuit:
    """For queries W_Q and W_Kᵀ, for values W_V and W_O."""
    if stage == "queries":
        return folded(model, block, heads, stage), folded(model, block, heads, "keys").mT
    assert block.kind is not None
    mixing = by_head(model, model.mixing(block.kind, block.layer).matrix, heads) * block.multiplier  # (H, K, D)
    return folded(model, block, heads, stage), linear_part(block.norm_added).parts(mixing)


def folded(model: Reads, block: Block, heads: slice, stage: Stage) -> Tensor:
    """The matrix of each head after the norm of what it reads, (H, D, K)."""
    weight = by_head(model, matrix_of(model, block, stage).weight, heads)  # (H, K, D)
    reads_memory = block.kind == "cross" and stage != "queries"  # the states of the encoder, and not the stream
    return linear_part(None if reads_memory else block.norm_before).pulled_back(weight).mT


def by_head(model: Reads, rows: Tensor, heads: slice) -> Tensor:
    """Rows (H·K, …) of some heads in single precision, (H, K, …)."""
    return finite(rows.unflatten(0, (model.config.num_heads, -1))[heads].float().cpu())


def finite(numbers: Tensor) -> Tensor:
    """The same tensor. Raises ConfigError if it has infinite numbers or values that are not numbers."""
    if bool(torch.isfinite(numbers).all()):
        return numbers
    raise ConfigError("Some weights are not finite numbers, so the head has no circuits.")


def readers(
    model: Reads, stack: Stack, writer: Block, outputs: Tensor
) -> Iterator[tuple[Block, tuple[Stage, ...], Tensor]]:
    """The later attention blocks, the stages that read what a block wrote, and how it arrives there.

    Args:
        model: The model.
        stack: Of the writer.
        writer: An attention block.
        outputs: What its heads write, (…, K, D).
    """
    later = stack.blocks[[block.name for block in stack.blocks].index(writer.name) :]
    for block in later:
        if block is not later[0] and block.kind is not None:
            yield block, ("queries",) if block.kind == "cross" else STAGES, outputs
        outputs = linear_part(block.norm_after).parts(outputs)
    if stack.name == "encoder" and "cross" in model.config.kinds:
        outputs = linear_part(stack.final_norm).parts(outputs)
        for block in attention_blocks(model.stack("decoder")):
            if block.kind == "cross":
                yield block, ("keys", "values"), outputs


def composition(first: Circuit, second: Circuit) -> Tensor:
    """‖A B C D‖ / (‖A B‖ ‖C D‖) of two circuits A B and C D, from (K, K) products. The shapes are broadcast."""
    (a, b), (c, d) = first, second
    left, middle, right = a.mT @ a, b @ c, d @ d.mT  # (…, K, K) each
    whole = ((left @ middle) * (middle @ right)).sum(dim=(-2, -1))
    parts = (left * (b @ b.mT)).sum(dim=(-2, -1)) * ((c.mT @ c) * right).sum(dim=(-2, -1))
    return (whole.clamp_min(0) / parts.clamp_min(TINY)).sqrt()


def read_alone(model: Reads, stack: Stack, block: Block | None, ids: Sequence[int] | Tensor) -> Tensor:
    """What a block reads of tokens that stand alone without a position, (N, D); for None, the states of the stack.

    Raises:
        ConfigError: the embeddings are not known.
    """
    if stack.embed is None:
        raise ConfigError("Headlight does not know how this model computes the vectors of its tokens.")
    vectors = stack.embed(torch.as_tensor(ids, device=model.device)[None])[0].float().cpu()
    stream = stack.enter(vectors)
    for earlier in stack.blocks:
        if block is not None and earlier.name == block.name:
            break
        stream = stream if earlier.norm_after is None else earlier.norm_after(stream)
    norm = stack.final_norm if block is None else block.norm_before
    return stream if norm is None else norm(stream)


def keys_alone(model: Reads, head: Head) -> Callable[[Sequence[int] | Tensor], Tensor]:
    """From tokens that stand alone to what their keys and values are computed from, (N, D).

    It has no shift of the norm of this layer, which is the same for all tokens.
    """
    stack, block = block_of(model, head)
    if head.kind == "cross":
        return partial(read_alone, model, model.stack("encoder"), None)
    norm = block.norm_before
    plain = block if norm is None else replace(block, norm_before=replace(norm, shift=torch.zeros_like(norm.shift)))
    return partial(read_alone, model, stack, plain)


def every_key(checkpoint: Loaded, head: Head) -> Iterator[Tensor]:
    """`keys_alone` for all tokens of the vocabulary, in blocks (N, D)."""
    side = "source" if KINDS[head.kind].keys == "source" else "target"
    size = getattr(checkpoint.tokenizers, side).size
    size = min(size, getattr(checkpoint.model.config, f"{side}_vocab_size", size))  # there may be more rows, or fewer
    return map(keys_alone(checkpoint.model, head), torch.arange(size).split(BLOCK))


def to_vocabulary(model: Reads, head: Head) -> tuple[Tensor, Tensor, Tensor]:
    """W_V of a head (D, K), W_O and the way to the last matrix (K, D), and that matrix (V, D), in single precision.

    Raises:
        ConfigError: the stack of the head writes no tokens, or does it with a function that is not linear.
    """
    stack, block = block_of(model, head)
    if stack.pooling != "none" or not stack.readout:
        raise ConfigError(
            "The outputs of this head reach no word directly: only a later part of the model writes words."
        )
    values = matrix_of_head(model, head, "values").weight.T
    outputs = circuit(model, block, only(head), "values")[1][0]  # (K, D)
    after = stack.blocks[[one.name for one in stack.blocks].index(block.name) :]
    last = max(index for index, step in enumerate(stack.readout) if isinstance(step, Matrix))
    unembedding = stack.readout[last]
    assert isinstance(unembedding, Matrix)
    for step in (*(one.norm_after for one in after), stack.final_norm, *stack.readout[:last]):
        outputs = linear_part(step).parts(outputs)
    return values, outputs, unembedding.weight.float().cpu()


def extremes(numbers: Tensor, most: int) -> Extremes:
    """The largest and the smallest numbers of each row (N, V)."""
    top, bottom = (
        finite(numbers).topk(min(most, numbers.size(1)), dim=1, largest=largest) for largest in (True, False)
    )
    return Extremes(
        most=top.indices.numpy(),
        most_values=top.values.double().numpy(),
        least=bottom.indices.numpy(),
        least_values=bottom.values.double().numpy(),
    )
