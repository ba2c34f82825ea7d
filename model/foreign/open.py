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
from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint, Unused
from model.checkpoints.languages import code_of
from model.config.foreign import Task
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.files import CheckpointError
from model.foreign.architecture import (
    architecture,
    classifies,
    describe,
    named_class,
    quantized,
    read_library_config,
    readable,
)
from model.foreign.chat_template import template_of
from model.foreign.generation import rules_of, settings_of
from model.foreign.models import (
    ForeignClassifier,
    ForeignLanguageModel,
    ForeignModel,
    ForeignReader,
    ForeignTranslator,
    continuing,
)
from model.foreign.sizes import labels_of
from model.foreign.tokenizer import ForeignTokenizer, frame, segments_of, separator_of
from model.messages import Message, few, first_line
from model.network.protocols import Padding
from model.safety.sizes import read_config_json, require_matching_weights, require_memory
from model.safety.weight_files import read_header
from model.text.bounded_tokenizer import require_bounded_tokenizer
from model.text.encoding import TokenizerPanicError, panics_as_errors
from model.text.tokenizers import TokenizerPair
from model.text.vocab import Specials

__all__ = ["choose_language", "open_foreign", "pair_of"]

# While the library opens a model, it changes functions of its own and of PyTorch. Two at once would disturb each other.
OPENING = threading.Lock()
VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model", "source.spm")
FEWEST = 10  # tokens of a usable vocabulary, without special ones


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
        raise CheckpointError(
            "The weights of {folder} do not fit: {few} is missing or has another shape.",
            folder=folder.name,
            few=few(wrong, 3),
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


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Raises CheckpointError if the library cannot read the tokenizer."""
    try:
        with panics_as_errors():
            return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library raises many kinds
        raise why_no_tokenizer(folder, error) from error


def why_no_tokenizer(folder: Path, error: Exception) -> CheckpointError:
    """The error for a tokenizer that the library cannot read."""
    if isinstance(error, TokenizerPanicError) or any((folder / name).is_file() for name in VOCABULARIES):
        return CheckpointError(
            "The tokenizer of {folder} cannot be read: {problem}", folder=folder.name, problem=first_line(error)
        )
    return CheckpointError(
        "{folder} has no tokenizer. Add the file of its vocabulary: tokenizer.json, or a file of its family ({files}).",
        folder=folder.name,
        files=", ".join(VOCABULARIES[1:]),
    )


def languages_of(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """Language code → its token. Empty for a model with fewer than two languages."""
    named = {code_of(str(tokenizer.convert_ids_to_tokens(i))): int(i) for i in tokenizer.all_special_ids}
    found = {code: i for code, i in sorted(named.items()) if code}
    return found if len(found) > 1 else {}


def padding_of(tokenizer: PreTrainedTokenizerBase) -> Padding:
    """How the tokenizer of a language model pads. Without a padding token it is the end token, as in `generate`."""
    marks = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    return Padding(
        id=int(next(mark for mark in marks if mark is not None)),
        side="left" if tokenizer.padding_side == "left" else "right",
    )


def pair_of(folder: Path, tokenizer: PreTrainedTokenizerBase, model: ForeignModel) -> TokenizerPair:
    """The tokenizers of both sides, with the methods of our own.

    Raises:
        ConfigError: a tokenizer has more ids than the model has embeddings.
    """
    source = ForeignTokenizer(tokenizer)
    target = source
    if hasattr(tokenizer, "_switch_to_target_mode"):
        target = ForeignTokenizer(read_tokenizer(folder), target=True)
    for side, rows in ((source, model.config.source_vocab_size), (target, model.config.target_vocab_size)):
        if side.size > rows:
            raise ConfigError(
                "its tokenizer has {size} tokens, and its model has embeddings for {rows}.",
                size=f"{side.size:,}",
                rows=f"{rows:,}",
            )
    if source.size < len(tokenizer.all_special_ids) + FEWEST:
        raise ConfigError("its tokenizer has nearly no tokens. Is the file of its vocabulary missing?")
    return TokenizerPair(source=source, target=target, specials=specials_of(tokenizer, model))


def specials_of(tokenizer: PreTrainedTokenizerBase, model: ForeignModel) -> Specials:
    """Raises ConfigError if a special token has no embedding in the model."""
    before, after = frame(tokenizer)
    own = {i for i in tokenizer.all_special_ids if i not in (tokenizer.unk_token_id, tokenizer.mask_token_id)}
    begins = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if isinstance(model, ForeignTranslator):
        found = replace(model.specials, before=before, after=after)
    elif isinstance(model, ForeignLanguageModel):
        # The tokens after a prompt are left out, because they would end it.
        generation = model.model.generation_config
        found = replace(continuing(generation), bos=begins or 0, before=before)
        ends = tuple(end for end in (found.eos, *found.more_ends) if end >= 0)
        found = replace(found, rules=rules_of(generation, ends, model.config.max_length))
    else:
        found = Specials(bos=begins or 0, eos=-1, before=before, separator=separator_of(tokenizer), after=after)
    rows = model.config.target_vocab_size
    written = (found.bos, *found.banned, found.first or 0)
    for i in (*written, found.eos, *found.more_ends):
        if i >= rows or (i < 0 and i in written):  # a negative end is never written
            raise ConfigError(
                "its generation settings name the token {token}, and its model has {rows} tokens. Correct the ids in "
                "config.json and generation_config.json.",
                token=f"{i:,}",
                rows=f"{rows:,}",
            )
    # Other models may have no first token. Their `bos` is then 0, which is an ordinary token.
    starts = (found.bos,) if isinstance(model, ForeignTranslator) else ()
    marks = frozenset({*own, *starts, found.eos, *found.more_ends})
    return replace(found, unknown=tokenizer.unk_token_id, mask=tokenizer.mask_token_id, marks=marks)
