"""The residual streams of one model of Hugging Face's `transformers`: described and checked at their first use.

A description that does not fit is never used: analyses of a wrong one would show numbers that the model did not use.
"""

import threading
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.config.section import ConfigError
from model.foreign.blocks import EmbeddingModules, StackModules, find_stack
from model.foreign.readout import describe_matrix, describe_norm, readout_of
from model.foreign.sizes import classes_of, few_texts, run_on, tolerance_of
from model.foreign.stream_hooks import place_stream_hooks
from model.messages import Message, first_line
from model.network.residual_stream import (
    Block,
    Code,
    Norm,
    Pooling,
    Stack,
    StackName,
    read_out,
)
from model.trace import IfPresent, Trace, tracing, untraced

__all__ = ["ForeignStacks"]

RECORDED = tuple(map(IfPresent, ("*_residual.*", "*.embedding.*", "*.units", "*.states", "logits")))
# Two visitors may ask for the same description at once. It is made once.
CHECKING = threading.Lock()


class ForeignStacks:
    """The encoder and the decoder of a model, or the reason why their residual stream cannot be followed."""

    def __init__(self, model: PreTrainedModel, names: Collection[StackName]) -> None:
        """Find the modules and place the hook points.

        Args:
            model: A model of the library whose attention modules have their hook points.
            names: "encoder", "decoder" or both.
        """
        self.model = model
        self.modules: dict[str, StackModules] = {}
        self.found: dict[str, Stack | str] = {}  # the description, or why there is none
        for name in names:
            try:
                self.modules[name] = find_stack(model, name)
            except Exception as error:  # a family that is built in another way still shows its maps
                self.found[name] = reason_of(error)
        place_stream_hooks(model, list(self.modules.values()))

    def stack(self, name: str) -> Stack:
        """The description of the encoder or the decoder. The first call compares it with the model.

        Raises:
            ConfigError: the model does not have this stack, its blocks are not known, or they compute something else.
        """
        if name not in self.found:
            with CHECKING:
                if name not in self.found:
                    self.found[name] = self.checked(name)
        found = self.found[name]
        if isinstance(found, Stack):
            return found
        raise ConfigError(
            "The residual stream of models of the family {family} cannot be followed: {reason}.",
            family=self.model.config.model_type,
            reason=found,
        )

    def checked(self, name: str) -> Stack | str:
        """The description of a stack, compared with the model; or why there is none."""
        if name not in self.modules:
            return Message("the model has no {stack}", stack=name)
        try:
            # The description is kept, so its tensors must not belong to the inference mode of the first caller.
            with torch.inference_mode(False):
                stack = describe_stack(self.model, self.modules[name])
                verify(self.model, stack)
                return stack
        except (MemoryError, torch.OutOfMemoryError):  # there may be enough memory later
            raise
        except Exception as error:
            return reason_of(error)


def reason_of(error: Exception) -> str:
    if isinstance(error, ConfigError):
        return error.message
    return Message("the library reports: {error}", error=first_line(error))


def pooling_of(model: PreTrainedModel) -> Pooling:
    """How a classifier combines the positions; "none" for another model."""
    if getattr(model, "classifier", None) is None:
        return "none"
    if getattr(model.config, "classifier_pooling", "") == "late":
        return "late"
    pooling: Literal["first", "mean"] = classes_of(model.config)["pooling"]
    return pooling


def describe_stack(model: PreTrainedModel, modules: StackModules) -> Stack:
    """Describe the encoder or the decoder, with the functions of the library that compute its blocks.

    Args:
        model: A model of the library.
        modules: From `find_stack`. Their hook points are placed.

    Raises:
        ConfigError: a norm or the way to the logits is not known. The message is a part of a sentence.
    """
    name, width = modules.name, int(model.config.hidden_size)
    streams, blocks = [modules.first], []
    for index, layer in enumerate(modules.layers):
        reads = streams[-1]
        for part in layer:
            before, added, after = (describe_norm(norm, width) for norm in part.norms)
            own = (part.attention,) if part.attention else part.network
            block = Block(
                name=part.name,
                kind=part.kind,
                layer=index,
                reads=reads,
                added=f"{part.place}.added",
                norm_before=before,
                norm_added=added,
                norm_after=after,
                multiplier=part.multiplier,
                feed_forward=partial(run_network, part.network) if part.network else None,
                units=f"{part.name}.units" if part.contract else "",
                contract=describe_matrix(part.contract) if part.contract else None,
                code=code_of(own),
                sum_code=code_of((part.layer, *filter(None, part.norms))),
            )
            blocks.append(block)
            reads = reads if modules.parallel[index] else f"{part.place}.stream"
        streams.append(f"{layer[-1].place}.stream")
    writes = name == "decoder" or not model.config.is_encoder_decoder
    embedding = modules.embedding
    narrow = embedding.matrix.weight.size(1) if isinstance(embedding.matrix, nn.Linear) else width
    return Stack(
        name=name,
        token_vectors=f"{name}.embedding.token_vectors",
        embedding=f"{name}.embedding.sum",
        embedding_norm=describe_norm(embedding.norm, narrow),
        embedding_matrix=None if embedding.matrix is None else describe_matrix(embedding.matrix),
        blocks=tuple(blocks),
        streams=tuple(streams),
        final_norm=describe_norm(modules.final_norm, width),
        pooling=pooling_of(model),
        readout=readout_of(model) if writes else (),
        embed=partial(embed, embedding) if isinstance(embedding.tokens, nn.Embedding) else None,
    )


def embed(embedding: EmbeddingModules, ids: Tensor) -> Tensor:
    """From token ids (B, T) to token vectors (B, T, D)."""
    vectors: Tensor = embedding.tokens(ids.to(next(embedding.tokens.parameters()).device))
    return (vectors * embedding.multiplier).to(ids.device)


def code_of(modules: Sequence[nn.Module]) -> Code:
    """What modules of the library compute; without those of PyTorch."""
    own = (type(module) for module in modules if not type(module).__module__.startswith("torch."))
    return tuple(dict.fromkeys(kind.forward for kind in own))


def run_network(network: Sequence[nn.Module], x: Tensor) -> Tensor:
    """The output of a feed-forward network for vectors (…, D), on the device and in the precision of its weights."""
    weight = next(parameter for module in network for parameter in module.parameters())
    out = x.reshape(1, -1, x.size(-1)).to(weight)  # experts read (B, T, D)
    for module in network:
        out = module(out)
        out = out[0] if isinstance(out, tuple | list) else out
    return out.view_as(x).to(x)


@torch.no_grad()
def verify(model: PreTrainedModel, stack: Stack) -> None:
    """Run a model on a few tokens and compare every recorded vector with the description.

    Raises:
        ConfigError: something differs. The message is a part of a sentence.
    """
    ids, two_stacks = few_texts(model), model.config.is_encoder_decoder
    trace = record(model, ids)
    tolerance = tolerance_of(model)
    if "logits" in trace.names and not stack.readout and not (stack.name == "encoder" and two_stacks):
        raise ConfigError("the way from its last state to its logits is not known")
    for what, described, found in comparisons(stack, trace, ids):
        if not agrees(described, found, tolerance):
            raise ConfigError("{what} differs from what the library computes", what=what)


def agrees(described: Tensor, found: Tensor, tolerance: float) -> bool:
    """Whether two tensors (…, D) differ little, compared with the largest number of each vector."""
    if described.shape != found.shape:
        return False
    largest = found.abs().amax(dim=-1, keepdim=True)  # (…, 1); the vector of one token may be far larger than others
    limit = tolerance * largest.clamp_min(1e-3 * float(largest.max()))
    return bool(((described - found).abs() <= limit).all())


def record(model: PreTrainedModel, ids: Tensor) -> Trace:
    with untraced(), tracing(record=RECORDED) as trace:
        run_on(model, ids)
    return trace


def comparisons(stack: Stack, trace: Trace, ids: Tensor) -> Iterator[tuple[Message, Tensor, Tensor]]:
    """What is compared, the described vectors and the recorded ones."""

    def recorded(name: str) -> Tensor:
        if name not in trace.names:
            raise ConfigError("nothing passes {name}", name=name)
        return trace.passes(name)[0]

    total = recorded(stack.embedding)  # (2, T, D)
    if recorded(stack.streams[0]).shape[:2] != ids.shape:  # FSMT puts the tokens first, Longformer adds some
        raise ConfigError("the layers read other shapes than texts and tokens")
    # What is added to the token vectors depends on the position only, not on the token.
    tokens = recorded(stack.token_vectors)
    if stack.embed is not None:
        yield Message("the token vectors"), stack.embed(ids).float().cpu(), tokens
    yield Message("the embedding"), tokens + (total - tokens).flip(0), total
    yield Message("the norm of the embedding"), stack.enter(total), recorded(stack.streams[0])
    stream, ends = recorded(stack.streams[0]), iter(stack.streams[1:])
    for block, after in zip(stack.blocks, [*stack.blocks[1:], None], strict=True):
        if after is None or after.layer != block.layer:
            end = next(ends)
        else:
            end = "" if after.reads == block.reads else after.reads
        added = recorded(block.added)
        total = stream + added
        stream = total if block.norm_after is None else block.norm_after(total)
        if end:
            yield Message("the stream after {block}", block=block.name), stream, recorded(end)
        yield from feed_forward_comparisons(block, trace, recorded(block.reads), added)
    states = apply(stack.final_norm, stream)
    yield Message("the final norm"), states, recorded(f"{stack.name}.states")
    if stack.readout:
        pooled = {"first": states[:, 0], "mean": states.mean(dim=1)}.get(stack.pooling, states)
        logits = read_out(stack.readout, pooled)
        logits = logits.mean(dim=1) if stack.pooling == "late" else logits
        yield Message("the way from the last state to the logits"), logits, recorded("logits")


def feed_forward_comparisons(
    block: Block, trace: Trace, read: Tensor, added: Tensor
) -> Iterator[tuple[Message, Tensor, Tensor]]:
    normed = apply(block.norm_before, read)
    if block.norm_before is not None and (place := f"{block.name}_residual.normed") in trace.names:
        yield Message("the norm before {block}", block=block.name), normed, trace.passes(place)[0]
    if block.feed_forward is not None:
        output = block.feed_forward(normed)
        yield (
            Message("the output of {block}", block=block.name),
            apply(block.norm_added, output) * block.multiplier,
            added,
        )
        if block.contract is not None:
            units = trace.passes(block.units)[0].view(*output.shape[:-1], -1)
            yield Message("the units of {block}", block=block.name), block.contract(units), output


def apply(norm: Norm | None, x: Tensor) -> Tensor:
    return x if norm is None else norm(x)
