"""Texts and errors that remember a template and its values, so that an interface can word them in another language.

`str(error)` is the English sentence. `model/` knows no other language.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Self, TypeVar

__all__ = ["N_", "Message", "MessageError", "few", "fill", "first_line", "message_of"]

Texts = TypeVar("Texts")

LONGEST = 300  # characters of a message of another library
PLACEHOLDER = re.compile(r"\{([a-z]\w*)\}")


def fill(template: str, values: Mapping[str, object]) -> str:
    """Replace each `{name}` by its value. Other braces, such as those of a formula, stay."""
    if not values:
        return template
    return PLACEHOLDER.sub(lambda match: str(values[match[1]]) if match[1] in values else match[0], template)


def N_(texts: Texts, /) -> Texts:  # noqa: N802 - the name that gettext uses
    """Mark a text, or every text inside a table, for translation. Return it unchanged; an interface translates it."""
    return texts


class Message(str):
    """An English text that a visitor reads: a name, a fact or a reason. It remembers its template and its values."""

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str = "", /, **values: object) -> Self:
        """
        Args:
            template: English with a `{name}` for each value, or a complete text without values.
            values: Name → value: text, a number, or another message or error, which is worded in the same language.
        """
        text = super().__new__(cls, fill(template, values))
        text.template, text.values = template, values
        return text


def few(names: Sequence[str], most: int = 4) -> str:
    """The first names of a list, and how many more there are."""
    shown = ", ".join(names[:most])
    return Message("{names} and {n} more", names=shown, n=len(names) - most) if len(names) > most else shown


class MessageError(Exception):
    """The base of the errors that a visitor reads."""

    def __init__(self, template: str = "", /, **values: object) -> None:
        """
        Args:
            template: The English sentence with a `{name}` for each value, or a complete sentence, which may be a
                `Message`.
            values: As for `Message`.
        """
        self.message = template if isinstance(template, Message) else Message(template, **values)
        super().__init__(str(self.message))

    @property
    def template(self) -> str:
        return self.message.template

    @property
    def values(self) -> Mapping[str, object]:
        return self.message.values


def message_of(error: BaseException) -> Message | None:
    """The message of an error that was raised with one: a `MessageError`, or such as `ValueError(Message("…"))`."""
    if isinstance(error, MessageError):
        return error.message
    first = error.args[0] if error.args else None
    return first if isinstance(first, Message) else None


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 300 characters; the type of the error where it has no message.

    A `Message` of our own stays one, so that an interface can word it.
    """
    own = message_of(error)
    if own is not None and len(own) <= LONGEST:
        return own
    return (str(error).strip() or type(error).__name__).splitlines()[0][:LONGEST]
