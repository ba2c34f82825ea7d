"""The file `headlight.toml`, which describes weights that a tutorial's code saved: read, checked and written.

For a Transformer with an encoder and a decoder:

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

For a decoder without an encoder, which continues a text, `task = "continuation"` is in the first lines. [model] has the
settings of `DecoderSizes`, and [specials] has `bos`, `eos` and `unknown`, each only if the model has it. `vocabulary`
names one of the files that `recognition.py` finds. [names] has only what differs from the layout:

    [names]
    layout = "gpt"
    prefix = "transformer."
    target_embedding = "transformer.wte"
    output = "lm_head"

If the names follow no layout, the table `[names.modules]` leads from our names to theirs. `{i}` is the layer. Biases
that no layer of the file has are 0.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from model.checkpoints.checkpoint import DESCRIPTION
from model.checkpoints.layouts import ENDS, LAYOUTS, Names, TutorialTask
from model.checkpoints.saved_positions import PositionForm
from model.config.model import DecoderSizes, ModelConfig
from model.config.section import Section, require
from model.files import CheckpointError, replace_file
from model.messages import Message, first_line
from model.safety.json_files import MAX_CONFIG_BYTES, read_text
from model.text.vocab import Marks, Specials
from model.text.vocabulary_list import FileTokenizer, read_file_tokenizer, read_vocabulary

__all__ = [
    "UNKNOWN",
    "DecoderDescription",
    "Description",
    "TranslatorDescription",
    "as_toml",
    "described_in",
    "literal",
    "read_draft",
    "read_values",
    "unknown_settings",
    "write_values",
]

UNKNOWN = "fill in"  # the value of a setting that weights cannot tell
MAX_POSITIONS = 4096
FLAGS = {"final_norm": False, "output_bias": False, "scale_embeddings": True}  # in [model]; ours do not have them
POSITIONAL = ("sinusoidal", "learned", "table", "none", "rotary", "alibi")
SETTINGS = {"task", "weights", "vocabulary", "tokens", "ignore", "model", "positions", "norm", "specials", "names"}
SIDES = {"source_vocabulary", "target_vocabulary"}
SIZES = ("d_model", "num_heads", "d_ff", "num_encoder_layers", "num_decoder_layers", "max_length", "vocab_size")


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
    def pad_id(self) -> int:
        return self.id_of(self.specials.pad)

    @property
    def marks(self) -> Marks:
        unknown, tokens = self.specials.unknown, (self.specials.pad, self.specials.bos, self.specials.eos)
        return Marks(
            unknown=self.vocabulary.get(unknown) if unknown else None,
            special=frozenset(self.vocabulary[token] for token in tokens if token in self.vocabulary),
        )


@dataclass(frozen=True, kw_only=True)
class DecoderSpecials(Section):
    """The table [specials] of a decoder alone; "" for a token that it does not have."""

    bos: str = ""
    eos: str = ""
    unknown: str = ""


@dataclass(frozen=True, kw_only=True)
class Description:
    """What every `headlight.toml` says."""

    folder: Path
    task: TutorialTask
    weights: Path
    model: ModelConfig | DecoderSizes
    scale_embeddings: bool  # token vectors are multiplied by √d_model
    names: Names
    positions: PositionForm
    positions_given: bool  # [model] states the kind
    tokens: Literal["characters", "words", ""]  # "" if the vocabulary decides
    ignore: tuple[str, ...]
    values: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class TranslatorDescription(Description):
    """An encoder-decoder, and what it has or lacks, compared with ours."""

    model: ModelConfig
    final_norm: bool
    output_bias: bool
    source: Side
    target: Side
    specials: Specials


@dataclass(frozen=True, kw_only=True)
class DecoderDescription(Description):
    """A decoder alone. Its vocabulary is read when it is opened."""

    model: DecoderSizes
    vocabulary: Path
    specials: DecoderSpecials


def read_values(folder: Path) -> Mapping[str, Any]:
    """The values of `headlight.toml`. Its setting `task` is "translation", or "continuation" for a decoder alone.

    Raises:
        CheckpointError: it cannot be read, it is not TOML, or a setting in it is still `UNKNOWN`.
    """
    values = read_draft(folder)
    if unknown := [".".join(path) for path in unknown_settings(values)]:
        raise CheckpointError(
            "{description} of {folder} does not say {settings} yet. Replace each “{unknown}” by its value.",
            description=DESCRIPTION,
            folder=folder.name,
            settings=", ".join(unknown),
            unknown=UNKNOWN,
        )
    return values


def read_draft(folder: Path) -> Mapping[str, Any]:
    """As `read_values`, also while settings are still `UNKNOWN`."""
    try:
        return tomllib.loads(read_text(folder / DESCRIPTION, max_bytes=MAX_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise unusable(folder, first_line(error)) from error


def described_in(folder: Path) -> TranslatorDescription | DecoderDescription:
    """Read the description of a folder without its weights.

    Raises:
        CheckpointError: `headlight.toml` or a file that it names is missing or wrong.
    """
    values = read_values(folder)
    alone = values.get("task") == "continuation"
    known = SETTINGS if alone else SETTINGS | SIDES
    try:
        unknown = sorted(values.keys() - known)
        require(
            not unknown,
            "it has no setting {unknown}. Its settings are: {known}.",
            unknown=", ".join(unknown),
            known=", ".join(sorted(known)),
        )
        return decoder_of(values, folder) if alone else translator_of(values, folder)
    except (ValueError, TypeError, KeyError) as error:
        missing = isinstance(error, KeyError)
        reason = Message("the setting {name} is missing. Add it.", name=error) if missing else first_line(error)
        raise unusable(folder, reason) from error


def decoder_of(values: Mapping[str, Any], folder: Path) -> DecoderDescription:
    model = table_of(values, "model")
    require_sizes(model, *SIZES[:3], *SIZES[4:])
    sizes = DecoderSizes.from_dict(model)
    return DecoderDescription(
        **common_of(values, folder, "continuation"),
        tokens=tokens_of(values, ""),
        model=sizes,
        scale_embeddings=sizes.scale_embeddings,
        vocabulary=inside(folder, values["vocabulary"]),
        specials=DecoderSpecials.from_dict(table_of(values, "specials")),
    )


def translator_of(values: Mapping[str, Any], folder: Path) -> TranslatorDescription:
    model = table_of(values, "model")
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
    return TranslatorDescription(
        **common_of(values, folder, "translation"),
        **flags,
        tokens=tokens_of(values, "words"),
        model=sizes_of(model, source, target),
        source=source,
        target=target,
        specials=specials_of(source, target, around=around, filled=filled),
    )


def common_of(values: Mapping[str, Any], folder: Path, task: TutorialTask) -> dict[str, Any]:
    """The fields of `Description`."""
    ignore = values.get("ignore", [])
    require(
        isinstance(ignore, list) and all(isinstance(name, str) for name in ignore),
        'ignore is {value}. It must be a list of names, such as ["criterion.*"].',
        value=repr(ignore),
    )
    return {
        "folder": folder,
        "task": task,
        "weights": inside(folder, values["weights"]),
        "names": names_of(values, task),
        "positions": PositionForm.from_dict(table_of(values, "positions")),
        "positions_given": "positional" in values["model"],
        "ignore": tuple(ignore),
        "values": values,
    }


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
    require_sizes(model, *SIZES[:5])
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
    return Specials(
        bos=target.id_of(target.specials.bos),
        eos=target.id_of(target.specials.eos),
        banned=(target.pad_id,),  # a written token is read next, and padding is not read
        before=(source.id_of(source.specials.bos),) if around else (),
        after=(source.id_of(source.specials.eos),),
        fill=(source.pad_id,) * filled,
        unknown=source.marks.unknown,
        marks=source.marks.special,
        written=target.marks,
    )


def require_sizes(model: Mapping[str, Any], *names: str) -> None:
    for name in names:
        require(name in model, "the setting {name} is missing in [model]. Add it.", name=name)


def tokens_of(values: Mapping[str, Any], usual: Literal["words", ""]) -> Literal["characters", "words", ""]:
    tokens: Literal["characters", "words", ""] = values.get("tokens", usual)
    require(
        tokens in ("characters", "words", usual),
        'tokens is {tokens}. It must be "characters" or "words".',
        tokens=repr(tokens),
    )
    return tokens


def names_of(values: Mapping[str, Any], task: TutorialTask) -> Names:
    names = table_of(values, "names")
    name, layouts = names.get("layout", "torch"), LAYOUTS[task]
    require(
        name in layouts,
        "layout is {layout}. It must be one of {layouts}.",
        layout=repr(name),
        layouts=", ".join(layouts),
    )
    modules = names.get("modules", {})
    require(isinstance(modules, dict), "names.modules is {value}. It must be a table.", value=repr(modules))
    for end in ENDS if task == "translation" else ():
        names[end]  # raises KeyError
    return Names.of(name, layouts[name], names, table_of(values, "norm"))


def table_of(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name, {})
    require(isinstance(found, dict), "{name} is {value}. It must be a table.", name=name, value=repr(found))
    return dict(found)


def inside(folder: Path, name: object) -> Path:
    """The path of a file in the folder. Files outside the folder are refused."""
    path = folder / str(name)
    require(path.resolve().is_relative_to(folder.resolve()), "{name} is not in the folder. Copy it there.", name=name)
    return path


def unusable(folder: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        "{description} of {folder} cannot be used: {reason}",
        description=DESCRIPTION,
        folder=folder.name,
        reason=reason,
    )


def unknown_settings(values: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The keys that lead to each setting that is `UNKNOWN`."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ((name, *path) for path in unknown_settings(value))
        elif value == UNKNOWN:
            yield (name,)


def write_values(folder: Path, values: Mapping[str, Any]) -> None:
    """Write `headlight.toml`.

    Raises:
        CheckpointError: the file cannot be written.
    """
    replace_file(folder / DESCRIPTION, as_toml(values))


def as_toml(values: Mapping[str, Any]) -> str:
    """The text of a `headlight.toml`: first the plain settings, then the tables."""
    plain = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in values.items() if isinstance(value, Mapping)}
    blocks = [lines_of(plain), *(f"[{name}]\n{lines_of(table)}" for name, table in tables.items())]
    return "\n".join(block for block in blocks if block)


def lines_of(table: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {literal(value)}\n" for name, value in table.items())


def literal(value: object) -> str:
    """A value in TOML. Its texts, numbers and lists are written as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {literal(inner)}" for name, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
