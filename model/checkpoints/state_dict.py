"""Opens weights that a tutorial's code saved as our own Transformer. A short file `headlight.toml` describes them.

    weights = "model.pt"              # from torch.save(model.state_dict(), …), or .safetensors
    vocabulary = "vocab.json"         # token → id, or one token per line; or source_vocabulary and target_vocabulary
    tokens = "characters"             # or "words", between spaces

    [model]                           # as in our recipes, without vocab_size
    d_model = 256
    …
    final_norm = true                 # a norm after the last layer; torch.nn.Transformer has it with "post" too
    output_bias = true
    scale_embeddings = true           # by √d_model

    [specials]                        # tokens of the vocabulary
    pad = "<pad>"
    bos = "<s>"
    eos = "</s>"
    unknown = "<unk>"
    around_source = true              # a source begins with bos and ends with eos; otherwise it only ends with eos
    fill_source = 256                 # if sources were padded to this length without a mask, so that padding is read

    [names]
    layout = "torch"                  # torch.nn.Transformer; or "annotated" (Rush 2018)
    prefix = "transformer."           # before the names of the layers
    source_embedding = "embed"
    target_embedding = "embed"
    output = "generator"

If the names follow neither layout, the table `[names.modules]` leads from our names to theirs. `{i}` is the layer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from torch import Tensor, nn

from model.checkpoints.checkpoint import DESCRIPTION, Checkpoint, ready
from model.checkpoints.description_file import read_values
from model.checkpoints.layouts import LAYOUTS, Names, copy_weights
from model.config.foreign import ForeignConfig, ForeignTexts
from model.config.model import ModelConfig
from model.config.section import ConfigError, Section, require
from model.files import CheckpointError
from model.messages import Message
from model.network.masks import padding_mask
from model.network.transformer import Transformer
from model.safety.errors import first_line
from model.safety.sizes import require_matching_weights, require_memory
from model.safety.torch_files import read_saved_file
from model.safety.weight_files import Header
from model.text.tokenizers import TokenizerPair
from model.text.vocab import Specials
from model.text.vocabulary_list import ListedTokenizer, read_vocabulary

__all__ = ["DESCRIPTION", "open_state_dict", "read_description"]

MAX_POSITIONS = 4096
TUTORIAL_SETTINGS = ("final_norm", "output_bias", "scale_embeddings")  # in [model]; our own models do not have them


@dataclass(frozen=True, kw_only=True)
class SpecialTokens(Section):
    """The table [specials]."""

    pad: str
    bos: str
    eos: str
    unknown: str = ""
    around_source: bool = False
    fill_source: int = 0


@dataclass(frozen=True, kw_only=True)
class Description:
    """The contents of `headlight.toml`."""

    weights: Path
    model: ModelConfig
    final_norm: bool
    output_bias: bool
    scale_embeddings: bool
    vocabularies: tuple[Mapping[str, int], Mapping[str, int]]
    tokens: Literal["characters", "words"]
    specials: SpecialTokens
    names: Names
    values: Mapping[str, object]

    @property
    def config(self) -> ForeignConfig:
        return ForeignConfig(
            family=Message("state dict, {layout} layout", layout=self.names.layout),
            task="translation",
            model=self.model,
            tokenizer=ForeignTexts(),
            values=self.values,
        )


class TutorialTransformer(Transformer):
    """Our Transformer with the differences that tutorials have."""

    def __init__(self, described: Description, *, pad_id: int) -> None:
        super().__init__(described.model, pad_id=pad_id)
        d_model = described.model.d_model
        if described.final_norm:
            self.encoder.norm, self.decoder.norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        if described.output_bias:
            self.output_projection = nn.Linear(d_model, described.model.target_vocab_size)
        if not described.scale_embeddings:
            self.encoder.embedding.scale = self.decoder.embedding.scale = 1.0
        self.reads_padding = bool(described.specials.fill_source)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        mask = padding_mask(source, self.pad_id) | self.reads_padding
        return self.encoder(source, mask=mask), mask


def read_description(folder: Path) -> ForeignConfig:
    """Read the description of a folder without loading its weights.

    Raises:
        CheckpointError: `headlight.toml` or a vocabulary is missing or wrong.
    """
    return described_in(folder).config


def described_in(folder: Path) -> Description:
    values = read_values(folder)
    try:
        return description_of(values, folder)
    except (ValueError, TypeError, KeyError) as error:
        missing = isinstance(error, KeyError)
        reason = Message("the setting {name} is missing.", name=error) if missing else first_line(error)
        raise CheckpointError(
            "{description} of {folder} cannot be used: {reason}",
            description=DESCRIPTION,
            folder=folder.name,
            reason=reason,
        ) from error


def description_of(values: Mapping[str, Any], folder: Path) -> Description:
    model, names = dict(values["model"]), dict(values["names"])
    flags = {name: model.pop(name, name == "scale_embeddings") for name in TUTORIAL_SETTINGS}
    for name, flag in flags.items():
        require(isinstance(flag, bool), "{name} is {flag}. It must be true or false.", name=name, flag=repr(flag))
    files = [
        values[f"{side}_vocabulary"] if "vocabulary" not in values else values["vocabulary"]
        for side in ("source", "target")
    ]
    source, target = (read_vocabulary(inside(folder, name)) for name in files)
    tokens, specials = values.get("tokens", "words"), SpecialTokens.from_dict(values["specials"])
    length = model.get("max_length", 256)
    require(
        length in range(1, MAX_POSITIONS + 1),
        "max_length is {length}. It must be from 1 to {max_positions}.",
        length=length,
        max_positions=f"{MAX_POSITIONS:,}",
    )
    require(
        specials.fill_source <= length,
        "fill_source is {fill_source} and max_length is {length}. fill_source must not be larger.",
        fill_source=specials.fill_source,
        length=length,
    )
    require(
        tokens in ("characters", "words"),
        'tokens is {tokens}. It must be "characters" or "words".',
        tokens=repr(tokens),
    )
    layout = names.get("layout", "torch")
    require(
        layout in LAYOUTS,
        "layout is {layout}. It must be one of {layouts}.",
        layout=repr(layout),
        layouts=", ".join(LAYOUTS),
    )
    sizes = {"source_vocab_size": max(source.values()) + 1, "target_vocab_size": max(target.values()) + 1}
    return Description(
        weights=inside(folder, values["weights"]),
        model=ModelConfig.from_dict({"dropout": 0.0, "tie_embeddings": "none"} | model | sizes),
        vocabularies=(source, target),
        tokens=tokens,
        specials=specials,
        names=Names(
            layout=layout,
            prefix=str(names.get("prefix", "")),
            source_embedding=str(names["source_embedding"]),
            target_embedding=str(names["target_embedding"]),
            output=str(names["output"]),
            modules={str(ours): str(theirs) for ours, theirs in dict(names.get("modules", {})).items()},
        ),
        values=values,
        **flags,
    )


def inside(folder: Path, name: object) -> Path:
    """The path of a file in the folder. Files outside the folder are refused."""
    path = folder / str(name)
    require(path.resolve().is_relative_to(folder.resolve()), "{name} is not in the folder.", name=name)
    return path


def open_state_dict(folder: Path, *, device: str = "cpu", max_bytes: int | None = None) -> Checkpoint:
    """Load a folder with `headlight.toml` for use.

    Args:
        folder: Contains `headlight.toml` and the files that it names.
        device: Where the model runs.
        max_bytes: The largest memory that the model may take; no limit by default.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others. The message names tensors that are
            missing, not used or of another shape.
    """
    described = described_in(folder)
    try:
        specials, pad_id = specials_of(described)
        pair = pair_of(described, specials)
    except ConfigError as error:
        raise CheckpointError(
            "{description} of {folder} cannot be used: {error}",
            description=DESCRIPTION,
            folder=folder.name,
            error=error,
        ) from error
    theirs = read_saved_file(described.weights).tensors
    header = Header(shapes={name: tuple(tensor.shape) for name, tensor in theirs.items()})
    numbers = require_matching_weights(
        lambda: TutorialTransformer(described, pad_id=pad_id), described.model.to_dict(), header, folder.name
    )
    require_memory(numbers, folder.name, max_bytes)
    model = TutorialTransformer(described, pad_id=pad_id)
    copy_weights(model, theirs, described.names, folder.name)
    return Checkpoint(path=folder, config=described.config, model=ready(model, device), tokenizers=pair)


def specials_of(described: Description) -> tuple[Specials, int]:
    """The special tokens, and the id of padding.

    Raises:
        ConfigError: a vocabulary does not have one of the tokens.
    """
    source, target = described.vocabularies
    tokens = described.specials

    def of(vocabulary: Mapping[str, int], token: str) -> int:
        require(token in vocabulary, "the vocabulary does not have the token {token}.", token=repr(token))
        return vocabulary[token]

    pad, eos = of(source, tokens.pad), of(source, tokens.eos)
    require(pad == of(target, tokens.pad), "{pad} must have the same id in both vocabularies.", pad=repr(tokens.pad))
    unknown = of(source, tokens.unknown) if tokens.unknown else None
    return (
        Specials(
            bos=of(target, tokens.bos),
            eos=of(target, tokens.eos),
            banned=(pad,),  # a written token is read next, and padding is not read
            before=(of(source, tokens.bos),) if tokens.around_source else (),
            after=(eos,),
            fill=(pad,) * tokens.fill_source,
            unknown=unknown,
            marks=frozenset({pad, of(target, tokens.bos), of(target, tokens.eos)}),
        ),
        pad,
    )


def pair_of(described: Description, specials: Specials) -> TokenizerPair:
    kind, unknown = described.tokens, specials.unknown
    source, target = (
        ListedTokenizer(vocabulary, kind=kind, unknown=unknown, marks=specials.marks)
        for vocabulary in described.vocabularies
    )
    return TokenizerPair(source=source, target=target, specials=specials)
