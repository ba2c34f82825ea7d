"""How far the described positions of a model are from what it does with one token at many positions."""

import torch
from torch import Tensor

from model.checkpoints.tutorial_model import TutorialDecoder
from model.config.section import ConfigError
from model.foreign.models import ForeignModel
from model.foreign.sizes import few_tokens
from model.network.position_kind import PositionKind
from model.network.residual_stream import StackName
from model.trace import Trace, hook_name, tracing

__all__ = ["position_difference"]

TOKENS = 12


def position_difference(model: ForeignModel | TutorialDecoder, stack: StackName) -> float:
    """The largest difference, relative to the largest number that the model computed.

    Raises:
        ConfigError: the positions are not described.
    """
    kind = model.position_kind(stack)
    if kind.name == "own":
        raise ConfigError(kind.sentence)
    trace = repeated_token(model)
    pairs = [*added_vectors(kind, trace, stack), *rotated_queries(kind, trace, stack), *biases(kind, trace, stack)]
    pairs += sloped_weights(kind, trace, stack)
    return max((largest(described - found) / max(1.0, largest(found)) for described, found in pairs), default=0.0)


@torch.inference_mode()
def repeated_token(model: ForeignModel | TutorialDecoder) -> Trace:
    if isinstance(model, TutorialDecoder):
        ids = torch.ones(1, TOKENS, dtype=torch.long)
        with tracing() as trace:
            model(ids, ids)
        return trace
    ids = few_tokens(model.model)[:, :1].expand(1, TOKENS)
    with tracing() as trace:
        if model.model.config.is_encoder_decoder:
            model.model(input_ids=ids, decoder_input_ids=ids)
        else:
            model.model(input_ids=ids)
    return trace


def added_vectors(kind: PositionKind, trace: Trace, stack: str) -> list[tuple[Tensor, Tensor]]:
    """What is added to the token vectors, from the first position on: token types are the same at every position."""
    places = (f"{stack}.embedding.{name}" for name in ("sum", "token_vectors"))
    total, tokens = (trace.passes(name)[0][0][:TOKENS] for name in places)
    added = (total - tokens) - (total - tokens)[:1]
    table = torch.zeros_like(added) if kind.table is None else kind.table[: len(added)].to(added)
    return [(table - table[:1], added)]


def rotated_queries(kind: PositionKind, trace: Trace, stack: str) -> list[tuple[Tensor, Tensor]]:
    """The queries (H, T, K) of rotary positions, and the query of the first position, rotated."""
    found = []
    for rotation in kind.rotations:
        for layer in rotation.layers:
            queries = trace.passes(hook_name(stack, layer, "queries"))[0][0]
            found.append((rotation.rotate(queries[:, :1].expand_as(queries)), queries))
    return found


def biases(kind: PositionKind, trace: Trace, stack: str) -> list[tuple[Tensor, Tensor]]:
    """What is added to the scores (H, T, T) for each distance."""
    places = torch.arange(TOKENS)
    distances = (places - places[:, None]).contiguous()  # position of the key − that of the query
    found = []
    for one in kind.biases:
        columns = torch.searchsorted(one.distances, distances)
        names = (hook_name(stack, layer, "bias") for layer in one.layers)
        found += [(one.bias[:, columns], trace.passes(name)[0][0]) for name in names]
    return found


def sloped_weights(kind: PositionKind, trace: Trace, stack: str) -> list[tuple[Tensor, Tensor]]:
    """The weights (H, T, T) of the first layer: all scores are equal, except for what ALiBi subtracts."""
    if kind.slopes is None:
        return []
    places = torch.arange(TOKENS)
    distances = (places[:, None] - places).float()  # position of the query − that of the key
    scores = (-kind.slopes[:, None, None] * distances).masked_fill(distances < 0, float("-inf"))
    return [(scores.softmax(dim=-1), trace.passes(hook_name(stack, 0, "weights"))[0][0])]


def largest(x: Tensor) -> float:
    return float(x.abs().max())
