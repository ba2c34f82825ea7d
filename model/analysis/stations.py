"""Every station of one token on its way through one layer. Each step is computed again from its input.

Keys and values belong to other tokens, so they are the model's own. The stations are those of "Attention Is All You
Need", figure 1, in the order of the model's own blocks. The code beside a station is read from the functions that
compute it, so both always agree.
"""

from collections.abc import Iterator

import numpy as np
import torch

from model.analysis.attention_station import attention_station
from model.analysis.attention_values import AttentionSite
from model.analysis.readout_stations import readout_stations
from model.analysis.station import (
    Followed,
    Station,
    Step,
    apply,
    code_lines,
    format_length,
    largest_difference,
    mean_and_variance,
    norm_formula,
    norm_step,
    to_float32,
    to_float64,
)
from model.analysis.streams import FloatArray
from model.analysis.sublayer_stations import feed_forward_station, norm_station, sum_station
from model.messages import N_, Message
from model.network.residual_stream import Block, Stack
from model.trace import IfPresent, hook_name

__all__ = ["station_names", "stations"]


def station_names(stack: Stack, layer: int) -> tuple[str, ...]:
    """The hook points that `stations` reads, as patterns."""
    names = [stack.token_vectors, stack.embedding, *stack.streams, f"{stack.name}.states"]
    if stack.attention_pooling is not None:
        names.append(stack.attention_pooling.weights)
    for block in blocks_of(stack, layer):
        names += [block.reads, block.added, IfPresent(f"{block.added.removesuffix('added')}normed")]
        names += [] if block.kind is None else [hook_name(block.kind, layer, "*")]
        names += [block.units] if block.units else []
    return tuple(dict.fromkeys(names))


@torch.inference_mode()
def stations(text: Followed, stack_name: str, layer: int, position: int) -> list[Station]:
    """Follow one token from its embedding through one layer, and after the last one to the prediction.

    Args:
        text: A recorded text, see `station_names`.
        stack_name: "encoder" or "decoder".
        layer: Counted from 0. All layers before it are one station.
        position: Of the token in the input of the stack, counted from 0.

    Raises:
        ConfigError: the model's blocks are not known, or the heads of the layer cannot be separated.
    """
    stack = text.model.stack(stack_name)
    path = embedding_stations(text, stack, position)
    if layer:
        path.append(earlier_layers(layer, text.at(stack.streams[layer], position)))
    path += layer_stations(text, stack, layer, position)
    if layer == len(stack.streams) - 2:
        path += readout_stations(text, stack, position)
    return path


def blocks_of(stack: Stack, layer: int) -> list[Block]:
    return [block for block in stack.blocks if block.layer == layer]


def earlier_layers(layer: int, x: FloatArray) -> Station:
    """All layers before `layer` as one station, with the vector `x` (D,) after them."""
    name = Message("Layers 1 to {layer}", layer=layer) if layer > 1 else Message("Layer {layer}", layer=1)
    return Station(name=name, formula=rf"x^{{({layer})}}", vector=to_float32(x), difference=0.0)


def layer_stations(text: Followed, stack: Stack, layer: int, position: int) -> Iterator[Station]:
    """The blocks of one layer, each with its norms and the sum."""
    stream = text.at(stack.streams[layer], position)
    blocks = blocks_of(stack, layer)
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
            station, output = attention_station(AttentionSite(text=text, block=block, position=position), x)
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


def embedding_stations(text: Followed, stack: Stack, position: int) -> list[Station]:
    """The token embedding, what is added for the position, and the norm of the sum where the model has one."""
    vector, total = (text.at(name, position) for name in (stack.token_vectors, stack.embedding))
    path = [token_station(text, stack, position, vector)]
    if (vector != total).any():
        path.append(position_station(stack, vector, total))
    if stack.embedding_norm is not None or stack.embedding_matrix is not None:
        path.append(entry_station(text, stack, position, total))
    return path


def token_station(text: Followed, stack: Stack, position: int, recorded: FloatArray) -> Station:
    """The embedding of a token, (D,), as the model uses it."""
    vector, scale = recorded, stack.embed_scale
    if stack.embed is not None:
        ids = torch.tensor([[text.ids[stack.name][position]]], device=text.model.device)
        vector = to_float64(stack.embed(ids)[0, 0])
    difference = largest_difference(vector, recorded)
    facts = ((("√d", f"{scale:.4g}"),) if scale != 1 else ()) + mean_and_variance(vector)
    return Station(
        name=N_("Token embedding"),
        formula=r"x = \sqrt{d}\,E_{\mathrm{token}}" if scale != 1 else r"x = E_{\mathrm{token}}",
        vector=to_float32(vector),
        difference=difference,
        steps=(
            Step(
                name=N_("token"),
                formula="x = √d · E[token]" if scale != 1 else "x = E[token]",
                numbers=to_float32(vector)[None],
                facts=facts,
            ),
        ),
        code=code_lines(stack.embedding_code),
    )


def position_station(stack: Stack, vector: FloatArray, total: FloatArray) -> Station:
    """What the model added to a token vector for its position, (D,): the difference of two recorded vectors."""
    added = total - vector
    facts = (
        (N_("length of the position vector"), format_length(added)),
        (N_("length of the token vector"), format_length(vector)),
    )
    return Station(
        name=N_("Position added"),
        formula=r"x \leftarrow x + P_{\mathrm{position}}",
        vector=to_float32(total),
        difference=0.0,
        steps=(
            Step(
                name=N_("position"),
                formula=N_("P[position], added to x"),
                numbers=to_float32(added)[None],
                facts=facts,
            ),
        ),
        code=code_lines(stack.embedding_code),
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
        steps.append(Step(name=N_("widen"), formula="x W + b", numbers=to_float32(x)[None]))
        formula = rf"\left({formula}\right) W + b"
    return Station(
        name=N_("First norm"),
        formula=rf"x \leftarrow {formula}",
        vector=to_float32(x),
        difference=float(np.abs(x - text.at(stack.streams[0], position)).max()),
        steps=tuple(steps),
    )
