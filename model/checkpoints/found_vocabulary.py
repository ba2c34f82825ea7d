"""Finds what stands beside weights without a `headlight.toml`: vocabularies, special tokens, minGPT's settings."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import CONFIG
from model.checkpoints.description import UNKNOWN
from model.config.section import ConfigError
from model.files import CheckpointError
from model.safety.json_files import read_small_json
from model.text.file_tokenizer import read_file_tokenizer
from model.text.vocabulary_list import read_vocabulary

__all__ = ["likely_specials", "logged_model", "vocabularies_in", "with_vocabularies", "with_vocabulary"]

NO_VOCABULARIES = ("config.json", "requirements.txt", "README.txt", "LICENSE.txt")
# Of a decoder alone, in the order of the search: nanoGPT's pickle, `tokenizers`, SentencePiece, and lists of tokens.
ALONE = ("meta.pkl", "tokenizer.json", "*.model", "vocab.json", "vocab.txt")
GPT2_TOKENS, END_OF_TEXT = 50257, "<|endoftext|>"
MINGPT_HEADS = {  # of the models that minGPT knows by name
    **{"openai-gpt": 12, "gpt2": 12, "gpt2-medium": 16, "gpt2-large": 20, "gpt2-xl": 25},
    **{"gopher-44m": 16, "gpt-mini": 6, "gpt-micro": 4, "gpt-nano": 3},
}
USUAL: Mapping[str, tuple[str, ...]] = {
    "pad": ("<pad>", "[PAD]", "<PAD>", "<blank>", "PAD"),
    "bos": ("<s>", "<bos>", "<sos>", "[SOS]", "[BOS]", "<BOS>", "<SOS>", "<start>", "[CLS]", "SOS"),
    "eos": ("</s>", "<eos>", "[EOS]", "<EOS>", "<end>", "[SEP]", "EOS"),
    "unknown": ("<unk>", "[UNK]", "<UNK>", "<oov>", "UNK"),
}
SIDES = {
    "source": r"(^|[._-])(src|source|in|input|enc|encoder)([._-]|$)",
    "target": r"(^|[._-])(tgt|trg|target|out|output|dec|decoder)([._-]|$)",
}
MARK = r"<.+>|\[.+\]"
Vocabulary = Mapping[str, int]
Values = Mapping[str, Any]  # of a `headlight.toml`


def tokens_in(path: Path) -> Vocabulary | None:
    """The tokens of a vocabulary; None for another kind of file."""
    try:
        tokenizer = read_file_tokenizer(path)
        return read_vocabulary(path) if tokenizer is None else tokenizer.vocabulary
    except ConfigError:
        return None


def vocabularies_in(folder: Path) -> dict[str, Vocabulary]:
    """Name → tokens of each file of the folder that is a vocabulary."""
    names = (path for path in sorted(folder.iterdir()) if path.suffix in (".json", ".txt"))
    found = {path.name: tokens_in(path) for path in names if path.name not in NO_VOCABULARIES}
    return {name: tokens for name, tokens in found.items() if tokens is not None}


def with_vocabularies(values: Values, folder: Path, sizes: tuple[int, int]) -> dict[str, Any]:
    """The values of a translator with `vocabulary`, or the one of each side, `tokens` and [specials].

    What is not clear is `UNKNOWN`.

    Args:
        values: Of `recognise`.
        folder: With the files.
        sizes: The rows of the embeddings of the source and of the target.
    """
    found, specials = vocabularies_in(folder), values["specials"]
    source, target = files_of(found, sizes)
    files = {"source_vocabulary": source, "target_vocabulary": target}
    added: dict[str, Any] = {"vocabulary": source} if source == target != UNKNOWN else files
    known = found.get(target) or found.get(source) or {}
    if known and not any(len(token) > 1 for token in known if not re.fullmatch(MARK, token)):
        added["tokens"] = "characters"
    usual = specials_in(known)
    own = {name: token for name, token in specials_in(found.get(source, known)).items() if token != usual[name]}
    if not specials["around_source"]:
        own.pop("bos", None)
    return {**values, **added, "specials": usual | ({"source": own} if own else {}) | specials}


def files_of(found: Mapping[str, Vocabulary], sizes: tuple[int, int]) -> tuple[str, str]:
    """The file of each side: by its size, or else by its name."""
    if len(found) == 1:
        return (next(iter(found)),) * 2
    chosen = []
    for size, pattern in zip(sizes, SIDES.values(), strict=True):
        fitting = [name for name, vocabulary in found.items() if max(vocabulary.values()) + 1 == size]
        named = [name for name in fitting or found if re.search(pattern, name.lower())]
        only = next((names[0] for names in (fitting, named) if len(names) == 1), UNKNOWN)
        chosen.append(only)
    return chosen[0], chosen[1]


def specials_in(vocabulary: Vocabulary) -> dict[str, Any]:
    """The usual special tokens of a vocabulary; `UNKNOWN` where none of them is in it."""
    found = {name: next((token for token in usual if token in vocabulary), UNKNOWN) for name, usual in USUAL.items()}
    return found if found["unknown"] != UNKNOWN else found | {"unknown": ""}


def likely_specials(vocabulary: Vocabulary) -> list[str]:
    """The tokens to choose a special token from: those in brackets, or else the first ones."""
    first = sorted(vocabulary, key=lambda token: vocabulary[token])
    return [token for token in first if re.fullmatch(MARK, token)] or first[:20]


def with_vocabulary(values: Values, folder: Path) -> dict[str, Any]:
    """The values of a decoder alone with the vocabulary of the folder, and with the heads that minGPT logged.

    Args:
        values: Of `recognise`.
        folder: Of the weights.

    Raises:
        CheckpointError: there is no vocabulary. The message says which files to add.
    """
    model = dict(values["model"])
    if model["num_heads"] == UNKNOWN:
        logged = logged_model(folder)
        heads = logged.get("n_head") or MINGPT_HEADS.get(str(logged.get("model_type")))
        model["num_heads"] = heads if type(heads) is int and model["d_model"] % heads == 0 else UNKNOWN
    found = next((path for pattern in ALONE for path in sorted(folder.glob(pattern))), None)
    if found is None:
        raise no_vocabulary(folder, model["vocab_size"])
    specials = dict(values["specials"])
    if found.suffix != ".model":
        tokens = tokens_in(found) or {}  # the file is read again when the checkpoint is opened
        usual = {name: token for name, token in specials_in(tokens).items() if name in ("eos", "unknown")}
        end = {"eos": END_OF_TEXT} if END_OF_TEXT in tokens else {}
        specials = {name: token for name, token in (usual | end | specials).items() if token in tokens}
    rest = {name: value for name, value in values.items() if name != "specials"}
    return {**rest, "vocabulary": found.name, "model": model, **({"specials": specials} if specials else {})}


def logged_model(folder: Path) -> Mapping[str, Any]:
    """The settings of the model in the `config.json` that minGPT writes; empty if there is another file or none."""
    try:
        values = read_small_json(folder / CONFIG)
    except (OSError, ValueError):
        return {}
    model = values.get("model") if isinstance(values, dict) else None
    return model if isinstance(model, dict) and "trainer" in values else {}


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
