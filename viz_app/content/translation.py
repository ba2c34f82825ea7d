"""The words of the interface in the language of the visitor.

The English text is the key. `t("Layer {n}", n=2)` finds its translation in the catalogues of `locale/`, and then fills
in the values. Without a translation it returns the English text. Values are text, never markup: what comes from outside
passes `plain` or `escape` first, as it does without a translation.

The language belongs to the visitor, and visitors share a process. So nothing is translated while a module is imported:
`N_` marks the texts of a constant, and `t` translates them where they are shown.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from model.messages import N_, Message, MessageError, fill, message_of
from viz_app.content.catalogues import ENGLISH, catalogue

__all__ = [
    "N_",
    "Message",
    "MessageError",
    "ask_visitor",
    "in_language",
    "language",
    "t",
    "tn",
    "tp",
    "use_language",
    "worded",
]

USED: ContextVar[str | None] = ContextVar("language", default=None)
ask: list[Callable[[], str]] = []  # at most one: how a thread that has no language yet finds it


def ask_visitor(of_visitor: Callable[[], str]) -> None:
    """Let this function find the language where nobody has set it: in a fragment, which runs without the router."""
    ask[:] = [of_visitor]


def use_language(code: str) -> None:
    """Use this language in this thread from now on."""
    USED.set(code)


@contextmanager
def in_language(code: str) -> Iterator[None]:
    """Use this language inside a `with` block."""
    before = USED.set(code)
    try:
        yield
    finally:
        USED.reset(before)


def language() -> str:
    """The language of this visitor, one of `LANGUAGES`."""
    return USED.get() or (ask[0]() if ask else ENGLISH)


def t(text: str, /, **values: object) -> str:
    """The translation of a text, with its values.

    Args:
        text: English, with a `{name}` for each value.
        values: Name → value. Format numbers with `numbers.py` first.
    """
    return fill(catalogue(language()).text(text), values)


def tn(one: str, many: str, /, *, n: int, **values: object) -> str:
    """The translation of a text that counts something, in the form for `n`.

    Args:
        one: English for one, such as "{n} head".
        many: English for any other number, such as "{n} heads".
        n: The number. It is a value too.
        values: The other values.
    """
    return fill(catalogue(language()).counted(one, many, n), {"n": n, **values})


def tp(context: str, text: str, /, **values: object) -> str:
    """As `t`, for a text with several meanings.

    Args:
        context: Which meaning, such as "verb".
        text: As for `t`.
        values: As for `t`.
    """
    return fill(catalogue(language()).text(text, context), values)


def worded(message: Exception | str) -> str:
    """A message or an error of `model/` in the language of the visitor."""
    if isinstance(message, Exception):
        message = message_of(message) or message
    if not isinstance(message, Message):
        return t(message) if isinstance(message, str) else str(message)
    shown = {name: worded(v) if isinstance(v, Exception | Message) else v for name, v in message.values.items()}
    return t(message.template, **shown)
