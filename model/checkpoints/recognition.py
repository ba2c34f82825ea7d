"""Weights without a `headlight.toml`: recognised by names and shapes, with what stands beside them, and asked for.

What neither the weights nor the files beside them tell becomes a question to the user.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import CONFIG, DESCRIPTION
from model.checkpoints.description import UNKNOWN, unknown_settings
from model.checkpoints.tutorials import recognise
from model.config.section import ConfigError
from model.files import CheckpointError
from model.messages import N_
from model.safety.folder_files import is_kept, require_whole_files, why_no_checkpoint
from model.safety.json_files import read_json
from model.safety.torch_files import read_saved_file
from model.text.vocabulary_list import read_file_tokenizer, read_vocabulary

__all__ = [
    "Question",
    "answered",
    "has_only_weights",
    "questions_for",
    "recognised",
    "require_described",
]

WEIGHTS = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
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
TEXTS = {
    "num_heads": N_("How many heads does an attention layer have?"),
    "norm": N_("Is the norm before each sublayer (pre) or after it (post)?"),
    "activation": N_("Which activation does the feed-forward network have?"),
    "scale_embeddings": N_("Are the token vectors multiplied by √d_model?"),
    "positional": N_("Which positions are added to the token vectors?"),
    "num_kv_heads": N_("How many different keys and values does an attention layer have?"),
    "max_length": N_("How many positions does the model know?"),
    "rotary_base": N_("What is the base of the rotary positions?"),
    "epsilon": N_("Which small number do the norms add?"),
    "source_vocabulary": N_("Which file is the vocabulary of the source?"),
    "target_vocabulary": N_("Which file is the vocabulary of the target?"),
    "vocabulary": N_("Which file is the vocabulary?"),
    "pad": N_("Which token fills up short texts?"),
    "bos": N_("Which token begins a text?"),
    "eos": N_("Which token ends a text?"),
    "source.pad": N_("Which token of the source fills up short texts?"),
    "source.bos": N_("Which token begins a text of the source? Choose none if it begins with its first word."),
    "source.eos": N_("Which token ends a text of the source?"),
}
CHOICES: Mapping[str, tuple[object, ...]] = {
    "norm": ("post", "pre"),
    "activation": ("relu", "gelu"),
    "scale_embeddings": (True, False),
    "positional": ("sinusoidal", "learned", "none"),
    "max_length": tuple(2**power for power in range(5, 18)),
    "rotary_base": (10_000.0, 500_000.0, 1_000_000.0),
    "epsilon": (1e-5, 1e-6),
}
SOURCE_BOS = ("specials", "source", "bos")
NO_TOKEN = "none"  # the answer for a source that begins with its first word


def has_only_weights(folder: Path) -> bool:
    """Whether a folder has weights of a model and nothing that describes them."""
    described = (folder / DESCRIPTION).is_file() or ((folder / CONFIG).is_file() and not logged_model(folder))
    if described or (folder / "adapter_config.json").is_file():  # an adapter only changes a model
        return False
    return folder.is_dir() and any(is_weights(path) for path in folder.iterdir())


def is_weights(path: Path) -> bool:
    return path.suffix in WEIGHTS and is_kept(path.name) and path.is_file()


def recognised(folder: Path) -> Mapping[str, Any]:
    """The values of a `headlight.toml` for the weights of a folder.

    Raises:
        CheckpointError: there is no file of weights, there are several, it cannot be read, or no layout fits. The
            message says what to do.
    """
    weights = weights_in(folder)
    saved = read_saved_file(weights)
    if (found := recognise(saved)) is None:
        raise CheckpointError(why_no_checkpoint(folder.name, [path.name for path in folder.iterdir()]))
    values = {"weights": weights.name, **found}
    if values.get("task") == "continuation":
        return with_vocabulary(values, folder)
    names = values["names"]
    rows = [len(saved.tensors[f"{names[f'{side}_embedding']}.weight"]) for side in ("source", "target")]
    return with_vocabularies(values, folder, (rows[0], rows[1]))


def require_described(folder: Path) -> None:
    """Raises CheckpointError if a folder has weights and no description. The message says how to write one."""
    if has_only_weights(folder):
        require_whole_files(folder)
        recognised(folder)
        raise CheckpointError(
            "{folder} has weights, but no {description}. Headlight knows the names of these weights. Write the file "
            "with `python -m model describe {path}`.",
            folder=folder.name,
            description=DESCRIPTION,
            path=folder,
        )


def weights_in(folder: Path) -> Path:
    """The only file of weights in a folder.

    Raises:
        CheckpointError: there is none, or there are several.
    """
    files = sorted(path for path in folder.iterdir() if is_weights(path))
    if len(files) > 1:  # llama2.c writes model.bin and tokenizer.bin for its program in C
        files = [path for path in files if path.suffix == ".safetensors" or is_saved_by_torch(path)]
    if len(files) == 1:
        return files[0]
    if not files:
        raise CheckpointError(
            "{folder} has no weights. Add a file that ends with {endings}.",
            folder=folder.name,
            endings=", ".join(WEIGHTS),
        )
    raise CheckpointError(
        "{folder} has several files of weights: {files}. Keep one of them there.",
        folder=folder.name,
        files=", ".join(path.name for path in files),
    )


def is_saved_by_torch(path: Path) -> bool:
    """Whether a file begins as those of `torch.save`: as an archive, or as the number in older files."""
    with path.open("rb") as file:
        return file.read(3) in (b"PK\x03", b"\x80\x02\x8a")


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
        values = read_json(folder / CONFIG)
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


@dataclass(frozen=True, kw_only=True)
class Question:
    """A setting that the user knows."""

    path: tuple[str, ...]  # the keys in `headlight.toml`, such as ("model", "num_heads")
    text: str  # marked for translation
    choices: tuple[object, ...]

    @property
    def name(self) -> str:
        """Such as "model.num_heads"."""
        return ".".join(self.path)


def questions_for(values: Mapping[str, Any], folder: Path) -> list[Question]:
    """The questions that the values of a description leave open.

    Args:
        values: Of `recognised`.
        folder: Of the weights.
    """
    vocabularies = vocabularies_in(folder)
    asked = []
    for path in unknown_settings(values):
        setting = path[-1]
        choices = CHOICES.get(setting, ())
        if setting in ("num_heads", "num_kv_heads"):
            width = values["model"]["d_model"]
            choices = tuple(heads for heads in range(1, width + 1) if width % heads == 0)
        elif setting.endswith("vocabulary"):
            choices = tuple(vocabularies)
        elif path[0] == "specials":
            choices = tokens_for(path, values, vocabularies)
        text = TEXTS.get(".".join(path[1:]) or setting, setting)
        asked.append(Question(path=path, text=text, choices=choices))
    return asked


def tokens_for(
    path: tuple[str, ...], values: Mapping[str, Any], vocabularies: Mapping[str, Mapping[str, int]]
) -> tuple[str, ...]:
    """The tokens to choose from: of the vocabulary of one side, or of all where that file is not known."""
    side = "source_vocabulary" if "source" in path else "target_vocabulary"
    own = vocabularies.get(values.get("vocabulary", values.get(side)))
    known = vocabularies.values() if own is None else [own]
    tokens = dict.fromkeys(token for one in known for token in likely_specials(one))
    return (*tokens, NO_TOKEN) if path == SOURCE_BOS else tuple(tokens)


def answered(values: Mapping[str, Any], answers: Mapping[tuple[str, ...], object]) -> dict[str, Any]:
    """The values with the answers, by the paths of their questions."""
    if answers.get(SOURCE_BOS) == NO_TOKEN:
        answers = {**answers, SOURCE_BOS: "", ("specials", "around_source"): False}
    filled = dict(values)
    for path, answer in answers.items():
        first, *rest = path
        filled[first] = answered(filled.get(first, {}), {tuple(rest): answer}) if rest else answer
    return filled
