"""Open a folder of Hugging Face's `transformers` as a checkpoint. Its files are checked before a model is built.

No code in a folder is executed: there is no remote code, and weights are safetensors or PyTorch's `.bin` files with
`weights_only`. The sizes in `config.json` are compared with the header of the weights first, so a folder cannot claim
more memory than its weights fill.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint, Unused
from model.config.foreign import Task
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.files import CheckpointError
from model.foreign.architecture import architecture, classifies, named_class, quantized
from model.foreign.chat_template import template_of
from model.foreign.description import describe, read_library_config
from model.foreign.generation import settings_of
from model.foreign.language_model import ForeignLanguageModel
from model.foreign.readable import readable
from model.foreign.reader import ForeignClassifier, ForeignReader
from model.foreign.segments import segments_of
from model.foreign.sizes import labels_of
from model.foreign.tokenizer_pair import languages_of, padding_of, pair_of, read_tokenizer
from model.foreign.translator import ForeignTranslator
from model.messages import Message
from model.safety.errors import first_line
from model.safety.sizes import read_config_json, require_matching_weights, require_memory
from model.safety.weight_files import read_header
from model.text.bounded_tokenizer import require_bounded_tokenizer

__all__ = ["choose_language", "open_foreign"]

# While the library opens a model, it changes functions of its own and of PyTorch. Two at once would disturb each other.
OPENING = threading.Lock()


def open_foreign(
    folder: Path, *, device: str = "cpu", max_bytes: int | None = None
) -> Checkpoint | ClassifierCheckpoint:
    """Load a folder of the library for use.

    Args:
        folder: Contains `config.json`, weights and tokenizer. Nothing is downloaded.
        device: Where the model runs. On a GPU the weights keep their stored precision, and several GPUs share one
            model. On the CPU everything is computed in single precision.
        max_bytes: The largest memory that the model may take; no limit by default.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others, or the model takes too much memory.
    """
    with readable(folder) as copy:
        require_bounded_tokenizer(copy)
        config, tokenizer = read_library_config(copy), read_tokenizer(copy)
        with OPENING, quiet():
            return replace(open_alone(copy, config, tokenizer, device=device, max_bytes=max_bytes), path=folder)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the library's reports inside the block, and restore the caller's settings after it."""
    verbosity, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()


def open_alone(
    folder: Path, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase, *, device: str, max_bytes: int | None
) -> Checkpoint | ClassifierCheckpoint:
    described, (task, kind) = describe(folder, config), architecture(config, folder)
    header = read_header(folder)
    if any(name.endswith(".qweight") for name in header.shapes):  # older files of GPTQ do not say so in config.json
        raise quantized(folder.name, "GPTQ")
    numbers = require_matching_weights(lambda: kind(config), read_config_json(folder), header, folder.name)
    require_memory(numbers, folder.name, max_bytes)
    model, surplus = load_model(folder, kind, config, placement(device, torch.cuda.device_count()))
    try:
        choose_language(model)
        wrapped = wrap(model, task, tokenizer)
        pair = pair_of(folder, tokenizer, wrapped)
    except ConfigError as error:
        raise CheckpointError("{folder} cannot be shown: {error}", folder=folder.name, error=error) from error
    for kind_of_attention in KINDS:
        claimed, found = (sizes.num_layers(kind_of_attention) for sizes in (described.model, wrapped.config))
        if claimed != found:
            raise CheckpointError(
                "{folder} cannot be shown: config.json promises {claimed} layers of {kind}, and the model has {found}.",
                folder=folder.name,
                claimed=claimed,
                kind=Message(KINDS[kind_of_attention].title),
                found=found,
            )
    texts = replace(
        described.tokenizer,
        languages=languages_of(tokenizer),
        chat_template=template_of(tokenizer) if task == "continuation" else "",
        separator="".join(pair.source.tokens(pair.specials.separator)),
        special_tokens={name: str(token) for name, token in tokenizer.special_tokens_map.items()},
    )
    settings = settings_of(model.generation_config if model.can_generate() else None)
    known = replace(described, model=wrapped.config, tokenizer=texts, generation=settings)
    ready = wrapped.eval() if hasattr(model, "hf_device_map") else wrapped.to(device).eval()
    unused = Unused(
        tensors=surplus, head=named_class(config) if surplus and named_class(config) != kind.__name__ else ""
    )
    if isinstance(ready, ForeignClassifier):
        return ClassifierCheckpoint(path=folder, config=known, model=ready, tokenizers=pair, unused=unused)
    return Checkpoint(path=folder, config=known, model=ready, tokenizers=pair, unused=unused)


def placement(device: str, gpus: int) -> dict[str, Any]:
    """The library's arguments for a device. `accelerate` distributes a model over several GPUs."""
    if device == "cpu":
        return {"dtype": torch.float32}
    return {"dtype": "auto", **({"device_map": "auto"} if device == "cuda" and gpus > 1 else {})}


def load_model(
    folder: Path, kind: type[PreTrainedModel], config: PreTrainedConfig, placed: Mapping[str, Any]
) -> tuple[PreTrainedModel, tuple[str, ...]]:
    """The model, and the names of weights in the files that it does not use.

    Raises:
        CheckpointError: weights are missing, or have another shape.
    """
    try:
        loaded: Any = kind.from_pretrained(
            folder,
            config=config,
            local_files_only=True,
            output_loading_info=True,
            attn_implementation="eager",  # some families choose their modules now, see `returned_attention.py`
            **placed,
        )
    except Exception as error:
        raise CheckpointError(
            "The weights of {folder} cannot be loaded: {problem}", folder=folder.name, problem=first_line(error)
        ) from error
    model, report = loaded
    # Only a classifier reads the pooler's vector.
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name or classifies(kind))
    wrong = [*missing, *(str(key[0] if isinstance(key, tuple) else key) for key in report["mismatched_keys"])]
    if wrong:
        few: str = ", ".join(wrong[:3])
        if len(wrong) > 3:
            few = Message("{names} and {n} more", names=few, n=len(wrong) - 3)
        raise CheckpointError(
            "The weights of {folder} do not fit: {few} is missing or has another shape.", folder=folder.name, few=few
        )
    assert isinstance(model, PreTrainedModel)
    return model, tuple(sorted(report["unexpected_keys"]))


def choose_language(model: PreTrainedModel) -> None:
    """Choose the language of a model with a part for each (X-MOD): the one of its configuration, or its only one.

    Raises:
        ConfigError: there are several, and the configuration names none.
    """
    choose: Any = getattr(model, "set_default_language", None)
    if choose is None or model.config.default_language:
        return
    languages = model.config.languages
    if len(languages) > 1:
        raise ConfigError(
            "it has parts for {languages} languages, and config.json has no default_language. Add one of {codes} …",
            languages=len(languages),
            codes=", ".join(map(str, languages[:3])),
        )
    choose(languages[0])


def wrap(
    model: PreTrainedModel, task: Task, tokenizer: PreTrainedTokenizerBase
) -> ForeignTranslator | ForeignLanguageModel | ForeignReader:
    if task == "translation":
        return ForeignTranslator(model)
    if task == "continuation":
        return ForeignLanguageModel(model, padding=padding_of(tokenizer))
    pad_id = 0 if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
    segments = segments_of(tokenizer, model)
    if task == "reading":
        return ForeignReader(model, pad_id=pad_id, segments=segments)
    if len(labels_of(model.config)) < 2 or model.config.problem_type == "regression":
        raise ConfigError("it gives a text a number and not one of several classes.")
    return ForeignClassifier(model, pad_id=pad_id, segments=segments)
