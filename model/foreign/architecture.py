"""The task of a folder of Hugging Face's `transformers`, and the library's class that opens it."""

from collections.abc import Iterator, Mapping, Sequence

import transformers
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.models.auto import modeling_auto as auto

from model.config.foreign import Task
from model.files import CheckpointError
from model.messages import Message

__all__ = ["architecture", "fills_gaps", "require_attention"]

Classes = Mapping[str, str | Sequence[str]]  # family → the name of its class, or several names
CONTINUING: Classes = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
FILLING: Classes = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
# The library's names of the classes of each family, in the order of the search.
ARCHITECTURES: tuple[tuple[Task, Classes], ...] = (
    ("translation", auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
    ("continuation", CONTINUING),
    ("classification", auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES),
    ("reading", FILLING),
    ("reading", auto.MODEL_MAPPING_NAMES),
)
ATTENTION = ("full_attention", "sliding_attention", "chunked_attention")  # kinds of layers that can be shown
# Families of language models whose tokens attend to all others. They predict in another pass, with other input.
BOTH_DIRECTIONS = ("xlnet",)
# Ends of the names of classes without a head for a task: config.json of facebook/bart-base names a BartModel.
HEADLESS = ("Model", "ForPreTraining")


def architecture(config: PreTrainedConfig, name: str) -> tuple[Task, type[PreTrainedModel]]:
    """The task of a model, and the library's class that opens it.

    Raises:
        CheckpointError: Headlight cannot show this kind of model.
    """
    names = config.architectures
    named = str(names[0]) if isinstance(names, list) and names else ""
    for task, known in candidates(config.model_type, named):
        if task == "continuation" and predicts_masked(config, known):
            continue
        if config.model_type in BOTH_DIRECTIONS and task == "continuation":
            return "reading", getattr(transformers, known)
        if (task == "translation") == config.is_encoder_decoder:
            return task, getattr(transformers, known)
    raise CheckpointError(
        "{name} is {architecture} of the family {model_type}. Headlight can show models that translate or "
        "summarize (Marian, BART, mBART, M2M100, T5), language models (GPT-2, Llama, Qwen), and models "
        "that read or classify a text (BERT, DistilBERT, RoBERTa).",
        name=name,
        architecture=named or Message("a model"),
        model_type=config.model_type,
    )


def candidates(family: str, named: str) -> Iterator[tuple[Task, str]]:
    """Tasks and classes that may open a family: the named class, or else the classes that add a head.

    Loading the weights decides: it fails if the files do not contain the head.
    """
    reads = family in FILLING or family not in CONTINUING  # its base attends in both directions
    for task, classes in ARCHITECTURES:
        known = class_of(classes, family)
        if known and named == known and (reads or classes is not auto.MODEL_MAPPING_NAMES):
            yield task, known
    if named and not named.endswith(HEADLESS):
        return
    pretrained = getattr(transformers, named, None)
    # ELECTRA is pretrained without a head that predicts masked tokens, BERT with one.
    headed = not named.endswith("ForPreTraining") or bool(getattr(pretrained, "_tied_weights_keys", None))
    for task, classes in ARCHITECTURES:
        known = class_of(classes, family)
        fits = task == "translation" or (task == "continuation") == (not reads)
        if known and task != "classification" and fits and (headed or classes is not FILLING):
            yield task, known


def predicts_masked(config: PreTrainedConfig, known: str) -> bool:
    """Whether a class that can do both predicts masked tokens, and does not continue a text (XLM)."""
    return known == class_of(FILLING, config.model_type) and not getattr(config, "causal", False)


def class_of(classes: Classes, family: str) -> str:
    known = classes.get(family) or ""
    return str(known if isinstance(known, str) else known[0])


def fills_gaps(kind: type[PreTrainedModel]) -> bool:
    """Whether models of a class predict masked tokens."""
    return kind.__name__ in FILLING.values()


def require_attention(config: PreTrainedConfig, name: str) -> None:
    """Raises CheckpointError if the configuration shows that a part of the model cannot be shown."""
    if config.sub_configs and not hasattr(config, "num_hidden_layers"):
        raise CheckpointError(
            "{name} consists of several models with different sizes ({sub_configs}). Headlight cannot open "
            "such models yet.",
            name=name,
            sub_configs=", ".join(sorted(config.sub_configs)),
        )
    layers = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or ()
    if others := sorted({str(layer) for layer in layers if layer not in ATTENTION}):
        raise CheckpointError(
            "Some layers of {name} do not use attention ({others}), so they cannot be shown.",
            name=name,
            others=", ".join(others),
        )
