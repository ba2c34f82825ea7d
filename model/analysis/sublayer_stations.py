"""The stations inside one layer besides attention: the norms, the sums with the stream, the feed-forward network."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from model.analysis.station import (
    Followed,
    Station,
    Step,
    apply,
    code_lines,
    format_length,
    largest_difference,
    norm_formula,
    norm_step,
    to_float32,
    to_float64,
)
from model.analysis.streams import FloatArray
from model.messages import N_, Message
from model.network.layers import FeedForward
from model.network.residual_stream import Block

__all__ = ["feed_forward_station", "norm_station", "sum_station"]


def norm_station(text: Followed, block: Block, position: int, x: FloatArray, output: FloatArray) -> Station:
    """The norm before a block, from the stream `x` (D,) to what the block reads (D,)."""
    norm = block.norm_before
    assert norm is not None
    return Station(
        name=N_("Norm"),
        formula=rf"\hat{{x}} = {norm_formula(norm, 'x')}",
        vector=to_float32(output),
        difference=text.difference(f"{block.added.removesuffix('added')}normed", position, output),
        steps=(norm_step(N_("norm first"), norm, x, output),),
        code=code_lines(block.sum_code),
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
    added, steps = output, []
    if block.norm_added is not None:
        added = apply(block.norm_added, output)
        steps.append(norm_step(N_("norm of the output"), block.norm_added, output, added))
    if block.multiplier != 1:
        added = block.multiplier * added
        formula = f"{block.multiplier:.4g} · o"
        steps.append(Step(name=N_("multiply"), formula=formula, numbers=to_float32(added)[None]))
    total = x + added
    facts = ((N_("length of x"), format_length(x)), (N_("length of o"), format_length(added)))
    name = N_("add to the stream") if block.norm_after is None else N_("add")
    steps.append(Step(name=name, formula="x + o", numbers=to_float32(total)[None], facts=facts))
    result = apply(block.norm_after, total)
    if block.norm_after is not None:
        steps.append(norm_step(N_("norm"), block.norm_after, total, result))
    differences = [text.difference(block.added, position, added)]
    if after:
        differences.append(text.difference(after, position, result))
    return Station(
        name=sum_name(block),
        formula=sum_formula(block),
        vector=to_float32(result),
        difference=max(differences),
        steps=tuple(steps),
        code=code_lines(block.sum_code),
    )


def sum_name(block: Block) -> str:
    if block.norm_after is not None:
        return N_("Add and norm")
    return N_("Add") if block.norm_added is None else N_("Norm and add")


def sum_formula(block: Block) -> str:
    """The sum in LaTeX."""
    added = "o" if block.norm_added is None else norm_formula(block.norm_added, "o")
    added = added if block.multiplier == 1 else rf"{block.multiplier:.4g}\,{added}"
    if block.norm_after is not None:
        return rf"x \leftarrow {norm_formula(block.norm_after, f'(x + {added})')}"
    return rf"x \leftarrow x + {added}"


def feed_forward_station(text: Followed, block: Block, position: int, x: FloatArray) -> tuple[Station, FloatArray]:
    """The feed-forward network of a layer, for what it reads, `x` (D,).

    Returns:
        The station, and the output of the network before its norm and its multiplier, (D,).
    """
    assert block.feed_forward is not None
    network: Any = block.feed_forward
    units: FloatArray | None
    if isinstance(network, FeedForward):
        inner = to_float64(network.expand.weight) @ x + to_float64(network.expand.bias)  # (F,)
        units = to_float64(network.activation(torch.from_numpy(inner)))
        difference = text.difference(block.units, position, units)
        expand = [Step(name=N_("expand"), formula="x W₁ + b₁", numbers=to_float32(inner)[None])]
    else:
        units = text.at(block.units, position) if block.units else None
        expand, difference = [], 0.0
    models = run(block.feed_forward, text.model.device, x)
    output = models if units is None or block.contract is None else apply(block.contract, units)
    difference = max(difference, largest_difference(output, models))
    relu = isinstance(network, FeedForward) and network.activation is F.relu
    steps = [*expand, *([] if units is None else [units_step(units, relu=relu, known=bool(expand))])]
    length = ((N_("length"), format_length(output)),)
    last = "o = … W₂ + b₂" if units is not None and block.contract is not None else "o = FFN(x)"
    steps.append(Step(name=N_("contract"), formula=last, numbers=to_float32(output)[None], facts=length))
    return Station(
        name=N_("Feed-forward"),
        formula=network_formula(network),
        vector=to_float32(output),
        difference=difference,
        steps=tuple(steps),
        code=code_lines(block.code),
    ), output


def run(network: Callable[[Tensor], Tensor], device: torch.device, x: FloatArray) -> FloatArray:
    """The model's own network for one vector (D,), in its own precision."""
    weights = getattr(network, "parameters", None)
    dtype = torch.float32 if weights is None else next(weights()).dtype
    return to_float64(network(torch.from_numpy(x).to(device, dtype)))


def network_formula(network: object) -> str:
    """A feed-forward network in LaTeX."""
    if not isinstance(network, FeedForward):
        return r"o = \mathrm{FFN}(x)"
    relu = network.activation is F.relu
    return (r"o = \max(0,\, " if relu else r"o = \mathrm{GELU}(") + r"x W_1 + b_1)\,W_2 + b_2"


def units_step(units: FloatArray, *, relu: bool, known: bool) -> Step:
    """The units of a network after its activation, (F,).

    Args:
        units: Their values.
        relu: The activation is max(0, …).
        known: The activation is GELU if it is not `relu`; otherwise it is that of another library.
    """
    active = np.flatnonzero(units > 0)
    strongest = active[np.argsort(-units[active])][:5]
    return Step(
        name=N_("activation"),
        formula="max(0, …)" if relu else "GELU(…)" if known else N_("units"),
        numbers=to_float32(units)[None],
        facts=(
            (N_("active units"), Message("{n} of {all}", n=len(active), all=len(units))),
            (N_("strongest units"), ", ".join(f"#{unit + 1} {units[unit]:.2f}" for unit in strongest)),
        ),
    )
