"""What stands beside the weights of a decoder alone: its vocabulary, and the settings that minGPT logs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import CONFIG
from model.checkpoints.description_file import UNKNOWN
from model.checkpoints.found_vocabulary import specials_in
from model.config.section import ConfigError
from model.files import CheckpointError
from model.safety.json_files import read_json
from model.text.vocabulary_list import read_file_tokenizer, read_vocabulary

__all__ = ["logged_model", "with_decoder_files"]

# In the order of the search: nanoGPT's pickle, `tokenizers`, SentencePiece, and lists of tokens.
VOCABULARIES = ("meta.pkl", "tokenizer.json", "*.model", "vocab.json", "vocab.txt")
GPT2_TOKENS, END_OF_TEXT = 50257, "<|endoftext|>"
MINGPT_HEADS = {  # of the models that minGPT knows by name
    **{"openai-gpt": 12, "gpt2": 12, "gpt2-medium": 16, "gpt2-large": 20, "gpt2-xl": 25},
    **{"gopher-44m": 16, "gpt-mini": 6, "gpt-micro": 4, "gpt-nano": 3},
}


def with_decoder_files(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The values of a `headlight.toml` with the vocabulary of the folder, and with the heads that minGPT logged.

    Args:
        values: Of a recogniser.
        folder: Of the weights.

    Raises:
        CheckpointError: there is no vocabulary. The message says which files to add.
    """
    model = dict(values["model"])
    if model["num_heads"] == UNKNOWN:
        logged = logged_model(folder)
        heads = logged.get("n_head") or MINGPT_HEADS.get(str(logged.get("model_type")))
        model["num_heads"] = heads if type(heads) is int and model["d_model"] % heads == 0 else UNKNOWN
    found = next((path for pattern in VOCABULARIES for path in sorted(folder.glob(pattern))), None)
    if found is None:
        raise no_vocabulary(folder, model["vocab_size"])
    specials = specials_of(found, values.get("specials", {}))
    return {**values, "vocabulary": found.name, "model": model, **({"specials": specials} if specials else {})}


def logged_model(folder: Path) -> Mapping[str, Any]:
    """The settings of the model in the `config.json` that minGPT writes; empty if there is another file or none."""
    try:
        values = read_json(folder / CONFIG)
    except (OSError, ValueError):
        return {}
    model = values.get("model") if isinstance(values, dict) else None
    return model if isinstance(model, dict) and "trainer" in values else {}


def specials_of(vocabulary: Path, usual: Mapping[str, str]) -> dict[str, str]:
    """The special tokens that a vocabulary has.

    Args:
        vocabulary: The file.
        usual: Those of the layout. The others are found by their spelling.
    """
    if vocabulary.suffix == ".model":
        return dict(usual)
    try:
        tokenizer = read_file_tokenizer(vocabulary)
        tokens = read_vocabulary(vocabulary) if tokenizer is None else tokenizer.vocabulary
    except ConfigError:
        return {}  # the file is read again when the checkpoint is opened
    spelled = specials_in(tokens)
    end = END_OF_TEXT if END_OF_TEXT in tokens else spelled["eos"]
    found = {"eos": end, "unknown": spelled["unknown"]}
    return {name: token for name, token in (found | dict(usual)).items() if token in tokens}


def no_vocabulary(folder: Path, size: int) -> CheckpointError:
    """The error for a folder without a vocabulary. GPT-2's has a size of its own, or rounded up."""
    if size >= GPT2_TOKENS:
        return CheckpointError(
            "{folder} has no vocabulary. Its model has {size} tokens. If they are those of GPT-2, add the files "
            "vocab.json and merges.txt of GPT-2.",
            folder=folder.name,
            size=f"{size:,}",
        )
    return CheckpointError(
        "{folder} has no vocabulary. Its model has {size} tokens. Add one of these files: the meta.pkl of nanoGPT's "
        "data, tokenizer.json, the tokenizer.model of SentencePiece, vocab.json with the id of each token, or "
        "vocab.txt with one token per line.",
        folder=folder.name,
        size=f"{size:,}",
    )
