"""Run a model as a graph: each receiver of each head gets a stream of its own, made of what the senders added.

The pass repeats the computation of the model from its own matrices and norms, with the masks and the numbers for
distances of a recorded run. Its logits are compared with those of the model; a model that differs is refused.

In a model with norms after the sums ("post"), what a sender added passes every later norm. A norm divides all parts of
the stream by one number, the deviation of the whole stream in the same run. So the parts still add up to the stream,
exactly, in each of both runs. What no sender adds (shifts of norms, biases after the heads) counts for the input.
"""

from collections.abc import Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, replace
from itertools import accumulate

import torch
from torch import Tensor

from model.analysis.patching import Contrast
from model.analysis.streams import LinearMap, only_rows
from model.circuits.graph import Graph, stacks_in_order
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.inference.passes import pass_over
from model.interventions import Head
from model.network.attention import attention_weights, mask_scores
from model.network.protocols import STAGES, Reads
from model.network.residual_stream import Block, Norm, Stack, read_out
from model.network.scores import attention_scores
from model.trace import IfPresent, hook_name, tracing

__all__ = ["Streams", "Wired"]

TOLERANCE = 1e-3  # of the largest logit: how far our pass may be from the model's
Streams = Mapping[str, Tensor]  # stack → the stream before its first layer, (B, T, D)
# For each site what its senders added, in the form that is read there; for each block its U' senders, (B, U', T, D).
Parts = Sequence[Sequence[Tensor]]


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
        parts: list[Sequence[Tensor]] = []
        return parts, float(self.differences(streams, seen=parts))

    def without(self, head: Head) -> "Wired":
        """The same pair in a model in which one head writes nothing."""
        silent = copy(self)
        layer = self.layers[head.kind, head.layer]
        others = torch.arange(len(layer.output), device=layer.output.device) != head.head
        silent.layers = self.layers | {
            (head.kind, head.layer): replace(layer, output=layer.output * others[:, None, None])
        }
        with torch.no_grad():
            silent.own_parts, silent.own_difference = silent.whole(self.own)
            silent.donor_parts, silent.donor_difference = silent.whole(self.donor)
        return silent

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
        seen: list[Sequence[Tensor]] | None = None,
    ) -> Tensor:
        """The logit of the donor's outcome minus that of the own outcome, (B,).

        A tensor has one row instead of B where all rows are equal so far. What no kept edge carries is not computed.

        Args:
            streams: Before the first layers, with one row or B.
            kept: (B, E), False for an edge that carries the part of `others`; None keeps all edges.
            others: Broadcast over B and T.
            nudges: For each site, what is added to the stream of each receiver, (B, R, T, D).
            seen: Gets the parts at each site.
        """
        grids = None if kept is None else self.graph.by_site(kept)
        needed = self.needed(grids)
        parts = {name: [stream[:, None]] for name, stream in streams.items()}
        totals = {name: [stream[:, None]] for name, stream in streams.items()}
        site = iter(range(len(self.graph.sites)))

        def read(norm: Norm | None) -> Tensor:  # (B, R, T, D), or (B, 1, T, D) where all receivers read the same
            number = next(site)
            place = self.graph.sites[number]
            blocks = blocks_of(parts[place.stack], len(place.senders))
            current = parts[place.stack][:blocks]
            if seen is not None:
                seen.append(current)
            total = torch.stack(torch.broadcast_tensors(*totals[place.stack][:blocks])).sum(dim=0)
            if grids is not None:
                total = exchanged(total, current, others[number], grids[number])
            if nudges:
                total = total + nudges[number]
            return total if norm is None else norm(total)

        memory_norm: Norm | None = None
        for stack in self.stacks:
            for block in stack.blocks:
                shared = None if block.kind is None else self.layers[block.kind, block.layer].output_bias
                states = read(block.norm_before)
                memory = read(memory_norm) if block.kind == "cross" else None
                if (block.kind or stack.name, block.layer) not in needed:
                    heads = 1 if block.kind is None else self.model.config.num_heads
                    added = states.new_zeros(1, heads, *states.shape[2:])
                elif block.kind is None:
                    assert block.feed_forward is not None
                    added = block.feed_forward(states[:, 0])[:, None]
                else:
                    added = self.attend(block, states, memory)
                parts[stack.name], totals[stack.name] = with_block(
                    parts[stack.name], totals[stack.name], added, shared, block
                )
            memory_norm = stack.final_norm
        found = self.read_out(self.stacks[-1], read(self.stacks[-1].final_norm)[:, 0])
        return found if kept is None else found.expand(len(kept))

    def needed(self, grids: Sequence[Tensor] | None) -> Set[tuple[str, int]]:
        """The blocks whose parts a kept edge carries: kind, or stack for a feed-forward network, and layer.

        Norms after the sums divide by all parts, so they need every block.
        """
        blocks = [(stack, block) for stack in self.stacks for block in stack.blocks]
        if grids is None or any(block.norm_added or block.norm_after for _, block in blocks):
            return {(block.kind or stack.name, block.layer) for stack, block in blocks}
        used = (
            place.senders[i]
            for place, grid in zip(self.graph.sites, grids, strict=True)
            for i in grid.any(dim=(0, 2)).nonzero()[:, 0].tolist()
        )
        return {(node.stack if node.part == "feed_forward" else node.part, node.layer) for node in used}

    def attend(self, block: Block, x: Tensor, memory: Tensor | None) -> Tensor:
        """What each head adds, (B, H, T, D).

        Args:
            block: Of attention.
            x: What it reads, normed: (B, 3 · H, T, D), or (B, H, T, D) in cross-attention, or (B, 1, T, D).
            memory: What cross-attention reads for its keys and values, (B, 2 · H, S, D) or (B, 1, S, D).
        """
        assert block.kind is not None
        layer, model = self.layers[block.kind, block.layer], self.model
        scoring = model.scoring(block.kind, block.layer)
        count = 3 if memory is None else 1
        read = list(x.chunk(count, dim=1)) if x.size(1) > 1 else [x] * count
        if memory is not None:
            read += list(memory.chunk(2, dim=1)) if memory.size(1) > 1 else [memory] * 2
        queries, keys, values = (
            one @ weight + bias for one, weight, bias in zip(read, layer.weights, layer.biases, strict=True)
        )
        if block.kind != "cross":
            for rotation in model.rotations(KINDS[block.kind].stack):
                if block.layer in rotation.layers:
                    queries, keys = rotation.rotate(queries), rotation.rotate(keys)
        scores = attention_scores(
            queries,
            keys,
            scaling=scoring.scaling,
            cap=scoring.cap,
            bias=layer.distances,
            vector=block.score_vector,
        )
        weights = attention_weights(mask_scores(scores, layer.allowed), scoring.sinks)
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


def blocks_of(parts: Sequence[Tensor], senders: int) -> int:
    """How many blocks have added the parts of the first senders; the input is the first block."""
    return 1 + list(accumulate(part.size(1) for part in parts)).index(senders)


def exchanged(total: Tensor, current: Sequence[Tensor], others: Sequence[Tensor], kept: Tensor) -> Tensor:
    """What each receiver reads if some edges carry other parts, (B, R, T, D), or (B, 1, T, D) if all read the same.

    The sum starts from the parts of the run or from the other parts: from those that leave fewer senders to exchange.

    Args:
        total: The sum of the parts of the run, (B, 1, T, D).
        current: The parts of the run.
        others: The other parts.
        kept: (B, U, R).
    """
    if int(kept.any(dim=(0, 2)).sum()) < int((~kept).any(dim=(0, 2)).sum()):
        total = sum((one.sum(dim=1, keepdim=True) for one in others), torch.zeros(())).expand(-1, -1, total.size(2), -1)
        current, others, moved = others, current, kept
    else:
        moved = ~kept
    for own, other, weights in zip(current, others, moved.split([one.size(1) for one in current], dim=1), strict=True):
        used = weights.any(dim=(0, 2)).nonzero()[:, 0]
        if len(used):
            change = other[:, used] - own[:, used]
            factors = weights[:, used].mT.to(change.dtype)
            total = total + (factors @ change.flatten(2)).unflatten(2, change.shape[2:])
    return total


def with_block(
    parts: list[Tensor], totals: list[Tensor], added: Tensor, shared: Tensor | None, block: Block
) -> tuple[list[Tensor], list[Tensor]]:
    """The parts of a stream after a block, by the blocks that added them, and the sums of each over its senders.

    Args:
        parts: Before the block, (B, U', T, D) each.
        totals: Their sums, (B, 1, T, D) each.
        added: What each sender of the block adds, (B, U', T, D).
        shared: A vector that its heads add together; it counts for the input.
        block: The block.
    """
    if block.norm_added is not None:
        total = added.sum(dim=1, keepdim=True) + (0.0 if shared is None else shared)
        linear = linear_map(block.norm_added, total)
        constant = block.norm_added.shift if shared is None else linear.whole(shared.expand_as(total))
        added, shared = linear.parts(added), constant
    added = added * block.multiplier
    first = parts[0] if shared is None else parts[0] + shared * block.multiplier
    parts = [first, *parts[1:], added]
    totals = [first, *totals[1:], added.sum(dim=1, keepdim=True)]
    if block.norm_after is None:
        return parts, totals
    linear = linear_map(block.norm_after, sum(totals, torch.zeros(())))
    first, *rest = map(linear.parts, parts)
    parts = [first + block.norm_after.shift, *rest]
    return parts, [part.sum(dim=1, keepdim=True) for part in parts]


def linear_map(norm: Norm, total: Tensor) -> LinearMap:
    """A norm at the sum of the parts (B, 1, T, D), with its shift as the constant. See `linearize`."""
    centred = total - total.mean(dim=-1, keepdim=True) if norm.centred else total
    return LinearMap(centred=norm.centred, divisor=norm.divisor(centred), factor=norm.scale, constant=norm.shift)
