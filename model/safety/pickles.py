"""Pickles from outside. A pickle may run code, so its steps are read first, and what is built is checked.

A file of `torch.save` builds only tensors here. The names in its pickle tell why it is no state dict, and how to save
one. A pickle such as nanoGPT's `meta.pkl` builds only dictionaries, lists, texts and numbers.
"""

import io
import pickle
import pickletools
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from model.files import CheckpointError
from model.messages import N_, Message

__all__ = ["read_plain_pickle", "require_harmless_file", "why_no_state_dict"]

MAX_BYTES, MAX_STEPS, PROTOCOL = 4 << 20, 400_000, 2  # of a pickle; enough for about 10,000 tensors
PARTS = 5  # pickles before PyTorch 1.6: a magic number, a version, the system, the tensors, the keys of their storages
# What the pickle of a state dict may build. PyTorch allows more, and some of that takes memory without end.
HARMLESS = re.compile(
    r"collections (OrderedDict|Counter)|torch(\.storage)? \w+Storage|torch (Size|device|b?float\d+|u?int\d+|bool)"
    r"|torch\._utils _rebuild_(tensor|tensor_v2|parameter)"
)
TENSORS = re.compile(r"collections \w+|torch(\.storage|\._utils)? \w+")
# An object of these modules may start programs. Nobody should be advised to load it.
HARMFUL = re.compile(
    r"(os|posix|nt|subprocess|sys|shutil|socket|importlib|runpy|pty|ctypes|operator)\b.*"
    r"|(builtins|__builtin__) (?!set$).*"  # every module keeps a set
)
KEYS = ("state_dict", "model_state_dict", "model_state", "model", "net", "ema", "weights")  # of a saved dict
KINDS = {  # what a class that the pickle names begins with → what it is
    "argparse Namespace": N_("a Namespace"),
    "numpy": N_("numbers of numpy"),
}
# The steps of a pickle that build such values.
PLAIN = frozenset(
    (
        *("PROTO", "FRAME", "STOP", "MARK", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
        *("EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "LIST", "APPEND", "APPENDS"),
        *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "NONE", "NEWTRUE", "NEWFALSE"),
        *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "INT", "BININT", "BININT1", "BININT2", "BINFLOAT"),
    )
)


def steps(data: bytes | BinaryIO) -> Iterator[tuple[str, Any]]:
    """The name and the argument of each step of a pickle.

    Raises:
        ValueError: it has too many steps, or it is damaged.
    """
    for count, (step, argument, _) in enumerate(pickletools.genops(data)):
        if count > MAX_STEPS:
            raise ValueError("it has more steps than a state dict.")
        yield step.name, argument


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
        for name, argument in steps(data):
            # Values are kept in an array. One in a far place would reserve memory up to there.
            if name not in PLAIN or (name.endswith("PUT") and int(argument) > MAX_STEPS):
                raise ValueError(f"it has a step {name} {argument}")
        return PlainUnpickler(io.BytesIO(data)).load()
    except Exception as error:  # a damaged pickle fails in any way
        raise ValueError(
            Message(
                "{file} is damaged, or it contains more than texts and numbers. No code in it was run.", file=path.name
            )
        ) from error


def require_harmless_file(path: Path) -> bool:
    """Refuse a file of `torch.save` that is compressed, or that builds more than tensors.

    Returns:
        Whether the file is an archive, which PyTorch can map into memory. Files from before PyTorch 1.6 are not.

    Raises:
        CheckpointError: the file is compressed.
        ValueError, KeyError, zipfile.BadZipFile: it is damaged, or it builds more than tensors.
    """
    archived = zipfile.is_zipfile(path)
    if archived:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
        if any(member.filename.endswith("/constants.pkl") for member in members):
            raise ValueError("it is a TorchScript program.")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise CheckpointError(
                "{path} is compressed. Save it again with torch.save, without compression.", path=path.name
            )
    parts = 0
    for content in pickles_of(path):
        parts += 1
        for name, argument in steps(content):
            if name in ("GLOBAL", "INST") and not HARMLESS.fullmatch(str(argument)):
                raise ValueError(f"it names {argument}.")
            if name in ("STACK_GLOBAL", "EXT1", "EXT2", "EXT4"):
                raise ValueError("it names an object that cannot be checked.")
    if not archived and parts < PARTS:
        raise ValueError("it is cut off.")
    return archived


def pickles_of(path: Path) -> Iterator[bytes | BinaryIO]:
    """The pickles of a file of `torch.save`. Each must be read to its end before the next one.

    Raises:
        ValueError: an archive has not exactly one.
    """
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            # PyTorch reads only one, and its search ignores upper and lower case.
            found = [member for member in archive.infolist() if member.filename.lower().endswith("data.pkl")]
            if len(found) != 1:
                raise ValueError(f"it holds {len(found)} pickles.")
            with archive.open(found[0]) as opened:
                yield opened.read(MAX_BYTES)
        return
    with path.open("rb") as file:
        for _ in range(PARTS):
            yield file
            if file.peek(1)[:1] != b"\x80":
                return


def why_no_state_dict(path: Path) -> Message:
    """The sentence for a file that holds more than tensors, or that is damaged."""
    names, texts, newer = list[str](), list[str](), False
    try:
        for kind, value in parts_of(path):
            newer = newer or (kind == "protocol" and int(value) > PROTOCOL)
            names += [value] if kind == "name" and not TENSORS.fullmatch(value) else []
            texts += [value] if kind == "text" else []
    except (OSError, ValueError, IndexError, KeyError, UnicodeDecodeError, zipfile.BadZipFile):
        names = []  # what was found in a damaged file is of no use
    if newer and not names:
        return Message(
            "{path} is saved with a newer pickle protocol. Save it again with torch.save, without pickle_protocol.",
            path=path.name,
        )
    if not names or any(HARMFUL.fullmatch(name) for name in names):
        return Message(
            "{path} is damaged, or it contains more than tensors. No code in it was run. Get it again from a source "
            "that you trust, or save only the weights: `torch.save(model.state_dict(), path)`.",
            path=path.name,
        )
    key = next((key for key in KEYS if key in texts), KEYS[0])
    return why_refused(path.name, names, key, whole={"_modules", "_parameters"} <= {*texts})


def why_refused(file: str, names: Sequence[str], key: str, *, whole: bool) -> Message:
    if any(name.startswith("__torch__") for name in names):
        return Message(
            "{file} is a TorchScript program. Save its weights alone: "
            '`torch.save(torch.jit.load("{file}").state_dict(), "weights.pt")`.',
            file=file,
        )
    if whole:
        return Message(
            "{file} holds a whole model ({kind}) and not only its weights. Its code would have to run. Save the "
            'weights alone where you trained it: `torch.save(model.state_dict(), "weights.pt")`.',
            file=file,
            kind=names[0].replace(" ", "."),
        )
    kinds = (Message(kind) for begin, kind in KINDS.items() if names[0].startswith(begin))
    return Message(
        "{file} holds {kind} beside the weights, and only tensors are read. If you trust the file, save the weights "
        'alone: `torch.save(torch.load("{file}", weights_only=False)["{key}"], "weights.pt")`.',
        file=file,
        kind=next(kinds, names[0].replace(" ", ".")),
        key=key,
    )


def parts_of(path: Path) -> Iterator[tuple[str, str]]:
    """What the pickles of a file say: ("name", a class), ("text", a text) and ("protocol", a number)."""
    for content in pickles_of(path):
        before = ["", ""]  # the last two texts: a module and the name of its class
        for step, argument in steps(content):
            if step in ("GLOBAL", "INST"):
                yield "name", str(argument)
            elif step == "STACK_GLOBAL":
                yield "name", " ".join(before)
            elif step == "PROTO":
                yield "protocol", str(argument)
            elif isinstance(argument, str):
                before = [before[1], argument]
                yield "text", argument
