"""Bytes of tokens that are no whole character, as text: ⟨C3⟩, ⟨E7 8C⟩."""

import re

__all__ = ["is_bytes", "shown_bytes", "whole_characters"]

BYTES = re.compile(r"(⟨[0-9A-F]{2}( [0-9A-F]{2})*⟩)+")
KEPT = "\n\r\t"  # pages draw signs for these characters


def shown_bytes(raw: bytes) -> str:
    """The text of some bytes; their numbers where they are no whole characters, or control characters."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if text and all(character.isprintable() or character in KEPT for character in text):
        return text
    return f"⟨{raw.hex(' ').upper()}⟩"


def is_bytes(text: str) -> bool:
    """Whether a text is one or several results of `shown_bytes` without a whole character."""
    return BYTES.fullmatch(text) is not None


def whole_characters(text: str) -> str:
    """Replace bytes that stand side by side by the characters that they form together."""
    return BYTES.sub(lambda match: joined(match[0]), text)


def joined(text: str) -> str:
    shown = shown_bytes(bytes.fromhex(re.sub("[⟨⟩ ]+", " ", text)))
    return text if is_bytes(shown) else shown
