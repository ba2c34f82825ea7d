"""The positions of a tutorial's model: a table in its file, or a formula."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from model.config.model import DecoderSizes, ModelConfig, Positional
from model.config.section import Section, require
from model.network.positional import sinusoidal_table
from model.safety.torch_files import SavedFile

__all__ = ["POSITIONS", "PositionForm", "Positions", "find_positions", "guessed_tables", "is_table", "named_as_in"]

LIMIT = 20_000  # rows of a table that is computed
POSITIONS = re.compile(r"(^|[._])(w?pe|pos(?!itionwise)\w*)([._]|$)")
SIDES = {"encoder": "(encoder|enc|src|source)", "decoder": "(decoder|dec|tgt|trg|target)"}
# How far a table is from the formula if both are the same: angles in single precision, or rounded numbers.
CLOSE = {torch.float16: 2e-3, torch.bfloat16: 1e-2}


@dataclass(frozen=True, kw_only=True)
class PositionForm(Section):
    """The table [positions] of `headlight.toml`: where the vectors are in the file, or their formula."""

    table: str = ""  # the name of a tensor
    source_table: str = ""
    target_table: str = ""
    base: float = 10_000.0
    # How a row is arranged: each sine beside its cosine; first all sines; or so with the exponents of fairseq.
    order: Literal["interleaved", "halves", "fairseq"] = "interleaved"
    scale: float = 1.0
    first: int = 0  # the row of the first token

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.base > 0, "base is {base}; it must be above 0, such as 10000.", base=self.base)
        require(
            0 <= self.first <= LIMIT,
            "first is {first}. It must be from 0 to {limit}.",
            first=self.first,
            limit=f"{LIMIT:,}",
        )
        require(
            not (self.table and (self.source_table or self.target_table)),
            "[positions] has table and one of source_table and target_table. Name one table for both sides, or two.",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Positions:
    """The vectors of one stack."""

    kind: Positional
    table: Tensor  # (max_length, D)
    name: str = ""  # of the tensor in the file; "" if the vectors are computed


def find_positions(
    config: ModelConfig | DecoderSizes,
    form: PositionForm,
    tensors: Mapping[str, Tensor],
    stacks: Iterable[str],
    *,
    given: bool,
) -> dict[str, Positions]:
    """The positions of each stack.

    Args:
        config: The sizes, with the kind of positions.
        form: The table [positions].
        tensors: The tensors of the file that no parameter needs.
        stacks: "encoder" and "decoder", or one of them.
        given: Whether the description states the kind.

    Returns:
        Stack → its positions; nothing where no vectors are added to the tokens.

    Raises:
        ConfigError: a table is missing, has another shape, or may belong to either side.
    """
    if config.positional not in ("sinusoidal", "learned", "table"):
        return {}
    names = named_tables(form, tensors) or guessed_tables(tensors, config.d_model)
    if not names:
        require(
            config.positional == "sinusoidal",
            "positional is {kind}, but no tensor has the usual name of a table of positions. Name the table in "
            '[positions], such as table = "pos_embedding.weight".',
            kind=repr(config.positional),
        )
    found = {}
    for stack in stacks:
        if name := names.get(stack, ""):
            table = rows_of(tensors[name], name, config, form)
            kind = config.positional if given and config.positional != "sinusoidal" else kind_of(table, name, tensors)
            found[stack] = Positions(kind=kind, table=table, name=name)
        else:
            table = formula(config, form)
            found[stack] = Positions(kind="sinusoidal" if is_usual(table) else "table", table=table)
    return found


def named_as_in(saved: SavedFile, form: PositionForm, usual: str) -> PositionForm:
    """The table [positions] with the names in the file, and with the usual table of a layout if it names none."""
    source, target, table = map(saved.key, (form.source_table, form.target_table, form.table))
    if saved.key(usual) in saved.tensors and not (table or source or target):
        table = saved.key(usual)
    return replace(form, table=table, source_table=source, target_table=target)


def named_tables(form: PositionForm, tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Stack → the table that the description names for it."""
    named = {"encoder": form.source_table or form.table, "decoder": form.target_table or form.table}
    for name in named.values():
        require(
            not name or name in tensors,
            "The file has no unused tensor {name}, which [positions] names. Its unused tensors are: {others}.",
            name=name,
            others=", ".join(sorted(tensors)) or "none",
        )
    return {stack: name for stack, name in named.items() if name}


def guessed_tables(tensors: Mapping[str, Tensor], d_model: int) -> dict[str, str]:
    """Stack → the table of positions, by the names and shapes of tensors.

    Raises:
        ConfigError: it is not clear which table belongs to which stack.
    """
    names = [name for name, tensor in tensors.items() if POSITIONS.search(name) and is_table(tensor, d_model)]
    sides = {stack: [name for name in names if of_side(name, side)] for stack, side in SIDES.items()}
    if len(names) == 2 and all(len(own) == 1 for own in sides.values()):
        return {stack: own[0] for stack, own in sides.items()}
    alike = all(same(tensors[name], tensors[names[0]]) for name in names)
    if names and alike and (len(names) > 1 or not any(sides.values())):
        return dict.fromkeys(SIDES, names[0])
    require(
        not names,
        "The file has tables of positions: {names}. Name the one of each side in [positions] with source_table and "
        "target_table, or with table if both sides use it.",
        names=", ".join(names),
    )
    return {}


def is_table(tensor: Tensor, d_model: int) -> bool:
    """Whether it has the shape (L, D), perhaps with dimensions of size 1."""
    wide = [size for size in tensor.shape[:-1] if size != 1]
    return tensor.dim() > 1 and tensor.is_floating_point() and tensor.size(-1) == d_model and len(wide) <= 1


def of_side(name: str, side: str) -> bool:
    return any(re.fullmatch(rf"{side}(_.*)?", part) for part in name.split("."))


def same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one, other)


def rows_of(tensor: Tensor, name: str, config: ModelConfig | DecoderSizes, form: PositionForm) -> Tensor:
    """The rows of a saved table that the model uses, (max_length, D)."""
    require(
        is_table(tensor, config.d_model),
        "{name} has the shape {shape}. A table of positions has one row for each position and {d_model} columns.",
        name=name,
        shape=list(tensor.shape),
        d_model=config.d_model,
    )
    rows = tensor.reshape(-1, config.d_model)[form.first :]
    require(
        len(rows) >= config.max_length,
        "{name} has {rows} positions, and max_length is {length}. Set max_length to {rows}.",
        name=name,
        rows=len(rows),
        length=config.max_length,
    )
    return form.scale * rows[: config.max_length].float()


def kind_of(table: Tensor, name: str, tensors: Mapping[str, Tensor]) -> Positional:
    """What a saved table is: our sinusoids, the weights of an `nn.Embedding`, or other vectors."""
    if is_usual(table, tensors[name].dtype):
        return "sinusoidal"
    return "learned" if name.endswith(".weight") else "table"


def is_usual(table: Tensor, saved_as: torch.dtype = torch.float32) -> bool:
    """Whether these are the sinusoids of "Attention Is All You Need"."""
    return table.size(1) % 2 == 0 and bool(
        (table - sinusoidal_table(*table.shape)).abs().max() <= CLOSE.get(saved_as, 1e-3)
    )


def formula(config: ModelConfig | DecoderSizes, form: PositionForm) -> Tensor:
    """Sinusoids with the base, order, scale and first position of the description, (max_length, D)."""
    length, d_model = form.first + config.max_length, config.d_model
    if form.order == "interleaved":
        table = sinusoidal_table(length, d_model, base=form.base)
    else:
        half = d_model // 2
        steps = half - 1 if form.order == "fairseq" else half
        rate = torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(form.base) / max(steps, 1)))
        angle = torch.arange(length, dtype=torch.float64)[:, None] * rate  # (S, D/2)
        table = torch.cat([angle.sin(), angle.cos()], dim=1).float()
    return form.scale * table[form.first :]
