"""Every station of one token on its way through one layer, and to the prediction. Each is computed from its input.

Keys and values belong to other tokens, so they are the model's own. The stations are those of "Attention Is All You
Need", figure 1, in the order of the model's own blocks. The code beside a station is read from the functions that
compute it, so both always agree.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.attention_station import attention_station
from model.analysis.followed import Followed, largest_difference
from model.analysis.lens import logits_of
from model.analysis.station import (
    CodeLine,
    Station,
    Step,
    apply,
    code_lines,
    length_of,
    make_station,
    norm_formula,
    norm_step,
    vector_step,
)
from model.analysis.streams import FloatArray, linearize, pooling_map, recorded, to_double
from model.inference.run import Outcome
from model.messages import N_, Message
from model.network.layers import FeedForward
from model.network.residual_stream import Activation, Block, Matrix, Norm, ReadoutStep, Stack

__all__ = ["Prediction", "predict", "stations", "way_of_token"]

NUM_BEST = 10  # words


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The last step of a model: from a vector to a word or a label."""

    words: tuple[tuple[str, float, float], ...]  # the best ones as (token or label, logit, probability), best first
    difference: float  # the largest difference of their probabilities from the model's own
    formula: str  # LaTeX
    code: tuple[tuple[CodeLine, ...], ...]  # the functions that compute it


def way_of_token(
    text: Followed, stack_name: str, layer: int, position: int
) -> tuple[tuple[Station, ...], Prediction | None]:
    """The `stations`; for the last layer also the predicted word or label, where the model predicts one here."""
    text = text.in_layer(stack_name, layer)
    path = tuple(stations(text, stack_name, layer, position))
    here = [one for one in text.result.outcomes if one.stack == stack_name and one.position in (position, None)]
    is_last = layer == len(text.model.stack(stack_name).streams) - 2
    return path, predict(text, here[0]) if here and is_last else None


@torch.inference_mode()
def stations(text: Followed, stack_name: str, layer: int, position: int) -> list[Station]:
    """Follow one token from its embedding through one layer, and after the last one to the prediction.

    Args:
        text: A run, recorded in this layer.
        stack_name: "encoder" or "decoder".
        layer: Counted from 0. All layers before it are one station.
        position: Of the token in the input of the stack, counted from 0.

    Raises:
        ConfigError: the model's blocks are not known, or the heads of the layer cannot be separated.
    """
    stack = text.model.stack(stack_name)
    path = embedding_stations(text, stack, position)
    if layer:
        name = Message("Layers 1 to {layer}", layer=layer) if layer > 1 else Message("Layer {layer}", layer=1)
        path.append(make_station(name, rf"x^{{({layer})}}", text.at(stack.streams[layer], position)))
    path += layer_stations(text, stack, layer, position)
    if layer == len(stack.streams) - 2:
        path += readout_stations(text, stack, position)
    return path


def embedding_stations(text: Followed, stack: Stack, position: int) -> list[Station]:
    """The token embedding, what is added for the position, and the norm of the sum where the model has one."""
    given, total = (text.at(name, position) for name in (stack.token_vectors, stack.embedding))
    path = [token_station(text, stack, position, given)]
    if (given != total).any():  # the difference of two recorded vectors
        facts = (
            length_of(total - given, N_("length of the position vector")),
            length_of(given, N_("length of the token vector")),
        )
        step = vector_step(N_("position"), N_("P[position], added to x"), total - given, facts)
        formula = r"x \leftarrow x + P_{\mathrm{position}}"
        path.append(make_station(N_("Position added"), formula, total, [step], code=stack.embedding_code))
    if stack.embedding_norm is not None or stack.embedding_matrix is not None:
        path.append(entry_station(text, stack, position, total))
    return path


def token_station(text: Followed, stack: Stack, position: int, given: FloatArray) -> Station:
    """The embedding of a token, (D,), as the model uses it."""
    vector, scale = given, stack.embed_scale
    if stack.embed is not None:
        ids = torch.tensor([[text.ids(stack.name)[position]]], device=text.model.device)
        vector = to_double(stack.embed(ids)[0, 0]).numpy()
    facts = (
        *([("√d", f"{scale:.4g}")] if scale != 1 else []),
        (N_("mean"), f"{vector.mean():.4f}"),
        (N_("variance"), f"{vector.var():.4f}"),
    )
    return make_station(
        N_("Token embedding"),
        r"x = \sqrt{d}\,E_{\mathrm{token}}" if scale != 1 else r"x = E_{\mathrm{token}}",
        vector,
        [vector_step(N_("token"), "x = √d · E[token]" if scale != 1 else "x = E[token]", vector, facts)],
        difference=largest_difference(vector, given),
        code=stack.embedding_code,
    )


def entry_station(text: Followed, stack: Stack, position: int, total: FloatArray) -> Station:
    """From the sum of the embeddings to the stream before the first layer, (D,)."""
    x, steps, formula = total, [], "x"
    if stack.embedding_norm is not None:
        x = apply(stack.embedding_norm, total)
        steps.append(norm_step(N_("norm"), stack.embedding_norm, total, x))
        formula = norm_formula(stack.embedding_norm, "x")
    if stack.embedding_matrix is not None:
        x = apply(stack.embedding_matrix, x)
        steps.append(vector_step(N_("widen"), "x W + b", x))
        formula = rf"\left({formula}\right) W + b"
    difference = float(np.abs(x - text.at(stack.streams[0], position)).max())
    return make_station(N_("First norm"), rf"x \leftarrow {formula}", x, steps, difference=difference)


def layer_stations(text: Followed, stack: Stack, layer: int, position: int) -> Iterator[Station]:
    """The blocks of one layer, each with its norms and the sum."""
    stream = text.at(stack.streams[layer], position)
    blocks = stack.blocks_of(layer)
    before = None
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        x = reads = text.at(block.reads, position)
        if block.norm_before is not None:
            x = apply(block.norm_before, reads)
            if not same_norm(before, block):
                yield norm_station(text, block, position, reads, x)
        if block.kind is None:
            station, output = feed_forward_station(text, block, position, x)
        else:
            station, output = attention_station(text, block, position, x)
        yield station
        if following is None:
            after = stack.streams[layer + 1]
        else:  # parallel blocks read the same stream, and nothing records the sum between them
            after = "" if following.reads == block.reads else following.reads
        yield sum_station(text, block, position, stream, output, after)
        stream = text.at(after, position) if after else stream + text.at(block.added, position)
        before = block


def same_norm(before: Block | None, block: Block) -> bool:
    """Whether a block reads the normed vector of the block before it (Phi)."""
    if before is None or before.norm_before is None or block.norm_before is None:
        return False
    return before.reads == block.reads and before.norm_before.scale is block.norm_before.scale


def norm_station(text: Followed, block: Block, position: int, x: FloatArray, output: FloatArray) -> Station:
    """The norm before a block, from the stream `x` (D,) to what the block reads (D,)."""
    norm = block.norm_before
    assert norm is not None
    return make_station(
        N_("Norm"),
        rf"\hat{{x}} = {norm_formula(norm, 'x')}",
        output,
        [norm_step(N_("norm first"), norm, x, output)],
        difference=text.difference(f"{block.added.removesuffix('added')}normed", position, output),
        code=block.sum_code,
    )


def sum_station(text: Followed, block: Block, position: int, x: FloatArray, output: FloatArray, after: str) -> Station:
    """The sum of the stream and the output of a block, with the norms of both where the model has them.

    Args:
        text: The recorded text.
        block: Of the model.
        position: Of the token.
        x: The stream before the sum, (D,).
        output: Of the block, before its norm and its multiplier, (D,).
        after: The hook point of the stream after the block; "" where nothing records it.
    """
    added, steps, formula, name = output, [], "o", N_("Add")
    if block.norm_added is not None:
        added, name, formula = apply(block.norm_added, output), N_("Norm and add"), norm_formula(block.norm_added, "o")
        steps.append(norm_step(N_("norm of the output"), block.norm_added, output, added))
    if block.multiplier != 1:
        added, formula = block.multiplier * added, rf"{block.multiplier:.4g}\,{formula}"
        steps.append(vector_step(N_("multiply"), f"{block.multiplier:.4g} · o", added))
    total, formula = x + added, f"x + {formula}"
    facts = (length_of(x, N_("length of x")), length_of(added, N_("length of o")))
    step = N_("add to the stream") if block.norm_after is None else N_("add")
    steps.append(vector_step(step, "x + o", total, facts))
    result = apply(block.norm_after, total)
    if block.norm_after is not None:
        name, formula = N_("Add and norm"), norm_formula(block.norm_after, f"({formula})")
        steps.append(norm_step(N_("norm"), block.norm_after, total, result))
    differences = [text.difference(block.added, position, added)]
    if after:
        differences.append(text.difference(after, position, result))
    formula = rf"x \leftarrow {formula}"
    return make_station(name, formula, result, steps, difference=max(differences), code=block.sum_code)


def feed_forward_station(text: Followed, block: Block, position: int, x: FloatArray) -> tuple[Station, FloatArray]:
    """The feed-forward network of a layer, for what it reads, `x` (D,).

    Returns:
        The station, and the output of the network before its norm and its multiplier, (D,).
    """
    assert block.feed_forward is not None
    network: Any = block.feed_forward
    ours, relu = isinstance(network, FeedForward), getattr(network, "activation", None) is F.relu
    units, steps, difference = None, [], 0.0
    if ours:
        inner = apply(Matrix(weight=to_double(network.expand.weight), bias=to_double(network.expand.bias)), x)  # (F,)
        steps.append(vector_step(N_("expand"), "x W₁ + b₁", inner))
        units = network.activation(torch.from_numpy(inner)).numpy()
        difference = text.difference(block.units, position, units)
    elif block.units:
        units = text.at(block.units, position)
    models = output = run(block.feed_forward, text.model.device, x)
    last = "o = FFN(x)"
    if units is not None:
        steps.append(units_step(units, "max(0, …)" if ours and relu else "GELU(…)" if ours else N_("units")))
        if block.contract is not None:
            output, last = apply(block.contract, units), "o = … W₂ + b₂"
    steps.append(vector_step(N_("contract"), last, output, (length_of(output),)))
    formula = r"o = \max(0,\, " if relu else r"o = \mathrm{GELU}("
    station = make_station(
        N_("Feed-forward"),
        formula + r"x W_1 + b_1)\,W_2 + b_2" if ours else r"o = \mathrm{FFN}(x)",
        output,
        steps,
        difference=max(difference, largest_difference(output, models)),
        code=block.code,
    )
    return station, output


def run(network: Callable[[Tensor], Tensor], device: torch.device, x: FloatArray) -> FloatArray:
    """The model's own network for one vector (D,), in its own precision."""
    weights = getattr(network, "parameters", None)
    dtype = torch.float32 if weights is None else next(weights()).dtype
    return to_double(network(torch.from_numpy(x).to(device, dtype))).numpy()


def units_step(units: FloatArray, formula: str) -> Step:
    """The units of a network after its activation, (F,)."""
    active = np.flatnonzero(units > 0)
    strongest = active[np.argsort(-units[active])][:5]
    facts = (
        (N_("active units"), Message("{n} of {all}", n=len(active), all=len(units))),
        (N_("strongest units"), ", ".join(f"#{unit + 1} {units[unit]:.2f}" for unit in strongest)),
    )
    return vector_step(N_("activation"), formula, units, facts)


def readout_stations(text: Followed, stack: Stack, position: int) -> list[Station]:
    """The final norm, the pooling and the head of a model, for one position of the last stream."""
    path, x = [], text.at(stack.streams[-1], position)
    if stack.final_norm is not None:
        normed = apply(stack.final_norm, x)
        step, formula = norm_step(N_("final norm"), stack.final_norm, x, normed), norm_formula(stack.final_norm, "x")
        difference = text.difference(f"{stack.name}.states", position, normed)
        path.append(make_station(N_("Final norm"), rf"x \leftarrow {formula}", normed, [step], difference=difference))
        x = normed
    if stack.pooling not in ("none", "late"):
        x = pooled(text, stack)
        path.append(pooling_station(stack, x))
    last = max((i for i, step in enumerate(stack.readout) if isinstance(step, Matrix)), default=0)
    if last:
        path.append(head_station(stack.readout[:last], x))
    return path


def pooled(text: Followed, stack: Stack) -> FloatArray:
    """The vector that a classifier reads, (D,), with the pooling of the run."""
    last = recorded(text.recording, stack.streams[-1])
    states = linearize(stack.final_norm, last).whole(last)
    return np.asarray(pooling_map(stack, text.recording, len(states)).whole(states).numpy())


def pooling_station(stack: Stack, vector: FloatArray) -> Station:
    """How the states of all positions become one vector. `predict` compares what follows with the model."""
    formula, text = {
        "first": (r"p = x_1", "x₁"),
        "mean": (r"p = \tfrac{1}{n}\sum_i x_i", N_("mean of all x")),
        "attention": (r"p = \left[\sum_i \alpha_{hi}\, x_i W_V\right]_h W_O + b", N_("sum of α x W_V, then W_O")),
    }[stack.pooling]
    return make_station(
        N_("Pooling"), formula, vector, [vector_step(N_("pooling"), text, vector, (length_of(vector),))]
    )


def head_station(readout: Sequence[ReadoutStep], x: FloatArray) -> Station:
    """The steps between the last state and the last matrix (BERT)."""
    steps, formula = [], "x"
    for step in readout:
        output = apply(step, x)
        if isinstance(step, Norm):
            steps.append(norm_step(N_("head norm"), step, x, output))
            formula = rf"\mathrm{{norm}}({formula})"
        elif isinstance(step, Matrix):
            steps.append(vector_step(N_("head matrix"), "x W + b", output))
            formula = rf"({formula} W + b)"
        else:
            steps.append(vector_step(N_("head activation"), "f(x)", output))
            formula = rf"f({formula})"
        x = output
    return make_station(N_("Prediction head"), rf"x \leftarrow {formula}", x, steps)


@torch.inference_mode()
def predict(text: Followed, outcome: Outcome) -> Prediction:
    """The ten most probable tokens, or all labels, after the last stream.

    Args:
        text: A run, with its last stream.
        outcome: What the model predicted.
    """
    stack = text.model.stack(outcome.stack)
    states = torch.tensor(text.recording.array(stack.streams[-1]))
    logits = logits_of(stack, states, [outcome])[0].cpu().numpy()  # (V,) or (C,)
    probabilities = 1 / (1 + np.exp(-logits)) if outcome.several else softmax(logits)
    best = np.argsort(-logits)[: NUM_BEST if outcome.position is not None else None].tolist()
    names = outcome.names(text.checkpoint.tokenizers.target, best)
    return Prediction(
        words=tuple((name, float(logits[i]), float(probabilities[i])) for name, i in zip(names, best, strict=True)),
        difference=max(abs(float(probabilities[one.id]) - one.probability) for one in outcome.candidates),
        formula=readout_formula(stack, "sigmoid" if outcome.several else "softmax"),
        code=code_lines(stack.readout_code),
    )


def readout_formula(stack: Stack, function: str) -> str:
    """The last step in LaTeX."""
    matrix = next(step for step in reversed(stack.readout) if isinstance(step, Matrix))
    logits = "W x" if matrix.bias is None else "W x + b"
    capped = isinstance(stack.readout[-1], Activation)
    return rf"p = \mathrm{{{function}}}(" + (f"f({logits})" if capped else logits) + ")"


def softmax(logits: NDArray[np.float32]) -> FloatArray:
    """Probabilities from logits, (V,)."""
    exponentials = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(exponentials / exponentials.sum())
