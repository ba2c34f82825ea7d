"""The names that tutorials give to the weights of a Transformer, and how these weights get our names."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor, nn

from model.checkpoints.checkpoint import DESCRIPTION
from model.files import CheckpointError
from model.messages import Message

__all__ = ["LAYOUTS", "Names", "copy_weights"]

# Our module → their module. `[k]` is the k-th third of a matrix with queries, keys and values.
LAYOUTS: Mapping[str, Mapping[str, str]] = {
    "torch": {
        "{stack}.layers.{i}.self_attention.query_projection": "{stack}.layers.{i}.self_attn.in_proj[0]",
        "{stack}.layers.{i}.self_attention.key_projection": "{stack}.layers.{i}.self_attn.in_proj[1]",
        "{stack}.layers.{i}.self_attention.value_projection": "{stack}.layers.{i}.self_attn.in_proj[2]",
        "{stack}.layers.{i}.self_attention.output_projection": "{stack}.layers.{i}.self_attn.out_proj",
        "{stack}.layers.{i}.self_attention_residual.norm": "{stack}.layers.{i}.norm1",
        "{stack}.layers.{i}.feed_forward.expand": "{stack}.layers.{i}.linear1",
        "{stack}.layers.{i}.feed_forward.contract": "{stack}.layers.{i}.linear2",
        "{stack}.norm": "{stack}.norm",
        "encoder.layers.{i}.feed_forward_residual.norm": "encoder.layers.{i}.norm2",
        "decoder.layers.{i}.feed_forward_residual.norm": "decoder.layers.{i}.norm3",
        "decoder.layers.{i}.cross_attention_residual.norm": "decoder.layers.{i}.norm2",
        "decoder.layers.{i}.cross_attention.query_projection": "decoder.layers.{i}.multihead_attn.in_proj[0]",
        "decoder.layers.{i}.cross_attention.key_projection": "decoder.layers.{i}.multihead_attn.in_proj[1]",
        "decoder.layers.{i}.cross_attention.value_projection": "decoder.layers.{i}.multihead_attn.in_proj[2]",
        "decoder.layers.{i}.cross_attention.output_projection": "decoder.layers.{i}.multihead_attn.out_proj",
    },
    "annotated": {
        "{stack}.layers.{i}.self_attention.query_projection": "{stack}.layers.{i}.self_attn.linears.0",
        "{stack}.layers.{i}.self_attention.key_projection": "{stack}.layers.{i}.self_attn.linears.1",
        "{stack}.layers.{i}.self_attention.value_projection": "{stack}.layers.{i}.self_attn.linears.2",
        "{stack}.layers.{i}.self_attention.output_projection": "{stack}.layers.{i}.self_attn.linears.3",
        "{stack}.layers.{i}.self_attention_residual.norm": "{stack}.layers.{i}.sublayer.0.norm",
        "{stack}.layers.{i}.feed_forward.expand": "{stack}.layers.{i}.feed_forward.w_1",
        "{stack}.layers.{i}.feed_forward.contract": "{stack}.layers.{i}.feed_forward.w_2",
        "{stack}.norm": "{stack}.norm",
        "encoder.layers.{i}.feed_forward_residual.norm": "encoder.layers.{i}.sublayer.1.norm",
        "decoder.layers.{i}.feed_forward_residual.norm": "decoder.layers.{i}.sublayer.2.norm",
        "decoder.layers.{i}.cross_attention_residual.norm": "decoder.layers.{i}.sublayer.1.norm",
        "decoder.layers.{i}.cross_attention.query_projection": "decoder.layers.{i}.src_attn.linears.0",
        "decoder.layers.{i}.cross_attention.key_projection": "decoder.layers.{i}.src_attn.linears.1",
        "decoder.layers.{i}.cross_attention.value_projection": "decoder.layers.{i}.src_attn.linears.2",
        "decoder.layers.{i}.cross_attention.output_projection": "decoder.layers.{i}.src_attn.linears.3",
    },
}


@dataclass(frozen=True, kw_only=True)
class Names:
    """The table [names] of `headlight.toml`."""

    layout: str
    prefix: str
    source_embedding: str
    target_embedding: str
    output: str
    modules: Mapping[str, str]


@torch.no_grad()
def copy_weights(model: nn.Module, theirs: Mapping[str, Tensor], names: Names, checkpoint: str) -> None:
    """Copy saved tensors into every parameter of a model.

    Args:
        model: Our model.
        theirs: Name → tensor, as saved.
        names: The names in the saved file.
        checkpoint: Name of the checkpoint, for messages.

    Raises:
        CheckpointError: tensors are missing, not used, or have another shape. The message names them.
    """
    wanted = dict(model.named_parameters(remove_duplicate=False))
    used, missing, misshapen = set[str](), list[str](), list[str]()
    for ours, parameter in wanted.items():
        their_name, tensor = find_tensor(ours, theirs, names)
        used.add(their_name)
        if tensor is None:
            missing.append(their_name)
        elif tensor.shape != parameter.shape:
            misshapen.append(f"{their_name}: {list(tensor.shape)} ≠ {list(parameter.shape)}")
        else:
            parameter.copy_(tensor)
    # Positions that are not learned are computed, so saved ones are not needed.
    surplus = [key for key in theirs if key not in used and not re.search(r"(^|\.)(pe|pos\w*|mask)(\.|$)", key)]
    problems = [
        Message("Missing tensors: {names}.", names=few(missing)) if missing else None,
        Message("Tensors with another shape than the model needs: {shapes}.", shapes=few(misshapen))
        if misshapen
        else None,
        Message("Tensors that are not used: {names}.", names=few(surplus)) if surplus else None,
    ]
    if found := [problem for problem in problems if problem is not None]:
        raise CheckpointError(
            "The weights of {checkpoint} do not fit {description}. {found}",
            checkpoint=checkpoint,
            description=DESCRIPTION,
            found=reduce(lambda first, then: Message("{first} {then}", first=first, then=then), found),
        )


def few(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return Message("{names} and {n} more", names=shown, n=len(names) - 4) if len(names) > 4 else shown


def find_tensor(ours: str, theirs: Mapping[str, Tensor], names: Names) -> tuple[str, Tensor | None]:
    """The saved name of one of our parameters, and its tensor if the file has it."""
    module, _, part = ours.rpartition(".")
    their_module = module_name(module, names)
    third = re.fullmatch(r"(.*)\[(\d)\]", their_module)
    if third:  # torch.nn.MultiheadAttention
        name = f"{third[1]}_{part}"
        tensor = theirs.get(name)
        if tensor is not None and (tensor.dim() == 0 or len(tensor) % 3):
            raise CheckpointError(
                "{name} has the shape {shape}. Its rows must be queries, keys and values.",
                name=name,
                shape=list(tensor.shape),
            )
        return name, None if tensor is None else tensor.chunk(3)[int(third[2])]
    name = f"{their_module}.{'weight' if part == 'table' else part}"  # learned positions
    if name in theirs or names.layout != "annotated" or not their_module.endswith("norm"):
        return name, theirs.get(name)
    # The LayerNorm of this tutorial divides by the standard deviation of a sample, larger by √(n / (n − 1)).
    name = f"{their_module}.{'a_2' if part == 'weight' else 'b_2'}"
    tensor = theirs.get(name)
    if tensor is None or part == "bias":
        return name, tensor
    return name, tensor.float() * math.sqrt((tensor.numel() - 1) / tensor.numel())


def module_name(module: str, names: Names) -> str:
    ends = {
        "encoder.embedding.tokens": names.source_embedding,
        "decoder.embedding.tokens": names.target_embedding,
        "output_projection": names.output,
    }
    if module in ends:
        return ends[module]
    number = re.search(r"\.(\d+)\.", module)
    stack, i = module.partition(".")[0], number[1] if number else ""
    template = re.sub(r"\.\d+\.", ".{i}.", module)
    for table in (names.modules, LAYOUTS[names.layout]):
        theirs = table.get(template) or table.get(template.replace(stack, "{stack}", 1))
        if theirs is not None:
            return names.prefix + theirs.replace("{stack}", stack).replace("{i}", i)
    return module
