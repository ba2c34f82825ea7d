"""The stations inside one layer besides attention: the norms, the residual connections and the feed-forward network."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from model.analysis.source_code import function_code
from model.analysis.station import (
    Station,
    Step,
    format_length,
    largest_difference,
    linear_norm,
    to_float32,
    to_float64,
)
from model.analysis.streams import FloatArray
from model.network.layers import FeedForward, Residual

__all__ = ["feed_forward_station", "layer_norm", "norm_stations", "residual_station", "sublayer_input"]


def layer_norm(norm: nn.Module, x: FloatArray) -> FloatArray:
    """The norm of `x` (D,), computed in double precision."""
    (output,), shift = linear_norm(norm, x, x[None])
    return np.asarray(output + shift)


def sublayer_input(residual: Residual, x: FloatArray) -> FloatArray:
    """The input of a sublayer: in a pre-norm model the norm of the stream, otherwise the stream itself."""
    return layer_norm(residual.norm, x) if residual.pre else x


def norm_step(name: str, x: FloatArray, output: FloatArray) -> Step:
    """A LayerNorm as a step, from `x` (D,) to `output` (D,)."""
    facts = (("μ", f"{x.mean():.4f}"), ("σ²", f"{x.var():.4f}"), ("length", format_length(output)))
    return Step(name=name, formula="γ (x − μ) / σ + β", numbers=to_float32(output)[None], facts=facts)


def norm_stations(residual: Residual, x: FloatArray) -> list[Station]:
    """The norm before a sublayer of a pre-norm model; no station for a post-norm model.

    No hook point records this norm, so the model's own module runs once more to compare.
    """
    if not residual.pre:
        return []
    output = layer_norm(residual.norm, x)
    weight = next(residual.norm.parameters())
    models_output = to_float64(residual.norm(torch.from_numpy(x).to(weight)))
    return [
        Station(
            name="Norm",
            formula=r"\hat{x} = \gamma\,\frac{x - \mu}{\sigma} + \beta",
            vector=to_float32(output),
            difference=largest_difference(output, models_output),
            steps=(norm_step("norm first", x, output),),
            code=(function_code(Residual.forward),),
        )
    ]


def residual_station(residual: Residual, x: FloatArray, added: FloatArray, after: FloatArray) -> Station:
    """The residual connection: the stream plus the output of a sublayer, and the norm of a post-norm model.

    Args:
        residual: The module.
        x: The stream before the sublayer, (D,).
        added: The output of the sublayer, (D,).
        after: The model's own stream after it, (D,).
    """
    total = x + added
    output = total if residual.pre else layer_norm(residual.norm, total)
    facts = (("length of x", format_length(x)), ("length of o", format_length(added)))
    name = "add to the stream" if residual.pre else "add"
    add = Step(name=name, formula="x + o", numbers=to_float32(total)[None], facts=facts)
    return Station(
        name="Add" if residual.pre else "Add and norm",
        formula=r"x \leftarrow x + o" if residual.pre else r"x \leftarrow \gamma\,\frac{(x + o) - \mu}{\sigma} + \beta",
        vector=to_float32(output),
        difference=largest_difference(output, after),
        steps=(add,) if residual.pre else (add, norm_step("norm", total, output)),
        code=(function_code(Residual.forward),),
    )


def feed_forward_station(feed_forward: FeedForward, x: FloatArray) -> Station:
    """The feed-forward network of a layer, for its input `x` (D,)."""
    inner = to_float64(feed_forward.expand.weight) @ x + to_float64(feed_forward.expand.bias)  # (F,)
    units = to_float64(feed_forward.activation(torch.from_numpy(inner)))
    output = to_float64(feed_forward.contract.weight) @ units + to_float64(feed_forward.contract.bias)
    models_output = feed_forward(torch.from_numpy(x).to(feed_forward.expand.weight))
    active = np.flatnonzero(units > 0)
    strongest = active[np.argsort(-units[active])][:5]
    relu = feed_forward.activation is F.relu
    facts = (
        ("active units", f"{len(active)} of {len(units)}"),
        ("strongest units", ", ".join(f"#{unit + 1} {units[unit]:.2f}" for unit in strongest)),
    )
    return Station(
        name="Feed-forward",
        formula=(r"o = \max(0,\, " if relu else r"o = \mathrm{GELU}(") + r"x W_1 + b_1)\,W_2 + b_2",
        vector=to_float32(output),
        difference=largest_difference(output, to_float64(models_output)),
        steps=(
            Step(name="expand", formula="x W₁ + b₁", numbers=to_float32(inner)[None]),
            Step(
                name="activation",
                formula="max(0, …)" if relu else "GELU(…)",
                numbers=to_float32(units)[None],
                facts=facts,
            ),
            Step(
                name="contract",
                formula="o = … W₂ + b₂",
                numbers=to_float32(output)[None],
                facts=(("length", format_length(output)),),
            ),
        ),
        code=(function_code(FeedForward.forward),),
    )
