"""What comes from outside is text: a token, a link, a label or the card of a checkpoint that others made."""

import re

__all__ = ["as_sentence", "card", "percent", "plain", "visible"]


def visible(text: str) -> str:
    """The text in one line, its breaks and tabs as signs."""
    return text.replace("\r", "␍").replace("\n", "↵").replace("\t", "⇥")


def plain(text: str) -> str:
    """The text for Markdown, so for every caption, message and label, where it then stands as it is."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", visible(text))


def as_sentence(text: str) -> str:
    """The text with a full stop, where it does not end a sentence yet."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def percent(share: float) -> str:
    """A share as text, as `common.js` writes it: "92.9 %", "0.33 %", "100 %"."""
    return "100 %" if share >= 0.9995 else f"{100 * share:.{2 if share < 0.0995 else 1}f} %"


def card(markdown: str) -> str:
    """A model card whose pictures are links, as a picture asks another host, whose code is not run as a diagram, and
    whose headings are below those of the page.
    """
    return lowered(FENCE.sub(r"\1", markdown.replace("![", "!\u200b[")))


# No pattern here may look at a part of a line twice: the card may be hostile. `*+` and `{3,}+` give nothing back.
FENCE = re.compile(r"^([ \t>*+\-\d.]*+(?:`{3,}+|~{3,}+))[^`\n]*+$", re.MULTILINE)
CODE = re.compile(r"(^[ >]*+(?:`{3,}|~{3,}).*?(?:^[ >]*+(?:`{3,}|~{3,})|\Z))", re.MULTILINE | re.DOTALL)
UNDERLINED = re.compile(r"^(\S.*+)\n=+ *+$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}(?= )", re.MULTILINE)


def lowered(markdown: str) -> str:
    """Its highest heading becomes one of the third level; what is code is no heading."""
    parts = CODE.split(markdown)
    parts[::2] = [UNDERLINED.sub(r"# \1", part) for part in parts[::2]]
    highest = min((len(signs) for part in parts[::2] for signs in HEADING.findall(part)), default=3)
    more = "#" * max(0, 3 - highest)
    parts[::2] = [HEADING.sub(lambda signs: (signs[0] + more)[:6], part) for part in parts[::2]]
    return "".join(parts)
