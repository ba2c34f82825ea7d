"""What a folder of Hugging Face's `transformers` is, before a model is loaded: its task, its class and its sizes."""

import codecs
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers
from transformers import CONFIG_MAPPING, AutoConfig, PreTrainedConfig, PreTrainedModel
from transformers.models.auto import modeling_auto as auto

from model.config.foreign import ForeignConfig, ForeignSizes, Task
from model.files import CheckpointError
from model.foreign.known_config import texts_of
from model.foreign.sizes import claimed_positions, classes_of
from model.messages import Message, first_line
from model.safety.json_files import MAX_VOCABULARY_BYTES, read_text
from model.safety.sizes import read_config_json
from model.safety.weight_files import read_header

__all__ = [
    "architecture",
    "classifies",
    "describe",
    "fills_gaps",
    "named_class",
    "quantized",
    "read_foreign_config",
    "read_library_config",
    "readable",
]

Classes = Mapping[str, str | Sequence[str]]  # family → the name of its class, or several names
CONTINUING: Classes = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
CLASSIFYING: Classes = auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES
FILLING: Classes = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
BASES: Classes = auto.MODEL_MAPPING_NAMES
# The first half of an encoder-decoder, in a folder of its own, such as T5EncoderModel.
ENCODERS: Classes = {
    family: name for family, name in auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES.items() if name.endswith("EncoderModel")
}
# The library's names of the classes of each family, in the order of the search.
ARCHITECTURES: tuple[tuple[Task, Classes], ...] = (
    ("reading", ENCODERS),
    ("translation", auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
    ("continuation", CONTINUING),
    ("classification", CLASSIFYING),
    ("reading", FILLING),
    ("reading", BASES),
)
ATTENTION = ("full_attention", "sliding_attention", "chunked_attention")  # kinds of layers that can be shown
# Families of language models whose tokens attend to all others. They predict in another pass, with other input.
BOTH_DIRECTIONS = ("xlnet",)
# Ends of the names of classes without a head for a task: config.json of facebook/bart-base names a BartModel.
HEADLESS = ("Model", "ForPreTraining")
TEXTS = (".json", ".txt", ".jinja", ".codes", ".vocab")
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # the library would read them as text


def read_foreign_config(folder: Path) -> ForeignConfig:
    """Read `config.json` without loading the model.

    Raises:
        CheckpointError: the library does not know the family, or Headlight cannot show it.
    """
    with readable(folder) as copy:
        return describe(copy, read_library_config(copy))


def describe(folder: Path, config: PreTrainedConfig) -> ForeignConfig:
    """What the files of a `readable` folder say."""
    task, kind = architecture(config, folder)
    require_attention(config, folder.name)
    if task == "continuation":
        require_causal(config, folder.name)
    texts, fills = texts_of(folder), fills_gaps(kind)
    return ForeignConfig(
        family=str(config.model_type),
        task=task,
        model=claimed_sizes(config, task, folder.name),
        tokenizer=texts if fills else replace(texts, mask=""),
        predicts=task != "reading" or fills,
        values=config.to_diff_dict(),
    )


def read_library_config(folder: Path) -> PreTrainedConfig:
    read_config_json(folder)  # checks the sizes before the library uses them
    try:
        found = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the file may contain anything, and the library raises many kinds of errors
        raise CheckpointError(
            "config.json of {folder} cannot be used: {problem}", folder=folder.name, problem=first_line(error)
        ) from error
    assert isinstance(found, PreTrainedConfig)
    return found


def claimed_sizes(config: PreTrainedConfig, task: Task, name: str) -> ForeignSizes:
    """The sizes in `config.json`. When the model is loaded, `sizes_of` counts them."""
    try:
        above = int(config.num_hidden_layers)
        below = int(getattr(config, "decoder_layers", getattr(config, "num_decoder_layers", above)) or above)
        layers = {
            "translation": {"encoder": above, "decoder": below, "cross": below},
            "continuation": {"decoder": above},
            "reading": {"encoder": above},
            "classification": {"encoder": above},
        }[task]
        vocabulary = int(config.vocab_size)
        return ForeignSizes(
            d_model=int(config.hidden_size),
            num_heads=int(config.num_attention_heads),
            layers=layers,
            max_length=claimed_positions(config),
            source_vocab_size=vocabulary,
            target_vocab_size=vocabulary,
            **(classes_of(config) if task == "classification" else {}),
        )
    except AttributeError as error:
        raise CheckpointError(
            "{name} has no {setting} in config.json. Models of the family {model_type} may have no attention heads.",
            name=name,
            setting=error.name or Message("sizes"),
            model_type=config.model_type,
        ) from error
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            "The sizes in config.json of {name} cannot be used: {error}", name=name, error=error
        ) from error


def architecture(config: PreTrainedConfig, folder: Path) -> tuple[Task, type[PreTrainedModel]]:
    """The task of a model, and the library's class that opens it: the one that `config.json` names, if it is for a task
    that is shown, or else the first one that the weights fit. Loading fails if they do not hold what the class needs.

    Raises:
        CheckpointError: Headlight cannot show this kind of model, or the weights cannot be read.
    """
    named = named_class(config)
    for task, classes in ARCHITECTURES:
        known = class_of(classes, config.model_type)
        if known and known == named and classes is not BASES and shows(config, task, classes):
            return shown_task(config, task), getattr(transformers, known)
    if (library_class(named) is None or named.endswith(HEADLESS) or reads_only(config)) and (
        found := fitting(config, named, folder)
    ):
        return found
    raise CheckpointError(
        "{name} is {architecture} of the family {model_type}. Headlight can show models that translate or "
        "summarize (Marian, BART, mBART, M2M100, T5), language models (GPT-2, Llama, Qwen), and models "
        "that read or classify a text (BERT, DistilBERT, RoBERTa).",
        name=folder.name,
        architecture=named or Message("a model"),
        model_type=config.model_type,
    )


def named_class(config: PreTrainedConfig) -> str:
    """The class that `config.json` names; "" without one."""
    names = config.architectures
    return str(names[0]) if isinstance(names, list) and names else ""


def library_class(name: str) -> Any:
    """The library's model class of this name; None without one."""
    found = getattr(transformers, name, None) if name.isidentifier() else None
    return found if isinstance(found, type) and issubclass(found, PreTrainedModel) else None


def reads_only(config: PreTrainedConfig) -> bool:
    """Whether the base of a family is an encoder, so that it can be shown without a head."""
    family = config.model_type
    return not config.is_encoder_decoder and (family in FILLING or family not in CONTINUING)


def shows(config: PreTrainedConfig, task: Task, classes: Classes) -> bool:
    """Whether a family is shown with its class for a task."""
    if classes is ENCODERS:
        return True
    if task == "continuation" and predicts_masked(config, class_of(classes, config.model_type)):
        return False
    return (task == "translation") == config.is_encoder_decoder


def shown_task(config: PreTrainedConfig, task: Task) -> Task:
    return "reading" if task == "continuation" and config.model_type in BOTH_DIRECTIONS else task


def fitting(config: PreTrainedConfig, named: str, folder: Path) -> tuple[Task, type[PreTrainedModel]] | None:
    """The first class of a family whose head is in the weights, and its task; None if there is none."""
    weights = {name.replace("gamma", "weight").replace("beta", "bias") for name in read_header(folder).shapes}
    for task, classes in ARCHITECTURES:
        kind = library_class(class_of(classes, config.model_type))
        if kind and shows(config, task, classes) and fits(classes, kind, config, named, weights):
            return shown_task(config, task), kind
    return None


def fits(
    classes: Classes, kind: type[PreTrainedModel], config: PreTrainedConfig, named: str, weights: Collection[str]
) -> bool:
    """Whether weights with these names may be of a class. Language models share the matrix of their embeddings."""
    if classes is ENCODERS:
        return not any(name.startswith("decoder.") for name in weights)
    if classes in (CONTINUING, BASES):
        return (classes is BASES) == reads_only(config)
    if classes is CLASSIFYING and not named.endswith("ForSequenceClassification"):
        return False  # a head that labels each token may have the same names
    return classes not in (CLASSIFYING, FILLING) or head_of(kind, config) <= {*weights}


def head_of(kind: type[PreTrainedModel], config: PreTrainedConfig) -> set[str]:
    """The names of the weights that a class adds to the base of its family. A matrix of the base counts there."""
    with torch.device("meta"):
        names = [name for name, _ in kind(config).named_parameters()]
    return {name for name in names if not name.startswith(f"{kind.base_model_prefix}.")}


def predicts_masked(config: PreTrainedConfig, known: str) -> bool:
    """Whether a class that can do both predicts masked tokens, and does not continue a text (XLM)."""
    return known == class_of(FILLING, config.model_type) and not getattr(config, "causal", False)


def class_of(classes: Classes, family: str) -> str:
    known = classes.get(family) or ""
    return str(known if isinstance(known, str) else known[0])


def fills_gaps(kind: type[PreTrainedModel]) -> bool:
    """Whether models of a class predict masked tokens."""
    return kind.__name__ in FILLING.values()


def classifies(kind: type[PreTrainedModel]) -> bool:
    """Whether models of a class give a text a label."""
    return kind.__name__.endswith("ForSequenceClassification")


def quantized(name: str, method: str) -> CheckpointError:
    """The error for weights with few bits, which are unpacked while the model runs."""
    return CheckpointError(
        "The weights of {name} are quantized ({method}). Headlight opens weights in full or half precision. Open the "
        'model from which they were made, or unpack them: `model = AutoModelForCausalLM.from_pretrained("FOLDER")`, '
        '`model.dequantize()`, `model.save_pretrained("unpacked")`.',
        name=name,
        method=method,
    )


def require_attention(config: PreTrainedConfig, name: str) -> None:
    """Raises CheckpointError if the configuration shows that the model, or a part of it, cannot be shown."""
    if config.sub_configs and not hasattr(config, "num_hidden_layers"):
        raise CheckpointError(
            "{name} consists of several models with different sizes ({sub_configs}). Headlight cannot open "
            "such models yet.",
            name=name,
            sub_configs=", ".join(sorted(config.sub_configs)),
        )
    if (found := getattr(config, "quantization_config", None)) is not None:
        raise quantized(name, str(found.get("quant_method", "")) if isinstance(found, dict) else found.quant_method)
    layers = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or ()
    if others := sorted({str(layer) for layer in layers if layer not in ATTENTION}):
        raise CheckpointError(
            "Some layers of {name} do not use attention ({others}), so they cannot be shown.",
            name=name,
            others=", ".join(others),
        )


def require_causal(config: PreTrainedConfig, name: str) -> None:
    """Raises CheckpointError if the tokens of a language model attend to later ones too: each new token would change
    the maps of all others.
    """
    encoder = config.model_type in FILLING and not (config.is_decoder or getattr(config, "causal", False))
    setting = "is_decoder: false" if encoder else "use_bidirectional_attention: true"
    if encoder or getattr(config, "use_bidirectional_attention", False):
        raise CheckpointError(
            "{name} continues a text, but its tokens attend to later ones too ({setting} in config.json). Headlight "
            "shows language models that attend only to earlier tokens.",
            name=name,
            setting=setting,
        )


@contextmanager
def readable(folder: Path) -> Iterator[Path]:
    """The folder itself; or a temporary one with links to its files, where a text begins with a byte order mark or
    `config.json` names no family. The library cannot read such files.

    Raises:
        CheckpointError: a text is UTF-16, or the family is not known.
    """
    changed = {**texts_without_marks(folder), **config_with_family(folder)}
    if not changed:
        yield folder
        return
    with TemporaryDirectory() as home:
        copy = Path(home) / folder.name
        copy.mkdir()
        for path in folder.iterdir():
            if path.name in changed:
                (copy / path.name).write_bytes(changed[path.name].encode())
            else:
                (copy / path.name).symlink_to(path.resolve())
        yield copy


def texts_without_marks(folder: Path) -> dict[str, str]:
    """Name → text of the files that begin with a byte order mark."""
    found = {}
    for path in folder.iterdir():
        if path.suffix not in TEXTS or not path.is_file():
            continue
        with path.open("rb") as file:
            marked = file.read(3).startswith(MARKS)
        if marked:
            try:
                found[path.name] = read_text(path, max_bytes=MAX_VOCABULARY_BYTES)
            except ValueError as error:
                raise CheckpointError(
                    "{folder} cannot be opened: {problem}", folder=folder.name, problem=first_line(error)
                ) from error
    return found


def config_with_family(folder: Path) -> dict[str, str]:
    """The name and the text of a `config.json` without `model_type`, with it; empty where the file names it."""
    values = read_config_json(folder)
    if "model_type" in values:
        return {}
    return {"config.json": json.dumps({**values, "model_type": family_of(values, folder)})}


def family_of(values: Mapping[str, object], folder: Path) -> str:
    """The family of a model: of the class that its configuration names, or else the prefix of its weights.

    Raises:
        CheckpointError: neither is a family of the library.
    """
    named = values.get("architectures")
    kind = library_class(str(named[0])) if isinstance(named, list) and named else None
    if kind is not None and kind.config_class is not None:
        return str(kind.config_class.model_type)
    families = {family.replace("-", "_"): family for family in CONFIG_MAPPING}
    with suppress(CheckpointError):
        for name in read_header(folder).shapes:
            if family := families.get(name.partition(".")[0]):
                return str(family)
    raise CheckpointError(
        'config.json of {folder} does not say which model it describes. Add its family, such as "model_type": "bert".',
        folder=folder.name,
    )
