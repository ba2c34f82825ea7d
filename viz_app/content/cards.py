"""The model card of a checkpoint: README.md of its folder, or a translation of it."""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from model.safety.json_files import MAX_INDEX_BYTES, read_text
from viz_app.content.plain import card

__all__ = ["LONGEST_CARD", "ModelCard", "read_card"]

LONGEST_CARD = 50_000  # characters
LONGEST_LICENCE = 60
METADATA = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)  # for the Hugging Face Hub
LICENCE = re.compile(r"^license: *(.*?) *$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """The card of a checkpoint without its first heading and its metadata, as Markdown that asks no other host."""

    text: str
    cut: bool  # the file is longer than `LONGEST_CARD`
    licence: str  # that the metadata name; "" for none


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
            metadata = METADATA.match(text)
            licence = LICENCE.search(metadata[1]) if metadata else None
            text = METADATA.sub("", text).lstrip()
            return ModelCard(
                text=card(text.partition("\n")[2] if text.startswith("# ") else text),
                cut=cut,
                licence=licence[1][:LONGEST_LICENCE] if licence else "",
            )
    return ModelCard(text="", cut=False, licence="")
