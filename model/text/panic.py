"""Turns a panic of the tokenizers library's Rust code, which is not an `Exception`, into an `Exception`."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["TokenizerPanicError", "panics_as_errors"]


class TokenizerPanicError(Exception):
    """The tokenizers library failed unexpectedly."""


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise `TokenizerPanicError` instead of a panic. Other exceptions pass through."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the library does not export it
            raise
        raise TokenizerPanicError(str(error)) from None
