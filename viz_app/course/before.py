"""What a visitor had before a lesson. The browser keeps it over a reload, and may send anything."""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from viz_app.session.choice_forms import FORMS

__all__ = ["CHOICE", "OUTSIDE", "Before", "read_before", "written_before"]

CHOICE = "lesson"
OUTSIDE = ("lang", "present")  # choices that a lesson neither sets nor restores
MOST = 20_000  # characters of one choice


@dataclass(frozen=True, kw_only=True)
class Before:
    """Where the visitor was before the lesson.

    Attributes:
        page: The name of the page.
        chosen: The choices by name. Those of `OUTSIDE` and the lesson itself are not among them.
    """

    page: str
    chosen: Mapping[str, object]


def written_before(before: Before) -> dict[str, object]:
    """The page and the choices for the browser, each choice as a link writes it."""
    return {"page": before.page, "chosen": {name: FORMS[name].write(value) for name, value in before.chosen.items()}}


def read_before(stored: object, pages: Container[str]) -> Before | None:
    """What a browser sent; None where it names no page.

    Args:
        stored: What came from the browser. A choice that no link could have is left out.
        pages: The names of all pages.
    """
    if not isinstance(stored, Mapping):
        return None
    page, chosen = stored.get("page"), stored.get("chosen")
    if not isinstance(page, str) or page not in pages or not isinstance(chosen, Mapping):
        return None
    names = [name for name in FORMS if name not in (*OUTSIDE, CHOICE)]
    texts = {name: text for name in names if isinstance(text := chosen.get(name), str) and len(text) <= MOST}
    read = {name: FORMS[name].read(text) for name, text in texts.items()}
    return Before(page=page, chosen={name: value for name, value in read.items() if value is not None})
