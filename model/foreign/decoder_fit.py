"""Which tensor of a file belongs to which parameter of a decoder alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from model.checkpoints.decoder_alone import DecoderDescription
from model.checkpoints.decoder_layouts import OUTPUT, TOKENS, arranged
from model.checkpoints.fit import (
    Matched,
    notes_on,
    problems_with_names,
    problems_with_surplus,
    unfit,
)
from model.checkpoints.layouts import SavedName
from model.checkpoints.leftovers import matching, unexplained
from model.checkpoints.saved_positions import find_positions
from model.config.model import DecoderSizes
from model.config.section import ConfigError
from model.foreign.decoder_network import TutorialDecoder, rotary_frequencies
from model.messages import Message
from model.safety.sizes import require_matching_weights
from model.safety.torch_files import SavedFile
from model.safety.weight_files import Header

__all__ = ["DecoderFit", "fit_decoder"]

TABLE = "decoder.embedding.position_embeddings.weight"


@dataclass(frozen=True, kw_only=True, eq=False)
class DecoderFit:
    """The weights of a file for the decoder that `headlight.toml` describes."""

    sizes: DecoderSizes  # with the kind of positions that the file has
    tensors: Mapping[str, Tensor]  # name of our parameter → its values; biases that no layer has are left out
    numbers: int  # of the model in memory
    notes: tuple[Message, ...]  # what a reader should know about the file


def fit_decoder(described: DecoderDescription, saved: SavedFile) -> DecoderFit:
    """Find a tensor for each parameter, and a reason for each tensor without a parameter.

    Args:
        described: The contents of `headlight.toml`.
        saved: The file of weights.

    Raises:
        CheckpointError: tensors are missing, not used, or have another shape. The message names them and a remedy.
    """
    sizes, checkpoint = described.model, described.folder.name
    try:
        matched = matched_names(described, saved)
        form = described.position_form(saved)
        positions = find_positions(sizes, form, matched.rest, given=described.positions_given).get("decoder")
    except ConfigError as error:
        raise unfit(checkpoint, [error.message]) from error
    tables = {positions.name: matched.rest[positions.name]} if positions is not None and positions.name else {}
    rest = {name: tensor for name, tensor in matched.rest.items() if name not in tables}
    ends = [tensor for ours, tensor in matched.weights.items() if ours.startswith((TOKENS, OUTPUT))]
    unknown = unexplained(rest, [*ends, *tables.values()], sizes, scaled=sizes.scale_embeddings)
    surplus = {name: rest[name] for name in unknown if not is_rotation(rest[name], sizes)}
    if problems := [*problems_with_names(matched), *problems_with_surplus(surplus, matched, sizes)]:
        raise unfit(checkpoint, problems)
    tensors = {ours: tensor.expand(matched.shapes[ours]) for ours, tensor in matched.weights.items()}
    return DecoderFit(
        sizes=sizes if positions is None else DecoderSizes.from_dict(sizes.to_dict() | {"positional": positions.kind}),
        tensors=tensors if positions is None else tensors | {TABLE: positions.table},
        numbers=matched.numbers,
        notes=tuple(notes_on(saved, matched.ignored, {} if positions is None else {"decoder": positions})),
    )


def matched_names(described: DecoderDescription, saved: SavedFile) -> Matched:
    """Compare the names in the file with ours.

    Raises:
        CheckpointError: the description claims more layers or weights than the file has.
        ConfigError: a joined matrix cannot be divided.
    """
    sizes, norm = described.model, described.norm
    if sizes.positional == "learned":  # `find_positions` compares max_length with the rows of the table
        sizes = replace(sizes, positional="table")
    header = Header(shapes={name: tuple(tensor.shape) for name, tensor in saved.tensors.items()})
    numbers = require_matching_weights(
        lambda: TutorialDecoder(sizes, norm), sizes.to_dict(), header, described.folder.name
    )
    with torch.device("meta"):
        state = TutorialDecoder(sizes, norm).state_dict()
    shapes = {ours: tensor.shape for ours, tensor in state.items() if ours != TABLE}
    modules = {ours: saved.key(theirs) for ours, theirs in described.modules.items()}
    found = arranged(saved.tensors, modules, sizes.num_decoder_layers, norm)
    weights = {ours: tensor for ours, tensor in found.tensors.items() if ours in shapes}
    used = {name for ours in weights for name in found.names[ours]}
    unused = [name for name in saved.tensors if name not in used]
    ignored = matching(unused, [saved.key(pattern) for pattern in described.ignore])
    named = {ours: ", ".join(found.names.get(ours, ())) or theirs_of(ours, modules) for ours in shapes}
    has = {pattern_of(ours) for ours in weights}
    return Matched(
        shapes=shapes,
        places={ours: SavedName(tensor=name) for ours, name in named.items()},
        weights=weights,
        absent=frozenset(ours for ours in shapes if ours.endswith(".bias") and pattern_of(ours) not in has),
        ignored=ignored,
        rest={name: saved.tensors[name] for name in unused if name not in ignored},
        numbers=numbers,
    )


def pattern_of(ours: str) -> str:
    """The same name for all layers."""
    return re.sub(r"\.layers\.\d+\.", ".layers.{i}.", ours)


def theirs_of(ours: str, modules: Mapping[str, str]) -> str:
    """The name that the file should have for one of our parameters."""
    module, _, part = ours.rpartition(".")
    layer = re.search(r"\.layers\.(\d+)\.", ours)
    theirs = modules.get(pattern_of(module), module).partition("[")[0]
    return f"{theirs.replace('{i}', layer[1] if layer else '').replace('{h}', '0')}.{part}"


def is_rotation(tensor: Tensor, sizes: DecoderSizes) -> bool:
    """Whether it holds the frequencies of the rotary positions, or the sine or cosine of their angles (T, K / 2)."""
    if sizes.positional != "rotary" or tensor.is_complex():
        return False
    frequencies = rotary_frequencies(sizes.d_model // sizes.num_heads, sizes.rotary_base)
    if tensor.shape == frequencies.shape:
        return torch.allclose(tensor.float(), frequencies, rtol=1e-3)
    if tensor.dim() != 2 or tensor.size(1) != len(frequencies):
        return False
    angles = torch.arange(len(tensor))[:, None] * frequencies
    return any(torch.allclose(tensor.float(), waves, atol=1e-3) for waves in (angles.cos(), angles.sin()))
