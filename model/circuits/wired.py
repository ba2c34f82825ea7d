"""Run a model as a graph: each receiver of each head gets a stream of its own, made of what the senders added.

The pass repeats the computation of the model from its own matrices and norms, with the masks and the numbers for
distances of a recorded run. Its logits are compared with those of the model; a model that differs is refused.

In a model with norms after the sums ("post"), what a sender added passes every later norm. A norm divides all parts of
the stream by one number, the deviation of the whole stream in the same run. So the parts still add up to the stream,
exactly, in each of both runs. What no sender adds (shifts of norms, biases after the heads) counts for the input.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model.analysis.patching import Contrast
from model.analysis.streams import LinearMap, only_rows
from model.circuits.graph import Graph, stacks_in_order
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.inference.passes import pass_over
from model.network.attention import attention_weights, mask_scores
from model.network.protocols import STAGES, Reads
from model.network.residual_stream import Block, Norm, Stack, read_out
from model.network.scores import attention_scores
from model.trace import IfPresent, hook_name, tracing

__all__ = ["Streams", "Wired"]

TOLERANCE = 1e-3  # of the largest logit: how far our pass may be from the model's
Streams = Mapping[str, Tensor]  # stack → the stream before its first layer, (B, T, D)
Parts = Sequence[Tensor]  # for each site, what its senders added, in the form that is read there, (B, U, T, D)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attention:
    """The matrices of one attention layer, and what it adds to its scores in a text."""

    weights: tuple[Tensor, ...]  # of queries, keys and values, (H, D, K) each
    biases: tuple[Tensor | float, ...]  # (H, 1, K) each
    output: Tensor  # (H, K, D)
    output_bias: Tensor  # (D,)
    allowed: Tensor  # (T, S): False where masked
    distances: Tensor | None  # (H, T, S)


class Wired:
    """One pair of texts, and the model as a graph that can run on both or on a mixture."""

    def __init__(self, model: Reads, graph: Graph, found: Contrast) -> None:
        """Record both runs, and compare our pass with the model.

        Args:
            model: Of any task; never changed.
            graph: Of the model.
            found: What is compared, from `contrast`.

        Raises:
            ConfigError: the encoder reads texts of different lengths, or our pass differs from the model's.
        """
        if not found.same_length:
            raise ConfigError(
                "The receiver has {own} tokens and the donor {donor}. An edge is patched position by position, so both "
                "texts need the same number of tokens. Change one word of the donor only.",
                own=len(found.own[0]),
                donor=len(found.donor[0]),
            )
        self.model, self.graph, self.contrast = model, graph, found
        self.stacks = stacks_in_order(model)
        self.own, self.masks = self.record(*found.own)
        self.donor, _ = self.record(*found.donor)
        last = self.stacks[-1]
        self.readout = only_rows(last.readout, found.outcomes)
        self.layers = {
            (block.kind, block.layer): self.attention(block.kind, block.layer)
            for stack in self.stacks
            for block in stack.blocks
            if block.kind is not None
        }
        with torch.no_grad():
            self.own_parts, self.own_difference = self.whole(self.own)
            self.donor_parts, self.donor_difference = self.whole(self.donor)
        self.require_agreement()

    def record(self, source: Sequence[int], read: Sequence[int]) -> tuple[Streams, Mapping[str, Tensor]]:
        """The streams before the first layers, and what passes before the softmax; the logits are compared later."""
        firsts = {stack.name: stack.streams[0] for stack in self.stacks}
        names = [IfPresent(f"*.{stage}") for stage in ("masked_scores", "bias")]
        run = pass_over(self.model, source, read)
        with torch.no_grad(), tracing(record=(*firsts.values(), *names)) as trace:
            logits = run(1, encode=True)
        assert logits is not None, "`contrast` requires an outcome"
        place = self.contrast.position if logits.size(1) > 1 else 0
        passed = {name: trace.passes(name)[0].to(self.model.device) for name in trace.names}
        passed["logits"] = logits[0, place].float()
        return {stack: passed[name] for stack, name in firsts.items()}, passed

    def attention(self, kind: str, layer: int) -> Attention:
        """Raises ConfigError if the matrices of the layer are not known."""
        device, heads = self.model.device, self.model.config.num_heads
        mixing = self.model.mixing(kind, layer)
        matrices = [self.model.projection(kind, layer, stage) for stage in STAGES]
        distances = self.masks.get(hook_name(kind, layer, "bias"))
        return Attention(
            weights=tuple(one.weight.float().unflatten(0, (heads, -1)).transpose(1, 2) for one in matrices),
            biases=tuple(0.0 if one.bias is None else one.bias.float().view(heads, 1, -1) for one in matrices),
            output=mixing.matrix.to(device).float().unflatten(0, (heads, -1)),
            output_bias=mixing.bias.to(device).float(),
            allowed=~self.masks[hook_name(kind, layer, "masked_scores")][0, 0].isneginf(),
            distances=None if distances is None else distances[0],
        )

    def whole(self, streams: Streams) -> tuple[Parts, float]:
        """The parts at every site, and the difference of the logits, in a run with all edges."""
        parts: list[Tensor] = []
        return parts, float(self.differences(streams, seen=parts))

    def require_agreement(self) -> None:
        """Raises ConfigError if our pass over the own text differs from the model's."""
        logits = self.masks["logits"]
        donor, own = self.contrast.outcomes
        if abs(float(logits[donor] - logits[own]) - self.own_difference) > TOLERANCE * float(logits.abs().max()):
            raise ConfigError(
                "Headlight cannot follow single edges in this model: its own pass along the edges gives other logits "
                "than the model. Choose another model."
            )

    def differences(
        self,
        streams: Streams,
        *,
        kept: Tensor | None = None,
        others: Parts = (),
        nudges: Sequence[Tensor] = (),
        seen: list[Tensor] | None = None,
    ) -> Tensor:
        """The logit of the donor's outcome minus that of the own outcome, (B,).

        Args:
            streams: Before the first layers; one row is expanded to B.
            kept: (B, E), False for an edge that carries the part of `others`; None keeps all edges.
            others: For each site, broadcast over (B, U, T, D).
            nudges: For each site, what is added to the stream of each receiver, (B, R, T, D).
            seen: Gets the parts at each site.
        """
        rows = 1 if kept is None else len(kept)
        dropped = None if kept is None else self.graph.by_site((~kept).float())
        parts = {name: stream[:, None].expand(max(rows, len(stream)), 1, -1, -1) for name, stream in streams.items()}
        site = iter(range(len(self.graph.sites)))

        def read(norm: Norm | None) -> Tensor:  # (B, R, T, D), or (B, 1, T, D) where all receivers read the same
            number = next(site)
            place = self.graph.sites[number]
            current = parts[place.stack][:, : len(place.senders)]
            if seen is not None:
                seen.append(current)
            total = current.sum(dim=1, keepdim=True)
            if dropped is not None:
                total = total + torch.einsum("bur,butd->brtd", dropped[number], others[number] - current)
            if nudges:
                total = total + nudges[number]
            return total if norm is None else norm(total)

        memory_norm: Norm | None = None
        for stack in self.stacks:
            for block in stack.blocks:
                if block.kind is None:
                    assert block.feed_forward is not None
                    added, shared = block.feed_forward(read(block.norm_before)[:, 0])[:, None], None
                else:
                    queries = read(block.norm_before)
                    keys_and_values = read(memory_norm) if block.kind == "cross" else None
                    added = self.attend(block, queries, keys_and_values)
                    shared = self.layers[block.kind, block.layer].output_bias
                parts[stack.name] = with_block(parts[stack.name], added, shared, block)
            memory_norm = stack.final_norm
        return self.read_out(self.stacks[-1], read(self.stacks[-1].final_norm)[:, 0])

    def attend(self, block: Block, x: Tensor, memory: Tensor | None) -> Tensor:
        """What each head adds, (B, H, T, D).

        Args:
            block: Of attention.
            x: What it reads, normed: (B, 3 · H, T, D), or (B, H, T, D) in cross-attention, or (B, 1, T, D).
            memory: What cross-attention reads for its keys and values, (B, 2 · H, S, D) or (B, 1, S, D).
        """
        assert block.kind is not None
        layer, model = self.layers[block.kind, block.layer], self.model
        count = 3 if memory is None else 1
        read = list(x.chunk(count, dim=1)) if x.size(1) > 1 else [x] * count
        if memory is not None:
            read += list(memory.chunk(2, dim=1)) if memory.size(1) > 1 else [memory] * 2
        queries, keys, values = (
            one @ weight + bias for one, weight, bias in zip(read, layer.weights, layer.biases, strict=True)
        )
        if block.kind != "cross":
            for rotation in model.position_kind(KINDS[block.kind].stack).rotations:
                if block.layer in rotation.layers:
                    queries, keys = rotation.rotate(queries), rotation.rotate(keys)
        scores = attention_scores(
            queries,
            keys,
            scaling=model.scaling(block.kind, block.layer),
            cap=model.score_cap(block.kind, block.layer),
            bias=layer.distances,
            vector=block.score_vector,
        )
        weights = attention_weights(mask_scores(scores, layer.allowed), model.sinks(block.kind, block.layer))
        return (weights @ values) @ layer.output  # (B, H, T, D)

    def read_out(self, stack: Stack, states: Tensor) -> Tensor:
        """The difference of the two logits, (B,), from the states that the readout reads, (B, T, D)."""
        if stack.pooling == "attention":
            assert stack.attention_pooling is not None
            states = stack.attention_pooling.pool(states)
        elif stack.pooling == "mean":
            states = states.mean(dim=1)
        elif stack.pooling != "late":
            states = states[:, 0 if stack.pooling == "first" else self.contrast.position]
        logits = read_out(self.readout, states)  # (B, 2)
        logits = logits.mean(dim=1) if stack.pooling == "late" else logits
        return logits[:, 0] - logits[:, 1]


def with_block(parts: Tensor, added: Tensor, shared: Tensor | None, block: Block) -> Tensor:
    """The parts of a stream (B, U, T, D) after a block, whose parts are `added` and a vector `shared` by its heads."""
    if block.norm_added is not None:
        total = added.sum(dim=1, keepdim=True) + (0.0 if shared is None else shared)
        linear = linear_map(block.norm_added, total)
        constant = block.norm_added.shift if shared is None else linear.whole(shared.expand_as(total))
        added, shared = linear.parts(added), constant
    added = added * block.multiplier
    first = parts[:, :1] if shared is None else parts[:, :1] + shared * block.multiplier
    parts = torch.cat([first, parts[:, 1:], added], dim=1)
    if block.norm_after is None:
        return parts
    linear = linear_map(block.norm_after, parts.sum(dim=1, keepdim=True))
    divided = linear.parts(parts)
    return torch.cat([divided[:, :1] + block.norm_after.shift, divided[:, 1:]], dim=1)


def linear_map(norm: Norm, total: Tensor) -> LinearMap:
    """A norm at the sum of the parts (B, 1, T, D), with its shift as the constant. See `linearize`."""
    centred = total - total.mean(dim=-1, keepdim=True) if norm.centred else total
    return LinearMap(centred=norm.centred, divisor=norm.divisor(centred), factor=norm.scale, constant=norm.shift)
