"""The task of a folder of Hugging Face's `transformers`, and the library's class that opens it."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.models.auto import modeling_auto as auto

from model.config.foreign import Task
from model.files import CheckpointError
from model.messages import Message
from model.safety.weight_files import read_header

__all__ = [
    "architecture",
    "classifies",
    "fills_gaps",
    "library_class",
    "named_class",
    "quantized",
    "require_attention",
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
