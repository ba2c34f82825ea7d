"""Pickles that contain only dictionaries, lists, texts and numbers, such as nanoGPT's `meta.pkl`."""

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any, NoReturn

from model.messages import Message

__all__ = ["read_plain_pickle"]

MAX_STEPS = 400_000
# The steps of a pickle that build such values.
PLAIN = frozenset(
    (
        *("PROTO", "FRAME", "STOP", "MARK", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
        *("EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "LIST", "APPEND", "APPENDS"),
        *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "NONE", "NEWTRUE", "NEWFALSE"),
        *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "INT", "BININT", "BININT1", "BININT2", "BINFLOAT"),
    )
)


class PlainUnpickler(pickle.Unpickler):
    """Builds no object of any class."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise ValueError(f"it names {module}.{name}")


def read_plain_pickle(path: Path, *, max_bytes: int) -> Any:
    """The values in a pickle. No code in it is run.

    Args:
        path: Of the file.
        max_bytes: How large it may be.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is larger, it is damaged, or it contains anything else.
    """
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(Message("{file} is larger than {limit} MB.", file=path.name, limit=f"{max_bytes / 1e6:,.0f}"))
    try:
        require_plain_steps(data)
        return PlainUnpickler(io.BytesIO(data)).load()
    except Exception as error:  # a damaged pickle fails in any way
        raise ValueError(
            Message(
                "{file} is damaged, or it contains more than texts and numbers. No code in it was run.", file=path.name
            )
        ) from error


def require_plain_steps(data: bytes) -> None:
    """Raises ValueError if a step of a pickle may build anything else, or take memory without end."""
    for count, (step, argument, _) in enumerate(pickletools.genops(data)):
        # Values are kept in an array. One in a far place would reserve memory up to there.
        far = step.name.endswith("PUT") and int(str(argument)) > MAX_STEPS
        if step.name not in PLAIN or far or count > MAX_STEPS:
            raise ValueError(f"step {count} is {step.name} {argument}")
