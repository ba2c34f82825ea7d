"""Errors whose message is a template and its values, so that an interface can word them in another language.

`str(error)` is the English sentence. `model/` knows no other language.
"""

import re
from collections.abc import Mapping
from typing import TypeVar

__all__ = ["N_", "MessageError", "fill"]

Texts = TypeVar("Texts")

PLACEHOLDER = re.compile(r"\{([a-z]\w*)\}")


def fill(template: str, values: Mapping[str, object]) -> str:
    """Replace each `{name}` by its value. Other braces, such as those of a formula, stay."""
    return PLACEHOLDER.sub(lambda match: str(values[match[1]]) if match[1] in values else match[0], template)


def N_(texts: Texts, /) -> Texts:  # noqa: N802 - the name that gettext uses
    """Mark a text, or every text inside a table, for translation. Return it unchanged; an interface translates it."""
    return texts


class MessageError(Exception):
    """The base of the errors that a visitor reads.

    A value is text, a number, or another such error, which is worded in the same language.
    """

    def __init__(self, template: str = "", /, **values: object) -> None:
        """
        Args:
            template: The English sentence with a `{name}` for each value, or a complete sentence without values.
            values: Name → value.
        """
        super().__init__(fill(template, values))
        self.template, self.values = template, values
