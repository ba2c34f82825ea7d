"""What comes from outside is text: a token, a link, a label or the card of a checkpoint that others made."""

import re

__all__ = ["card", "plain", "visible"]


def visible(text: str) -> str:
    """The text in one line, its breaks and tabs as signs."""
    return text.replace("\r", "␍").replace("\n", "↵").replace("\t", "⇥")


def plain(text: str) -> str:
    """The text for Markdown, so for every caption, message and label, where it then stands as it is."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", visible(text))


def card(markdown: str) -> str:
    """A model card whose pictures are links, as a picture asks another host, and whose code is not run as a diagram."""
    without_pictures = markdown.replace("![", "!\u200b[")
    return re.sub(r"^([\s>*+\-\d.]*(?:`{3,}|~{3,}))[^`\n]*$", r"\1", without_pictures, flags=re.MULTILINE)
