"""What a folder of Hugging Face's `transformers` does, and which of the library's classes it is opened with."""

from collections.abc import Iterator, Mapping
from typing import Any

import transformers
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.models.auto import modeling_auto as auto

from model.config.foreign import Task
from model.files import CheckpointError

__all__ = ["architecture", "fills_gaps", "require_attention"]

Classes = Mapping[str, Any]  # family → the name of its class, or several
CONTINUING: Classes = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
FILLING: Classes = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
# In the order in which an architecture is looked for: the library's names of the classes that a family has.
ARCHITECTURES: tuple[tuple[Task, Classes], ...] = (
    ("translation", auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES),
    ("continuation", CONTINUING),
    ("classification", auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES),
    ("reading", FILLING),
    ("reading", auto.MODEL_MAPPING_NAMES),
)
ATTENTION = ("full_attention", "sliding_attention", "chunked_attention")  # kinds of layers that can be shown
# Ends of the names of classes without a head for a task of their own: facebook/bart-base says that it is a BartModel.
HEADLESS = ("Model", "ForPreTraining")


def architecture(config: PreTrainedConfig, name: str) -> tuple[Task, type[PreTrainedModel]]:
    """What a model does, and the library's class of it.

    Raises:
        CheckpointError: it is no text Transformer of a kind that can be shown.
    """
    said = config.architectures
    named = str(said[0]) if isinstance(said, list) and said else ""
    for task, known in candidates(config.model_type, named):
        if (task == "translation") == config.is_encoder_decoder:
            return task, getattr(transformers, known)
    raise CheckpointError(
        f"{name} is {named or 'a model'} of the family {config.model_type}. What can be shown: models that translate "
        "or summarize (Marian, BART, mBART, M2M100, T5), that go on with a text (GPT-2, Llama, Qwen), and that read "
        "one or classify it (BERT, DistilBERT, RoBERTa)."
    )


def candidates(family: str, named: str) -> Iterator[tuple[Task, str]]:
    """Tasks and classes that a family may be opened with: the one that is named, else those that add a head.

    The weights decide in the end: a head that is not in the files is missed when they are loaded.
    """
    reads = family in FILLING or family not in CONTINUING  # its base looks both ways
    for task, classes in ARCHITECTURES:
        known = class_of(classes, family)
        if known and named == known and (reads or classes is not auto.MODEL_MAPPING_NAMES):
            yield task, known
    if named and not named.endswith(HEADLESS):
        return
    pretrained = getattr(transformers, named, None)
    # ELECTRA is pretrained without a head that fills gaps, BERT with one.
    headed = not named.endswith("ForPreTraining") or bool(getattr(pretrained, "_tied_weights_keys", None))
    for task, classes in ARCHITECTURES:
        known = class_of(classes, family)
        fits = task == "translation" or (task == "continuation") == (not reads)
        if known and task != "classification" and fits and (headed or classes is not FILLING):
            yield task, known


def class_of(classes: Classes, family: str) -> str:
    known = classes.get(family) or ""
    return str(known[0] if isinstance(known, tuple) else known)


def fills_gaps(kind: type[PreTrainedModel]) -> bool:
    """Whether a class says what a masked token may be."""
    return kind.__name__ in FILLING.values()


def require_attention(config: PreTrainedConfig, name: str) -> None:
    """Raises CheckpointError where a configuration says that some part of a model cannot be shown."""
    if config.sub_configs and not hasattr(config, "num_hidden_layers"):
        raise CheckpointError(
            f"{name} is put together from several models ({', '.join(sorted(config.sub_configs)) or 'parts'}), each "
            "with sizes of its own, which cannot be opened yet."
        )
    layers = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None) or ()
    if others := sorted({str(layer) for layer in layers if layer not in ATTENTION}):
        raise CheckpointError(
            f"Some layers of {name} are no attention ({', '.join(others)}), so its layers cannot all be shown."
        )
