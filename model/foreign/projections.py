"""The matrices that compute queries, keys and values in models of Hugging Face's `transformers`, found by measurement.

Families give these matrices many names, and many join them: three in one, key by key or head by head, in groups. So the
names are not read. The model reads a few tokens. Each number of a query is compared with the outputs of all matrices in
its attention module; the output that is equal for every token computes it. At the first position, rotary positions
rotate by 0. Where a norm follows a matrix (Qwen 3) or two matrices follow each other (DeepSeek), nothing is equal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from model.foreign.readout import describe_matrix
from model.foreign.sizes import run_on, tolerance_of, vocabulary_of
from model.network.protocols import STAGES
from model.network.residual_stream import Block, Matrix, Stack
from model.trace import IfPresent, Trace, hook_name, tracing, untraced

__all__ = ["Found", "find_projections"]

TEXTS = 16  # of the measurement, with two tokens each
RECORDED = ("*.states", "*.embedding.*", "*_residual.*", *(f"*.{stage}" for stage in STAGES))
Found = Mapping[tuple[str, int, str], "Projection"]  # kind, layer, stage → what computes it


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """Rows of one matrix or of several, below each other."""

    modules: tuple[nn.Module, ...]
    rows: Tensor  # (H·K,)

    @property
    def matrix(self) -> Matrix:
        """From what the attention reads to all heads, D → H·K."""
        weight, bias = joined(self.modules)
        return Matrix(weight=weight[self.rows], bias=bias[self.rows])


@torch.no_grad()
def find_projections(
    model: PreTrainedModel, stacks: Sequence[Stack], attention: Mapping[tuple[str, int], nn.Module]
) -> Found:
    """The matrices of every attention layer. A stage is missing if it needs more than one matrix.

    Args:
        model: A model of the library with its hook points.
        stacks: Those whose blocks are known.
        attention: Kind and layer → the library's attention module.
    """
    size = vocabulary_of(model)
    ids = (torch.arange(1, TEXTS + 1, device=model.device) * max(1, size // (TEXTS + 2))) % size  # see `few_texts`
    with untraced(), tracing(record=tuple(map(IfPresent, RECORDED))) as trace:
        run_on(model, torch.stack([ids, ids.flip(0)], dim=1))
    found: dict[tuple[str, int, str], Projection] = {}
    for block, stage in product((block for stack in stacks for block in stack.blocks), STAGES):
        if block.kind is None:
            continue
        reads = read_by(block, stage, trace)
        target = first_tokens(trace, hook_name(block.kind, block.layer, stage))
        if reads is not None and target is not None:
            module = attention[block.kind, block.layer]
            match = matching(module, reads, target.flatten(1), tolerance_of(model))
            if match is not None:
                found[block.kind, block.layer, stage] = match
    return found


def first_tokens(trace: Trace, name: str) -> Tensor | None:
    """What passed a hook point at the first position of each text, (B, …)."""
    if name not in trace.names:
        return None
    found = trace.passes(name)[0].float().cpu()  # (B, T, D) or (B, H, T, K)
    return found[..., 0, :]


def read_by(block: Block, stage: str, trace: Trace) -> Tensor | None:
    """What the matrix of a stage reads, (B, D)."""
    if block.kind == "cross" and stage != "queries":
        return first_tokens(trace, "encoder.states")
    stream = first_tokens(trace, block.reads)
    return stream if stream is None or block.norm_before is None else block.norm_before(stream)


def matching(module: nn.Module, reads: Tensor, target: Tensor, tolerance: float) -> Projection | None:
    """The rows of the matrices inside a module whose outputs for (B, D) are the target (B, H·K)."""
    modules = tuple(
        part
        for part in module.modules()
        if isinstance(part, nn.Linear | Conv1D) and describe_matrix(part).weight.size(1) == reads.size(1)
    )
    if not modules:
        return None
    weight, bias = joined(modules)
    outputs = reads @ weight.T + bias  # (B, N)
    # The other way to compute distances, from products, is not exact enough to find what is equal.
    distances = torch.cdist(target.T, outputs.T, compute_mode="donot_use_mm_for_euclid_dist")  # (H·K, N)
    nearest, rows = distances.min(dim=1)  # (H·K,)
    limit = tolerance * float(target.norm(dim=0).max())
    return Projection(modules=modules, rows=rows) if float(nearest.max()) <= limit else None


def joined(modules: Sequence[nn.Module]) -> tuple[Tensor, Tensor]:
    """The matrices of several modules below each other, (N, D), and their biases (N,)."""
    matrices = [describe_matrix(module) for module in modules]
    biases = [torch.zeros(len(one.weight)) if one.bias is None else one.bias.float().cpu() for one in matrices]
    weights = [one.weight.float().cpu() for one in matrices]
    return torch.cat(weights) if len(weights) > 1 else weights[0], torch.cat(biases)  # one weight may be large
