"""Which tensor of a file belongs to which parameter of our model, and why the others belong to none.

Each tensor without a parameter is proved equal to what we compute, ignored on request, or named in a message.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from model.checkpoints.checkpoint import DESCRIPTION
from model.checkpoints.description import DecoderDescription, TranslatorDescription
from model.checkpoints.layouts import ENDS, LAYOUTS, Place
from model.checkpoints.saved_positions import Positions, find_positions, is_table, named_as_in
from model.checkpoints.tutorial_model import make_model
from model.config.model import DecoderSizes, ModelConfig
from model.config.section import ConfigError
from model.files import CheckpointError
from model.messages import Message, few
from model.safety.sizes import require_matching_weights
from model.safety.torch_files import SavedFile
from model.safety.weight_files import Header

__all__ = ["Fit", "fit"]

NORM = re.compile(r"norm\.\w+$")  # a parameter of a norm
HIDES = -1e4  # a score with this number added counts for nothing


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """The weights of a file for the model that `headlight.toml` describes."""

    config: ModelConfig | DecoderSizes  # with the kind of positions that the file has
    weights: Mapping[str, Tensor]  # name of our parameter → its values
    absent: frozenset[str]  # biases that no layer of the file has
    positions: Mapping[str, Positions]  # of each stack
    numbers: int  # of the model in memory
    notes: tuple[Message, ...]  # what a reader should know about the file


@dataclass(frozen=True, kw_only=True, eq=False)
class Matched:
    """The names of parameters and tensors, compared."""

    shapes: Mapping[str, torch.Size]  # of our parameters, without positions
    places: Mapping[str, Place]
    weights: Mapping[str, Tensor]
    absent: frozenset[str]
    ignored: list[str]
    rest: Mapping[str, Tensor]  # tensors that no parameter needs and that are not ignored
    numbers: int

    @property
    def missing(self) -> list[str]:
        """Tensors that our parameters need and that the file does not have."""
        known = self.weights.keys() | self.absent
        return list(dict.fromkeys(place.names for ours, place in self.places.items() if ours not in known))


def fit(described: TranslatorDescription | DecoderDescription, saved: SavedFile) -> Fit:
    """Find a tensor for each parameter, and a reason for each tensor without a parameter.

    Args:
        described: The contents of `headlight.toml`.
        saved: The file of weights.

    Raises:
        CheckpointError: tensors are missing, not used, or have another shape. The message names them and a remedy.
    """
    config, checkpoint = described.model, described.folder.name
    try:
        matched = matched_names(described, saved)
        form = named_as_in(saved, described.positions, described.names.positions)
        stacks = LAYOUTS[described.task][described.names.layout].stacks
        positions = find_positions(config, form, matched.rest, stacks, given=described.positions_given)
    except ConfigError as error:
        raise unfit(checkpoint, [error.message]) from error
    tables = {found.name: matched.rest[found.name] for found in positions.values() if found.name}
    rest = {name: tensor for name, tensor in matched.rest.items() if name not in tables}
    ends = [tensor for ours, tensor in matched.weights.items() if is_end(ours)]
    surplus = {name: rest[name] for name in unexplained(rest, [*ends, *tables.values()], described)}
    if problems := [*problems_with_names(matched), *problems_with_surplus(surplus, matched, config)]:
        raise unfit(checkpoint, problems)
    kind = {"positional": next(iter(positions.values())).kind} if positions else {}
    return Fit(
        config=type(config).from_dict(config.to_dict() | kind),
        weights=matched.weights,
        absent=matched.absent,
        positions=positions,
        numbers=matched.numbers,
        notes=tuple(notes_on(saved, matched.ignored, positions)),
    )


def matched_names(described: TranslatorDescription | DecoderDescription, saved: SavedFile) -> Matched:
    """Compare the names in the file with ours.

    Raises:
        CheckpointError: the description claims more layers or weights than the file has.
        ConfigError: a joined matrix cannot be divided.
    """
    sizes: Any = described.model
    if sizes.positional == "learned":  # `find_positions` compares max_length with the rows of the table
        sizes = replace(sizes, positional="table")
    header = Header(shapes={name: tuple(tensor.shape) for name, tensor in saved.tensors.items()})
    numbers = require_matching_weights(
        lambda: make_model(described, sizes), sizes.to_dict(), header, described.folder.name
    )
    with torch.device("meta"):
        parameters = make_model(described, sizes).named_parameters(remove_duplicate=False)
    shapes = {name: parameter.shape for name, parameter in parameters if ".positions." not in name}
    places = {ours: described.names.find(ours, saved) for ours in shapes}
    used = {name for place in places.values() for name in place.used}
    unused = [name for name in saved.tensors if name not in used]
    patterns = [saved.key(pattern) for pattern in described.ignore]
    ignored = [name for name in unused if any(fnmatchcase(name, pattern) for pattern in patterns)]
    # Biases that no layer has, though each has the weight beside it: layers that were made without a bias.
    has = {place.pattern for place in places.values() if place.used}
    absent = {ours for ours, place in places.items() if ours.endswith(".bias") and place.pattern not in has}
    needed = {ours for ours in absent if described.task == "translation" and is_end(ours)}
    return Matched(
        shapes=shapes,
        places=places,
        weights={ours: place.tensor for ours, place in places.items() if place.tensor is not None},
        absent=frozenset(ours for ours in absent - needed if places[f"{ours.removesuffix('bias')}weight"].used),
        ignored=ignored,
        rest={name: saved.tensors[name] for name in unused if name not in ignored},
        numbers=numbers,
    )


def is_end(ours: str) -> bool:
    """Whether a parameter belongs to an embedding or to the output layer."""
    return ours.rpartition(".")[0] in ENDS.values()


def problems_with_names(matched: Matched) -> Iterator[Message]:
    """A sentence on missing tensors, and one on tensors with another shape."""
    misshapen = [
        f"{matched.places[ours].names}: {list(tensor.shape)} ≠ {list(matched.shapes[ours])}"
        for ours, tensor in matched.weights.items()
        if tensor.shape != matched.shapes[ours] and not (NORM.search(ours) and tensor.numel() == 1)
    ]
    if matched.missing:
        yield Message("Missing tensors: {names}.", names=few(matched.missing))
    if misshapen:
        yield Message("Tensors with another shape than the model needs: {shapes}.", shapes=few(misshapen))


def problems_with_surplus(
    surplus: Mapping[str, Tensor], matched: Matched, config: ModelConfig | DecoderSizes
) -> Iterator[Message]:
    """A sentence on tensors that nothing uses, and its remedy."""
    if surplus:
        yield Message("Tensors that are not used: {names}.", names=few(list(surplus)))
        if matched.missing:
            yield Message("If these are the missing tensors, write their names in [names] or [names.modules].")
        else:
            yield remedy_for(*next(iter(surplus.items())), config)


def remedy_for(name: str, tensor: Tensor, config: ModelConfig | DecoderSizes) -> Message:
    """What to write in `headlight.toml` for a tensor that nothing uses."""
    if re.search(r"layers\.\d+\.", name):
        return Message("If the model has more layers, raise num_encoder_layers or num_decoder_layers.")
    module = name.rpartition(".")[0]
    ignore = f'ignore = ["{module}.*"]' if module else f'ignore = ["{name}"]'
    if is_table(tensor, config.d_model) and config.positional == "none":
        return Message(
            "If {name} is a table of positions, remove {setting} and write {table} in [positions]. If the model "
            "computes nothing with it, write {ignore} in the first lines of {description}.",
            name=name,
            setting='positional = "none"',
            table=f'table = "{name}"',
            ignore=ignore,
            description=DESCRIPTION,
        )
    if is_table(tensor, config.d_model):
        return Message(
            "If {name} is a table of positions, write {table} in [positions]. If the model computes nothing with it, "
            "write {ignore} in the first lines of {description}.",
            name=name,
            table=f'table = "{name}"',
            ignore=ignore,
            description=DESCRIPTION,
        )
    return Message(
        "If the model computes nothing with them, write {ignore} in the first lines of {description}.",
        ignore=ignore,
        description=DESCRIPTION,
    )


def unfit(checkpoint: str, problems: list[Message]) -> CheckpointError:
    return CheckpointError(
        "The weights of {checkpoint} do not fit {description}. {found}",
        checkpoint=checkpoint,
        description=DESCRIPTION,
        found=reduce(lambda first, then: Message("{first} {then}", first=first, then=then), problems),
    )


def notes_on(saved: SavedFile, ignored: list[str], positions: Mapping[str, Positions]) -> Iterable[Message]:
    if ignored:
        yield Message("{description} ignores these tensors: {names}.", description=DESCRIPTION, names=few(ignored))
    if saved.beside:
        yield Message("The file of weights also has parts that are not used: {names}.", names=few(saved.beside))
    for name in dict.fromkeys(found.name for found in positions.values() if found.kind == "table" and found.name):
        yield Message("The positions come from {name} in the file. They are not the usual sinusoids.", name=name)


def unexplained(
    leftovers: Mapping[str, Tensor], used: Collection[Tensor], described: TranslatorDescription | DecoderDescription
) -> list[str]:
    """The names of tensors that may be part of what the model computes.

    Args:
        leftovers: Name → tensor.
        used: The embeddings, the output layer and the tables of positions.
        described: The sizes.
    """
    config = described.model
    scaled = [config.d_model] if described.scale_embeddings else []
    roots = (*scaled, config.d_model // config.num_heads)
    return [
        name
        for name, tensor in leftovers.items()
        if not (
            is_causal(tensor)
            or counts_up(tensor)
            or ("scale" in name and is_root(tensor, roots))
            or is_rotation(tensor, config)
            or any(is_copy(tensor, known) for known in used)
        )
    ]


def is_copy(tensor: Tensor, known: Tensor) -> bool:
    """Whether both hold the same numbers, and not one number only, as after an initialization."""
    alike = tensor.shape == known.shape and tensor.dtype == known.dtype and torch.equal(tensor, known)
    return alike and tensor.numel() > 1 and not bool((tensor == tensor.flatten()[0]).all())


def is_causal(tensor: Tensor) -> bool:
    """Whether it is a mask with one value up to the diagonal and another after it.

    Which of 0 and 1 excludes a key does not matter: the other reading leaves the last query without any key.
    """
    length = tensor.size(-1) if tensor.dim() > 1 else 0
    if length < 2 or tensor.numel() != length**2:
        return False
    earlier = torch.ones(length, length, dtype=torch.bool).tril()
    mask = tensor.reshape(length, length).float()
    before, after = mask[earlier], mask[~earlier]
    if (before != before[0]).any() or (after != after[0]).any():
        return False
    values = float(before[0]), float(after[0])
    return values in ((0.0, 1.0), (1.0, 0.0)) or (values[0] == 0.0 and values[1] <= HIDES)


def counts_up(tensor: Tensor) -> bool:
    """Whether it is 0, 1, 2, …: the ids of positions."""
    plain = not tensor.is_floating_point() and tensor.dim() > 0 and tensor.numel() == tensor.size(-1) > 1
    return plain and torch.equal(tensor.flatten().long(), torch.arange(tensor.numel()))


def is_root(tensor: Tensor, numbers: Sequence[int]) -> bool:
    """Whether it is the square root of one of the numbers, by which the model multiplies or divides."""
    return tensor.numel() == 1 and any(
        math.isclose(float(tensor), math.sqrt(number), rel_tol=1e-3) for number in numbers
    )


def is_rotation(tensor: Tensor, config: ModelConfig | DecoderSizes) -> bool:
    """Whether it holds the frequencies of the rotary positions, or the sine or cosine of their angles (T, K / 2)."""
    if not isinstance(config, DecoderSizes) or config.positional != "rotary" or tensor.is_complex():
        return False
    width = config.d_model // config.num_heads
    frequencies = config.rotary_base ** (-torch.arange(0, width, 2) / width)
    if tensor.shape == frequencies.shape:
        return torch.allclose(tensor.float(), frequencies, rtol=1e-3)
    if tensor.dim() != 2 or tensor.size(1) != len(frequencies):
        return False
    angles = torch.arange(len(tensor))[:, None] * frequencies
    return any(torch.allclose(tensor.float(), waves, atol=1e-3) for waves in (angles.cos(), angles.sin()))
