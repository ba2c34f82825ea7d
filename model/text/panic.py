"""An error of the tokenizers library that is no `Exception`: its Rust code ends with a panic. Here it becomes one."""

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["TokenizerPanicError", "panics_as_errors"]


class TokenizerPanicError(Exception):
    """The library failed at something that it did not expect."""


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise `TokenizerPanicError` in the place of a panic; what else is raised passes."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the library does not export it
            raise
        raise TokenizerPanicError(str(error)) from None
