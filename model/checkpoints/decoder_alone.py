"""The contents of `headlight.toml` for a decoder without an encoder, which continues a text, checked.

    task = "continuation"
    weights = "ckpt.pt"
    vocabulary = "meta.pkl"           # see `VOCABULARIES` in `decoder_files.py`
    tokens = "characters"             # or "words", between spaces, where the vocabulary is a list of tokens
    ignore = ["criterion.*"]          # tensors of the file with which the model computes nothing

    [model]                           # see `DecoderSizes`
    d_model = 384
    …

    [positions]                       # see `PositionForm`; only where positions are not those of the layout
    [norm]                            # see `NormForm`; only where norms are not those of the layout

    [specials]                        # tokens of the vocabulary; each may be left out
    bos = "<s>"                       # stands before a text
    eos = "</s>"                      # ends a text
    unknown = "<unk>"

    [names]
    layout = "gpt"                    # see `DECODER_LAYOUTS`; what follows only where names differ from it
    prefix = "transformer."           # before the names of the layers
    target_embedding = "transformer.wte"
    output = "lm_head"

If the names follow no layout, the table `[names.modules]` leads from our names to theirs. `{i}` is the layer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from model.checkpoints.decoder_layouts import DECODER_LAYOUTS
from model.checkpoints.description import ignored_by, inside, table_of
from model.checkpoints.description_file import described_by
from model.checkpoints.fit import named_as_in
from model.checkpoints.layouts import NormForm
from model.checkpoints.saved_positions import PositionForm, kind_of, rows_of
from model.config.foreign import ForeignConfig, ForeignSizes, ForeignTexts
from model.config.model import DecoderSizes
from model.config.section import Section, require
from model.messages import Message
from model.safety.torch_files import SavedFile, read_saved_file

__all__ = ["DecoderDescription", "decoder_in", "read_decoder"]

SETTINGS = {"task", "weights", "vocabulary", "tokens", "ignore", "model", "positions", "norm", "specials", "names"}


@dataclass(frozen=True, kw_only=True)
class DecoderSpecials(Section):
    """The table [specials]; "" for a token that the model does not have."""

    bos: str = ""
    eos: str = ""
    unknown: str = ""


@dataclass(frozen=True, kw_only=True)
class DecoderDescription:
    """The contents of `headlight.toml`."""

    folder: Path
    weights: Path
    model: DecoderSizes
    norm: NormForm
    modules: Mapping[str, str]  # our module → theirs
    table: str  # the tensor where the layout has positions
    positions: PositionForm
    positions_given: bool  # [model] states the kind
    vocabulary: Path
    tokens: Literal["characters", "words", ""]  # "" if the vocabulary decides
    specials: DecoderSpecials
    ignore: tuple[str, ...]
    values: Mapping[str, object]
    family: str

    @property
    def config(self) -> ForeignConfig:
        """What is known without the weights."""
        sizes = self.model
        return ForeignConfig(
            family=self.family,
            task="continuation",
            model=ForeignSizes(
                d_model=sizes.d_model,
                num_heads=sizes.num_heads,
                layers={"decoder": sizes.num_decoder_layers},
                max_length=sizes.max_length,
                source_vocab_size=sizes.vocab_size,
                target_vocab_size=sizes.vocab_size,
                positional=sizes.positional,
            ),
            tokenizer=ForeignTexts(kind=self.tokens or "subwords"),
            values=self.values,
        )

    def position_form(self, saved: SavedFile) -> PositionForm:
        """The table [positions], with the table of the layout if the description names none and the file has it."""
        form, usual = named_as_in(saved, self.positions), saved.key(self.table)
        named = form.table or form.target_table
        return form if named or usual not in saved.tensors else replace(form, table=usual)


def read_decoder(folder: Path) -> ForeignConfig:
    """Read the description of a folder. Of its weights, only the table of positions is used.

    Raises:
        CheckpointError: the description is wrong, or the weights cannot be read.
    """
    described = decoder_in(folder)
    if described.model.positional != "sinusoidal" or not described.weights.exists():
        return described.config
    saved = read_saved_file(described.weights)
    form = described.position_form(saved)
    table = saved.tensors.get(form.table)
    if table is None:
        return described.config
    kind = kind_of(rows_of(table, form.table, described.model, form), form.table, saved.tensors)
    return replace(described.config, model=replace(described.config.model, positional=kind))


def decoder_in(folder: Path) -> DecoderDescription:
    """As `read_decoder`, with all that is needed to open the folder."""
    return described_by(folder, description_of, SETTINGS)


def description_of(values: Mapping[str, Any], folder: Path) -> DecoderDescription:
    names = table_of(values, "names")
    layout = names.get("layout", "torch")
    require(
        layout in DECODER_LAYOUTS,
        "layout is {layout}. It must be one of {layouts}.",
        layout=repr(layout),
        layouts=", ".join(DECODER_LAYOUTS),
    )
    known = DECODER_LAYOUTS[layout]
    tokens = values.get("tokens", "")
    require(
        tokens in ("characters", "words", ""),
        'tokens is {tokens}. It must be "characters" or "words".',
        tokens=repr(tokens),
    )
    model = table_of(values, "model")
    for name in ("d_model", "num_heads", "d_ff", "num_decoder_layers", "max_length", "vocab_size"):
        require(name in model, "the setting {name} is missing in [model]. Add it.", name=name)
    return DecoderDescription(
        folder=folder,
        weights=inside(folder, values["weights"]),
        model=DecoderSizes.from_dict(model),
        norm=NormForm.from_dict(known.norm.to_dict() | table_of(values, "norm")),
        modules={ours: str(theirs) for ours, theirs in known.modules_in(names).items()},
        table=known.positions,
        positions=PositionForm.from_dict(table_of(values, "positions")),
        positions_given="positional" in model,
        vocabulary=inside(folder, values["vocabulary"]),
        tokens=tokens,
        specials=DecoderSpecials.from_dict(table_of(values, "specials")),
        ignore=ignored_by(values),
        values=values,
        family=Message("decoder alone, {layout} layout", layout=layout),
    )
