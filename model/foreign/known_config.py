"""What the files of a folder of `transformers` say, read without that library.

The library takes three seconds and 150 MB. A list of checkpoints needs it only for families that are not known here.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.config.foreign import ForeignConfig, ForeignSizes, ForeignTexts, Task
from model.safety.json_files import read_json
from model.safety.sizes import read_config_json

__all__ = ["read_known_config", "texts_of"]


@dataclass(frozen=True, kw_only=True)
class Known:
    """A class of the library: its task, its only kind of attention, and its names of the sizes."""

    family: str
    task: Task
    kind: str
    sizes: tuple[str, str, str, str]  # d_model, heads, layers and positions


KNOWN = {
    "GPT2LMHeadModel": Known(
        family="gpt2", task="continuation", kind="decoder", sizes=("n_embd", "n_head", "n_layer", "n_positions")
    ),
    "BertForMaskedLM": Known(
        family="bert",
        task="reading",
        kind="encoder",
        sizes=("hidden_size", "num_attention_heads", "num_hidden_layers", "max_position_embeddings"),
    ),
}


def read_known_config(folder: Path) -> ForeignConfig | None:
    """As `read_foreign_config`, for the classes in `KNOWN`; None if only the library can read the folder.

    Raises:
        CheckpointError: `config.json` is too long, is damaged, or names too large sizes.
    """
    values = read_config_json(folder)
    named = values.get("architectures")
    known = KNOWN.get(str(named[0])) if isinstance(named, list) and named else None
    if known is None or values.get("model_type") != known.family:
        return None
    found = [size for name in (*known.sizes, "vocab_size") if isinstance(size := values.get(name), int) and size > 0]
    if len(found) < 5:  # the file leaves one to the library
        return None
    d_model, num_heads, num_layers, max_length, vocabulary = found
    sizes = ForeignSizes(
        d_model=d_model,
        num_heads=num_heads,
        layers={known.kind: num_layers},
        max_length=max_length,
        source_vocab_size=vocabulary,
        target_vocab_size=vocabulary,
    )
    texts = texts_of(folder, known.task)
    return ForeignConfig(family=known.family, task=known.task, model=sizes, tokenizer=texts, values=values)


def texts_of(folder: Path, task: Task = "reading") -> ForeignTexts:
    """The languages and the mask token, if the tokenizer's settings name them. Only a reader uses a mask token."""
    values: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        with suppress(OSError, ValueError, TypeError):
            values |= read_json(folder / name)

    def first(*keys: str) -> str:
        found = (values.get(key) for key in keys)
        texts = (value.get("content") if isinstance(value, dict) else value for value in found)
        return next((text for text in texts if isinstance(text, str)), "")

    return ForeignTexts(
        source_language=first("source_lang", "src_lang"),
        target_language=first("target_lang", "tgt_lang"),
        mask=first("mask_token") if task == "reading" else "",
    )
