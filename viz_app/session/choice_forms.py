"""How each choice is written in a link. Names and ids in links never change; labels may."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from model.interventions import Intervention
from viz_app.content.catalogues import offered_languages
from viz_app.content.shared import CHOICES

__all__ = ["FORMS", "MAX_IN_URL", "OLD_TABS", "Form", "fits_into_a_link", "read_texts", "write_forced"]

MAX_IN_URL = 2_000  # characters of one choice in a URL; servers accept about 8,000 for a whole URL


@dataclass(frozen=True)
class Form:
    """How one choice is written in a URL. `read` returns None for a text that makes no sense."""

    read: Callable[[str], object | None]
    write: Callable[[Any], str] = str


def matching(pattern: str, convert: Callable[[str], object]) -> Callable[[str], object | None]:
    """How a text of this pattern is read; None for another text."""
    return lambda text: convert(text) if re.fullmatch(pattern, text, re.ASCII) else None


def read_forced(text: str) -> tuple[tuple[int, int], ...]:
    """`Forced` from `position.token`, joined by "-"."""
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
SWITCHED = {"true": True, "1": True, "false": False, "0": False}
FORM_NAMES = {
    "text": Form(str),
    "tab": Form(lambda text: OLD_TABS.get(text, text)),
    "number": Form(matching(r"\d{1,9}", int)),
    "fraction": Form(matching(r"\d{1,3}(\.\d{1,4})?", float)),
    "switch": Form(lambda text: SWITCHED.get(text.lower()), lambda value: str(value).lower()),
    "language": Form(lambda text: text if text in offered_languages() else None),
    "forced": Form(matching(r"\d{1,4}\.\d{1,7}(-\d{1,4}\.\d{1,7})*", read_forced), write_forced),
    "intervention": Form(read_intervention, Intervention.code),
}
# Every choice that follows a visitor and stands in a link, by the key of its widget.
FORMS: dict[str, Form] = {name: FORM_NAMES[choice["form"]] for name, choice in CHOICES.items()}


def read_texts(written: Mapping[str, str]) -> dict[str, Any]:
    """The choices by name that these texts of a link mean. What no choice could be is left out."""
    values = {name: FORMS[name].read(text) for name, text in written.items() if name in FORMS}
    return {name: value for name, value in values.items() if value is not None}


def fits_into_a_link(text: str) -> bool:
    return len(quote(text)) <= MAX_IN_URL
