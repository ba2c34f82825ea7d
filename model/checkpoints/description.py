"""The contents of `headlight.toml` for a Transformer with an encoder and a decoder, checked.

    weights = "model.pt"              # from torch.save(model.state_dict(), …), or .safetensors
    vocabulary = "vocab.json"         # token → id, one token per line, or tokenizer.json of `tokenizers`;
                                      # or source_vocabulary and target_vocabulary
    tokens = "characters"             # or "words", between spaces; tokenizer.json has its own
    ignore = ["criterion.*"]          # tensors of the file with which the model computes nothing

    [model]                           # as in our recipes, without vocab_size
    d_model = 256
    …
    positional = "learned"            # or "sinusoidal", "table" (vectors of the file), "none"; else the file decides
    final_norm = true                 # a norm after the last layer; torch.nn.Transformer has it with "post" too
    output_bias = true
    scale_embeddings = true           # by √d_model

    [positions]                       # see `PositionForm`; only where positions are not as in the paper
    table = "pos_embedding.weight"

    [norm]                            # see `NormForm`; only where norms are not those of the layout
    weight = "gamma"

    [specials]                        # tokens of the vocabulary
    pad = "<pad>"
    bos = "<s>"
    eos = "</s>"
    unknown = "<unk>"
    around_source = true              # a source begins with bos and ends with eos; otherwise it only ends with eos
    fill_source = 256                 # if sources were padded to this length without a mask, so that padding is read
    source = { pad = "[PAD]" }        # where the tokens of one side differ; or target

    [names]
    layout = "torch"                  # see `LAYOUTS`
    prefix = "transformer."           # before the names of the layers
    source_embedding = "embed"
    target_embedding = "embed"
    output = "generator"

If the names follow no layout, the table `[names.modules]` leads from our names to theirs. `{i}` is the layer. Biases
that no layer of the file has are 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from model.checkpoints.description_file import described_by
from model.checkpoints.layouts import LAYOUTS, Names, NormForm
from model.checkpoints.saved_positions import PositionForm
from model.checkpoints.tutorial_model import Differences
from model.config.model import ModelConfig
from model.config.section import Section, require
from model.text.vocab import Marks, Specials
from model.text.vocabulary_list import FileTokenizer, read_file_tokenizer, read_vocabulary

__all__ = ["Description", "described_in", "specials_of"]

MAX_POSITIONS = 4096
FLAGS = {"final_norm": False, "output_bias": False, "scale_embeddings": True}  # in [model]; ours do not have them
POSITIONAL = ("sinusoidal", "learned", "table", "none", "rotary", "alibi")
SETTINGS = {
    *("task", "weights", "vocabulary", "source_vocabulary", "target_vocabulary", "tokens", "ignore"),
    *("model", "positions", "norm", "specials", "names"),
}


@dataclass(frozen=True, kw_only=True)
class SpecialTokens(Section):
    """The special tokens of one vocabulary."""

    pad: str
    bos: str
    eos: str
    unknown: str = ""


@dataclass(frozen=True, kw_only=True)
class Side:
    """The vocabulary of the source or of the target."""

    vocabulary: Mapping[str, int]
    specials: SpecialTokens
    tokenizer: FileTokenizer | None  # of a tokenizer.json

    def id_of(self, token: str) -> int:
        """Raises ConfigError if the vocabulary does not have the token."""
        require(
            token in self.vocabulary,
            "the vocabulary does not have the token {token}. Write a token of the vocabulary in [specials].",
            token=repr(token),
        )
        return self.vocabulary[token]

    @property
    def marks(self) -> Marks:
        unknown, tokens = self.specials.unknown, (self.specials.pad, self.specials.bos, self.specials.eos)
        return Marks(
            unknown=self.vocabulary.get(unknown) if unknown else None,
            special=frozenset(self.vocabulary[token] for token in tokens if token in self.vocabulary),
        )


@dataclass(frozen=True, kw_only=True)
class Description:
    """The contents of `headlight.toml`."""

    weights: Path
    model: ModelConfig
    differences: Differences
    positions: PositionForm
    positions_given: bool  # [model] states the kind
    source: Side
    target: Side
    specials: Specials
    tokens: Literal["characters", "words"]
    names: Names
    ignore: tuple[str, ...]
    values: Mapping[str, object]


def described_in(folder: Path) -> Description:
    """Read the description of a folder without its weights.

    Raises:
        CheckpointError: `headlight.toml` or a vocabulary is missing or wrong.
    """
    return described_by(folder, description_of, SETTINGS)


def description_of(values: Mapping[str, Any], folder: Path) -> Description:
    model = dict(values["model"])
    flags = {name: model.pop(name, default) for name, default in FLAGS.items()}
    for name, flag in flags.items():
        require(isinstance(flag, bool), "{name} is {flag}. It must be true or false.", name=name, flag=repr(flag))
    source, target = (side_of(values, side, folder) for side in ("source", "target"))
    length, around, filled = model.get("max_length", 256), *frame_of(values["specials"])
    require(
        length in range(1, MAX_POSITIONS + 1),
        "max_length is {length}. It must be from 1 to {max_positions}.",
        length=length,
        max_positions=f"{MAX_POSITIONS:,}",
    )
    require(
        0 <= filled <= length,
        "fill_source is {fill_source} and max_length is {length}. fill_source must be from 0 to max_length.",
        fill_source=filled,
        length=length,
    )
    names = names_of(values)
    return Description(
        weights=inside(folder, values["weights"]),
        model=sizes_of(model, source, target),
        differences=Differences(
            pads=(source.id_of(source.specials.pad), target.id_of(target.specials.pad)),
            norm=names.norm,
            reads_padding=bool(filled),
            **flags,
        ),
        positions=PositionForm.from_dict(table_of(values, "positions")),
        positions_given="positional" in model,
        source=source,
        target=target,
        specials=specials_of(source, target, around=around, filled=filled),
        tokens=tokens_of(values),
        names=names,
        ignore=ignored_by(values),
        values=values,
    )


def sizes_of(model: dict[str, Any], source: Side, target: Side) -> ModelConfig:
    kind = model.get("positional", "sinusoidal")
    require(
        kind in POSITIONAL,
        "positional is {kind}. It must be one of {kinds}.",
        kind=repr(kind),
        kinds=", ".join(POSITIONAL),
    )
    vocabularies = {"source_vocab_size": source.vocabulary, "target_vocab_size": target.vocabulary}
    counts = {name: max(vocabulary.values()) + 1 for name, vocabulary in vocabularies.items()}
    sizes = ModelConfig.from_dict({"dropout": 0.0, "tie_embeddings": "none"} | model | counts)
    for name in ("d_model", "num_heads", "d_ff", "num_encoder_layers", "num_decoder_layers"):
        require(name in model, "the setting {name} is missing in [model]. Add it.", name=name)
    return sizes


def side_of(values: Mapping[str, Any], name: Literal["source", "target"], folder: Path) -> Side:
    path = inside(folder, values["vocabulary"] if "vocabulary" in values else values[f"{name}_vocabulary"])
    specials = table_of(values, "specials")
    own = specials.get(name, {})
    require(isinstance(own, dict), "{name} in [specials] must be a table.", name=name)
    tokens = {
        key: value for key, value in specials.items() if key not in ("source", "target", "around_source", "fill_source")
    }
    tokenizer = read_file_tokenizer(path)
    return Side(
        vocabulary=read_vocabulary(path) if tokenizer is None else tokenizer.vocabulary,
        specials=SpecialTokens.from_dict(tokens | own),
        tokenizer=tokenizer,
    )


def frame_of(specials: Mapping[str, Any]) -> tuple[bool, int]:
    """Whether bos stands before a source, and to which length sources are filled."""
    around, filled = specials.get("around_source", False), specials.get("fill_source", 0)
    require(isinstance(around, bool), "around_source is {value}. It must be true or false.", value=repr(around))
    require(type(filled) is int, "fill_source is {value}. It must be a number of tokens.", value=repr(filled))
    return around, filled


def specials_of(source: Side, target: Side, *, around: bool, filled: int) -> Specials:
    """Raises ConfigError if a vocabulary does not have one of the tokens."""
    if source.specials.unknown:
        source.id_of(source.specials.unknown)
    pad = target.id_of(target.specials.pad)
    return Specials(
        bos=target.id_of(target.specials.bos),
        eos=target.id_of(target.specials.eos),
        banned=(pad,),  # a written token is read next, and padding is not read
        before=(source.id_of(source.specials.bos),) if around else (),
        after=(source.id_of(source.specials.eos),),
        fill=(source.id_of(source.specials.pad),) * filled,
        unknown=source.marks.unknown,
        marks=source.marks.special,
        written=target.marks,
    )


def tokens_of(values: Mapping[str, Any]) -> Literal["characters", "words"]:
    tokens = values.get("tokens", "words")
    require(
        tokens in ("characters", "words"),
        'tokens is {tokens}. It must be "characters" or "words".',
        tokens=repr(tokens),
    )
    return "characters" if tokens == "characters" else "words"


def ignored_by(values: Mapping[str, Any]) -> tuple[str, ...]:
    ignore = values.get("ignore", [])
    require(
        isinstance(ignore, list) and all(isinstance(name, str) for name in ignore),
        'ignore is {value}. It must be a list of names, such as ["criterion.*"].',
        value=repr(ignore),
    )
    return tuple(ignore)


def names_of(values: Mapping[str, Any]) -> Names:
    names = table_of(values, "names")
    layout = names.get("layout", "torch")
    require(
        layout in LAYOUTS,
        "layout is {layout}. It must be one of {layouts}.",
        layout=repr(layout),
        layouts=", ".join(LAYOUTS),
    )
    modules = names.get("modules", {})
    require(isinstance(modules, dict), "names.modules is {value}. It must be a table.", value=repr(modules))
    return Names(
        layout=layout,
        prefix=str(names.get("prefix", "")),
        source_embedding=str(names["source_embedding"]),
        target_embedding=str(names["target_embedding"]),
        output=str(names["output"]),
        modules={str(ours): str(theirs) for ours, theirs in modules.items()},
        norm=NormForm.from_dict(LAYOUTS[layout].norm.to_dict() | table_of(values, "norm")),
    )


def table_of(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name, {})
    require(isinstance(found, dict), "{name} is {value}. It must be a table.", name=name, value=repr(found))
    return dict(found)


def inside(folder: Path, name: object) -> Path:
    """The path of a file in the folder. Files outside the folder are refused."""
    path = folder / str(name)
    require(path.resolve().is_relative_to(folder.resolve()), "{name} is not in the folder. Copy it there.", name=name)
    return path
