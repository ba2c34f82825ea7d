"""Weights that a tutorial's code saved, opened as our own Transformer through a short `headlight.toml` beside them.

    weights = "model.pt"              # of torch.save(model.state_dict(), …), or .safetensors
    vocabulary = "vocab.json"         # token → id, or one token a line; source_vocabulary and target_vocabulary if two
    tokens = "characters"             # or "words", between spaces

    [model]                           # as in our recipes; vocab_size is counted
    d_model = 256
    …
    final_norm = true                 # a norm after the last layer, as torch.nn.Transformer has with "post" too
    output_bias = true
    scale_embeddings = true           # by √d_model

    [specials]                        # the tokens of the vocabulary
    pad = "<pad>"
    bos = "<s>"
    eos = "</s>"
    unknown = "<unk>"
    around_source = true              # whether bos and eos stand around a source; else eos ends it
    fill_source = 256                 # if a source was filled up to this length, without a mask: padding is read

    [names]
    layout = "torch"                  # torch.nn.Transformer; or "annotated" (Rush 2018)
    prefix = "transformer."           # of the layers
    source_embedding = "embed"
    target_embedding = "embed"
    output = "generator"

Where names follow neither layout, `[names.modules]` leads from our names to theirs, `{i}` the number of a layer.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from model.checkpoints.checkpoint import DESCRIPTION, Checkpoint, ready
from model.checkpoints.layouts import LAYOUTS, Names, copy_weights
from model.config.foreign import ForeignConfig, ForeignTexts
from model.config.model import ModelConfig
from model.config.section import ConfigError, Section, require
from model.files import CheckpointError
from model.network.masks import padding_mask
from model.network.transformer import Transformer
from model.safety.json_files import MAX_CONFIG_BYTES, read_text
from model.safety.sizes import require_matching_weights, require_memory
from model.safety.torch_files import read_state_dict
from model.safety.weight_files import Header
from model.text.tokenizers import TokenizerPair
from model.text.vocab import Specials
from model.text.vocabulary_list import ListedTokenizer, read_vocabulary

__all__ = ["DESCRIPTION", "open_state_dict", "read_description"]

MOST_POSITIONS = 4096
OWN = ("final_norm", "output_bias", "scale_embeddings")  # settings of [model] that our own models do not have


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
    """What `headlight.toml` says."""

    weights: Path
    model: ModelConfig
    final_norm: bool
    output_bias: bool
    scale_embeddings: bool
    vocabularies: tuple[Mapping[str, int], Mapping[str, int]]
    tokens: Literal["characters", "words"]
    specials: SpecialTokens
    names: Names
    values: Mapping[str, Any]

    @property
    def config(self) -> ForeignConfig:
        return ForeignConfig(
            family=f"state dict, {self.names.layout} layout",
            task="translation",
            model=self.model,
            tokenizer=ForeignTexts(),
            values=self.values,
        )


class TutorialTransformer(Transformer):
    """Ours, with what tutorials do otherwise."""

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
    """What the folder says of itself, without loading its weights.

    Raises:
        CheckpointError: `headlight.toml` or a vocabulary is missing or wrong.
    """
    return described_in(folder).config


def described_in(folder: Path) -> Description:
    try:
        values = tomllib.loads(read_text(folder / DESCRIPTION, max_bytes=MAX_CONFIG_BYTES))
        return description_of(values, folder)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        said = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise CheckpointError(f"{DESCRIPTION} of {folder.name} cannot be used: {said}") from error


def description_of(values: Mapping[str, Any], folder: Path) -> Description:
    model, names = dict(values["model"]), dict(values["names"])
    flags = {name: model.pop(name, name == "scale_embeddings") for name in OWN}
    for name, flag in flags.items():
        require(isinstance(flag, bool), f"{name} is {flag!r}; it must be true or false.")
    files = [
        values[f"{side}_vocabulary"] if "vocabulary" not in values else values["vocabulary"]
        for side in ("source", "target")
    ]
    source, target = (read_vocabulary(inside(folder, name)) for name in files)
    tokens, specials = values.get("tokens", "words"), SpecialTokens.from_dict(values["specials"])
    length = model.get("max_length", 256)
    require(length in range(1, MOST_POSITIONS + 1), f"max_length is {length}; up to {MOST_POSITIONS:,} can be opened.")
    require(specials.fill_source <= length, f"fill_source is {specials.fill_source}, and max_length {length}.")
    require(tokens in ("characters", "words"), f'tokens is {tokens!r}; it must be "characters" or "words".')
    layout = names.get("layout", "torch")
    require(layout in LAYOUTS, f"layout is {layout!r}; it must be one of {', '.join(LAYOUTS)}.")
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
    """A file of the folder; nothing outside of it is read."""
    path = folder / str(name)
    require(path.resolve().is_relative_to(folder.resolve()), f"{name} is not in the folder.")
    return path


def open_state_dict(folder: Path, *, device: str = "cpu", max_bytes: int | None = None) -> Checkpoint:
    """Load a folder with `headlight.toml` for use.

    Args:
        folder: With the files that it names.
        device: Where the model is to be.
        max_bytes: Memory that it may take; by default as much as it wants.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others; tensors that are missing, left over
            or of another shape are named.
    """
    described = described_in(folder)
    try:
        specials, pad_id = specials_of(described)
        pair = pair_of(described, specials)
    except ConfigError as error:
        raise CheckpointError(f"{DESCRIPTION} of {folder.name} cannot be used: {error}") from error
    theirs = read_tensors(described.weights)
    header = Header(shapes={name: tuple(tensor.shape) for name, tensor in theirs.items()})
    numbers = require_matching_weights(
        lambda: TutorialTransformer(described, pad_id=pad_id), described.model.to_dict(), header, folder.name
    )
    require_memory(numbers, folder.name, max_bytes)
    model = TutorialTransformer(described, pad_id=pad_id)
    copy_weights(model, theirs, described.names, folder.name)
    return Checkpoint(path=folder, config=described.config, model=ready(model, device), tokenizers=pair)


def read_tensors(path: Path) -> Mapping[str, Tensor]:
    """Raises CheckpointError where the file is missing, damaged, or holds anything but tensors."""
    if path.suffix != ".safetensors":
        return read_state_dict(path)
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path.name} cannot be read: {error}") from error


def specials_of(described: Description) -> tuple[Specials, int]:
    """Ids of the special tokens, and that of padding.

    Raises:
        ConfigError: a vocabulary lacks one of them.
    """
    source, target = described.vocabularies
    said = described.specials

    def of(vocabulary: Mapping[str, int], token: str) -> int:
        require(token in vocabulary, f"the vocabulary has no token {token!r}.")
        return vocabulary[token]

    pad, eos = of(source, said.pad), of(source, said.eos)
    require(pad == of(target, said.pad), f"{said.pad!r} has two different ids, {pad} in the source.")
    unknown = of(source, said.unknown) if said.unknown else None
    return (
        Specials(
            bos=of(target, said.bos),
            eos=of(target, said.eos),
            banned=(pad,),  # what is written is read again, and padding is not read
            before=(of(source, said.bos),) if said.around_source else (),
            after=(eos,),
            fill=(pad,) * said.fill_source,
            unknown=unknown,
            marks=frozenset({pad, of(target, said.bos), of(target, said.eos)}),
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
