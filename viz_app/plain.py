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
    """A model card whose pictures are links, as a picture asks another host, whose code is not run as a diagram, and
    whose headings are below those of the page.
    """
    without_pictures = markdown.replace("![", "!\u200b[")
    text = re.sub(r"^([\s>*+\-\d.]*(?:`{3,}|~{3,}))[^`\n]*$", r"\1", without_pictures, flags=re.MULTILINE)
    return lowered(text)


CODE = re.compile(r"(^[ >]*(?:`{3,}|~{3,}).*?(?:^[ >]*(?:`{3,}|~{3,})|\Z))", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6}(?= )", re.MULTILINE)


def lowered(markdown: str) -> str:
    """Its highest heading becomes one of the third level; what is code is no heading."""
    parts = CODE.split(markdown)
    parts[::2] = [re.sub(r"^(\S.*)\n=+ *$", r"# \1", part, flags=re.MULTILINE) for part in parts[::2]]
    highest = min((len(signs) for part in parts[::2] for signs in HEADING.findall(part)), default=3)
    more = "#" * max(0, 3 - highest)
    parts[::2] = [HEADING.sub(lambda signs: (signs[0] + more)[:6], part) for part in parts[::2]]
    return "".join(parts)
