"""Which tensor of a file belongs to which parameter of our model."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import torch
from torch import Tensor

from model.checkpoints.checkpoint import DESCRIPTION
from model.checkpoints.description import Description
from model.checkpoints.layouts import SavedName
from model.checkpoints.leftovers import matching, unexplained
from model.checkpoints.saved_positions import PositionForm, Positions, find_positions, is_table
from model.checkpoints.tutorial_model import TutorialTransformer
from model.config.model import DecoderSizes, ModelConfig
from model.config.section import ConfigError
from model.files import CheckpointError
from model.messages import Message
from model.safety.sizes import require_matching_weights
from model.safety.torch_files import SavedFile
from model.safety.weight_files import Header

__all__ = [
    "Fit",
    "Matched",
    "fit",
    "named_as_in",
    "notes_on",
    "problems_with_names",
    "problems_with_surplus",
    "unfit",
]

ENDS = ("encoder.embedding.tokens.", "decoder.embedding.tokens.", "output_projection.")


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """The weights of a file for the model that `headlight.toml` describes."""

    config: ModelConfig  # with the kind of positions that the file has
    weights: Mapping[str, Tensor]  # name of our parameter → its values
    absent: frozenset[str]  # biases that no layer of the file has
    positions: Mapping[str, Positions]
    numbers: int  # of the model in memory
    notes: tuple[Message, ...]  # what a reader should know about the file


@dataclass(frozen=True, kw_only=True, eq=False)
class Matched:
    """The names of parameters and tensors, compared."""

    shapes: Mapping[str, torch.Size]  # of our parameters, without positions
    places: Mapping[str, SavedName]
    weights: Mapping[str, Tensor]
    absent: frozenset[str]
    ignored: list[str]
    rest: Mapping[str, Tensor]  # tensors that no parameter needs and that are not ignored
    numbers: int

    @property
    def missing(self) -> list[str]:
        """Tensors that our parameters need and that the file does not have."""
        known = self.weights.keys() | self.absent
        return list(dict.fromkeys(place.tensor for ours, place in self.places.items() if ours not in known))


def fit(described: Description, saved: SavedFile, checkpoint: str) -> Fit:
    """Find a tensor for each parameter, and a reason for each tensor without a parameter.

    Args:
        described: The contents of `headlight.toml`.
        saved: The file of weights.
        checkpoint: Name of the checkpoint, for messages.

    Raises:
        CheckpointError: tensors are missing, not used, or have another shape. The message names them and a remedy.
    """
    config, matched = described.model, matched_names(described, saved, checkpoint)
    try:
        form = named_as_in(saved, described.positions)
        positions = find_positions(config, form, matched.rest, given=described.positions_given)
    except ConfigError as error:
        raise unfit(checkpoint, [error.message]) from error
    tables = {found.name: matched.rest[found.name] for found in positions.values() if found.name}
    rest = {name: tensor for name, tensor in matched.rest.items() if name not in tables}
    ends = [tensor for ours, tensor in matched.weights.items() if ours.startswith(ENDS)]
    scaled = described.differences.scale_embeddings
    surplus = {name: rest[name] for name in unexplained(rest, [*ends, *tables.values()], config, scaled=scaled)}
    if problems := [*problems_with_names(matched), *problems_with_surplus(surplus, matched, config)]:
        raise unfit(checkpoint, problems)
    return Fit(
        config=replace(config, positional=positions["encoder"].kind) if positions else config,
        weights=matched.weights,
        absent=matched.absent,
        positions=positions,
        numbers=matched.numbers,
        notes=tuple(notes_on(saved, matched.ignored, positions)),
    )


def matched_names(described: Description, saved: SavedFile, checkpoint: str) -> Matched:
    """Raises CheckpointError if the description claims more layers or weights than the file has."""
    model = described.model
    if model.positional == "learned":  # `find_positions` compares max_length with the rows of the table
        model = replace(model, positional="table")

    def build() -> TutorialTransformer:
        return TutorialTransformer(model, described.differences)

    header = Header(shapes={name: tuple(tensor.shape) for name, tensor in saved.tensors.items()})
    numbers = require_matching_weights(build, model.to_dict(), header, checkpoint)
    with torch.device("meta"):
        parameters = build().named_parameters(remove_duplicate=False)
    shapes = {name: parameter.shape for name, parameter in parameters if ".positions." not in name}
    places = {ours: place_in(saved, described.names.of(ours)) for ours in shapes}
    used = {place.tensor for place in places.values()}
    unused = [name for name in saved.tensors if name not in used]
    ignored = matching(unused, [saved.key(pattern) for pattern in described.ignore])
    return Matched(
        shapes=shapes,
        places=places,
        weights={ours: taken(saved.tensors[p.tensor], p) for ours, p in places.items() if p.tensor in saved.tensors},
        absent=absent_biases(places, saved),
        ignored=ignored,
        rest={name: saved.tensors[name] for name in unused if name not in ignored},
        numbers=numbers,
    )


def place_in(saved: SavedFile, name: SavedName) -> SavedName:
    return replace(name, tensor=saved.key(name.tensor), pattern=saved.key(name.pattern))


def named_as_in(saved: SavedFile, form: PositionForm) -> PositionForm:
    names = {name: saved.key(getattr(form, name)) for name in ("table", "source_table", "target_table")}
    return PositionForm.from_dict(form.to_dict() | names)


def is_norm(ours: str) -> bool:
    return ours.rpartition(".")[0].endswith("norm")


def taken(tensor: Tensor, place: SavedName) -> Tensor:
    """The tensor, or its third.

    Raises:
        CheckpointError: its rows are not queries, keys and values.
    """
    if place.third is None:
        return tensor
    if tensor.dim() == 0 or len(tensor) % 3:
        raise CheckpointError(
            "{name} has the shape {shape}. Its rows must be queries, keys and values.",
            name=place.tensor,
            shape=list(tensor.shape),
        )
    return tensor.chunk(3)[place.third]


def absent_biases(places: Mapping[str, SavedName], saved: SavedFile) -> frozenset[str]:
    """Biases that no layer has, though each has the weight beside it: layers that were made without a bias."""
    has = {place.pattern for place in places.values() if place.tensor in saved.tensors}
    return frozenset(
        ours
        for ours, place in places.items()
        if ours.endswith(".bias")
        and not ours.startswith(ENDS)
        and place.pattern not in has
        and places[f"{ours.removesuffix('bias')}weight"].tensor in saved.tensors
    )


def problems_with_names(matched: Matched) -> Iterator[Message]:
    """A sentence on missing tensors, and one on tensors with another shape."""
    misshapen = [
        f"{matched.places[ours].tensor}: {list(tensor.shape)} ≠ {list(matched.shapes[ours])}"
        for ours, tensor in matched.weights.items()
        if tensor.shape != matched.shapes[ours] and not (is_norm(ours) and tensor.numel() == 1)
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


def few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return Message("{names} and {n} more", names=shown, n=len(names) - 4) if len(names) > 4 else shown


def notes_on(saved: SavedFile, ignored: list[str], positions: Mapping[str, Positions]) -> Iterable[Message]:
    if ignored:
        yield Message("{description} ignores these tensors: {names}.", description=DESCRIPTION, names=few(ignored))
    if saved.beside:
        yield Message("The file of weights also has parts that are not used: {names}.", names=few(saved.beside))
    for name in dict.fromkeys(found.name for found in positions.values() if found.kind == "table" and found.name):
        yield Message("The positions come from {name} in the file. They are not the usual sinusoids.", name=name)
