"""How each choice is written in a link. Names and ids in links never change; labels may."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from model.interventions import Intervention
from viz_app.content.catalogues import offered_languages
from viz_app.content.shared import CHOICES

__all__ = ["FORMS", "MAX_IN_URL", "OLD_TABS", "Form", "fits_into_a_link", "write_forced"]

MAX_IN_URL = 2_000  # characters of one choice in a URL; servers accept about 8,000 for a whole URL


@dataclass(frozen=True)
class Form:
    """How one choice is written in a URL. `read` returns None for a text that makes no sense."""

    read: Callable[[str], object | None]
    write: Callable[[Any], str] = str


def read_switch(text: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())


def read_whole_number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else None


def read_fraction(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,3}(\.\d{1,4})?", text, re.ASCII) else None


def read_language(text: str) -> str | None:
    return text if text in offered_languages() else None


def read_forced(text: str) -> tuple[tuple[int, int], ...] | None:
    """`Forced` from `position.token`, joined by "-"."""
    if not re.fullmatch(r"\d{1,4}\.\d{1,7}(-\d{1,4}\.\d{1,7})*", text, re.ASCII):
        return None
    return tuple((int(at), int(token)) for at, _, token in (part.partition(".") for part in text.split("-")))


def write_forced(forced: Iterable[tuple[int, int]]) -> str:
    return "-".join(f"{at}.{token}" for at, token in forced)


def read_intervention(text: str) -> Intervention | None:
    try:
        return Intervention.from_code(text)
    except ValueError:
        return None


# Old links name tabs by their labels of that time. A tab keeps its id here when its label changes.
OLD_TABS = {
    "One head": "head",
    "Every station": "stations",
    "What each layer would say": "layers",
    "Why this word?": "why",
    "Read or guessed?": "read",
    "Ablation board": "board",
    "What heads do": "roles",
    "Importance": "importance",
    "Alignment": "alignment",
    "Paste a head": "paste",
    "As it should be": "right",
    "Bug lab": "bugs",
    "The matrix": "matrix",
    "Waves and counters": "waves",
    "Distances and rotation": "distances",
    "In a sentence": "sentence",
    "Model card": "card",
    "Training curves": "curves",
    "Parameters": "parameters",
    "Configuration": "configuration",
}
TEXT, WHOLE_NUMBER, FRACTION = Form(str), Form(read_whole_number), Form(read_fraction)
SWITCH = Form(read_switch, lambda value: str(value).lower())
TAB = Form(lambda text: OLD_TABS.get(text, text))
FORM_NAMES = {
    "text": TEXT,  # of a lesson: an unknown step gets a sentence
    "tab": TAB,
    "number": WHOLE_NUMBER,
    "fraction": FRACTION,
    "switch": SWITCH,
    "language": Form(read_language),
    "forced": Form(read_forced, write_forced),
    "intervention": Form(read_intervention, Intervention.code),
}
# Every choice that follows a visitor and stands in a link, by the key of its widget.
FORMS: dict[str, Form] = {name: FORM_NAMES[choice["form"]] for name, choice in CHOICES.items()}


def fits_into_a_link(text: str) -> bool:
    return len(quote(text)) <= MAX_IN_URL
