"""The model card of a checkpoint: README.md of its folder, or a translation of it."""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from model.safety.json_files import MAX_INDEX_BYTES, read_text
from viz_app.content.plain import card

__all__ = ["LONGEST_CARD", "ModelCard", "read_card"]

LONGEST_CARD = 50_000  # characters


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """The card of a checkpoint without its first heading, as Markdown that asks no other host."""

    text: str
    cut: bool  # the file is longer than `LONGEST_CARD`


def read_card(folder: Path, language: str) -> ModelCard:
    """The card in a folder: README.LANGUAGE.md, or README.md without one; empty without both.

    Args:
        folder: The folder of a checkpoint.
        language: Which translation of the card, such as "ko".

    Raises:
        ValueError: the file is not UTF-8 text, or it is very large.
    """
    for name in (f"README.{language}.md", "README.md"):
        with suppress(OSError):
            whole = read_text(folder / name, max_bytes=MAX_INDEX_BYTES)
            text, cut = whole[:LONGEST_CARD], len(whole) > LONGEST_CARD
            text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL).lstrip()  # metadata for the Hugging Face Hub
            return ModelCard(text=card(text.partition("\n")[2] if text.startswith("# ") else text), cut=cut)
    return ModelCard(text="", cut=False)
