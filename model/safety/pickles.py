"""Why a file of `torch.save` is no state dict, and how to save one: by the names in its pickle. None of it runs."""

import pickletools
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from model.messages import N_, Message

__all__ = ["why_no_state_dict"]

MAX_BYTES, MAX_STEPS, PROTOCOL = 4 << 20, 400_000, 2  # of a pickle
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


def why_no_state_dict(path: Path) -> Message:
    """The sentence for a file that holds more than tensors, or that is damaged."""
    names, texts, newer = list[str](), list[str](), False
    try:
        newer = any(pickle[1] > PROTOCOL for pickle in pickles_of(path))
        for name, text in parts_of(path):
            names += [name] if name and not TENSORS.fullmatch(name) else []
            texts += [text] if text else []
    except (OSError, ValueError, IndexError, KeyError, UnicodeDecodeError, zipfile.BadZipFile):
        names = []  # what was found in a damaged file is of no use
    if newer and not names:
        return Message(
            "{path} is saved with a newer pickle protocol. Save it again with torch.save, without pickle_protocol.",
            path=path.name,
        )
    if not names or any(HARMFUL.fullmatch(name) for name in names):
        return Message("{path} is damaged, or it contains more than tensors. No code in it was run.", path=path.name)
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
    """The names of classes and the texts in the pickles of a file, as (name, "") or ("", text)."""
    for pickle in pickles_of(path):
        before = ["", ""]  # the last two texts: a module and the name of its class
        for count, (step, argument, _) in enumerate(pickletools.genops(pickle)):
            if count > MAX_STEPS:
                raise ValueError("it has more steps than a state dict.")
            if step.name in ("GLOBAL", "INST"):
                yield str(argument), ""
            elif step.name == "STACK_GLOBAL":
                yield " ".join(before), ""
            elif isinstance(argument, str):
                before = [before[1], argument]
                yield "", argument


def pickles_of(path: Path) -> Iterator[bytes]:
    if not zipfile.is_zipfile(path):  # from before PyTorch 1.6: five pickles, one after the other
        with path.open("rb") as file:
            content = file.read(MAX_BYTES)
        while content[:1] == b"\x80":
            *_, (_, _, end) = pickletools.genops(content)
            yield content
            content = content[(end or 0) + 1 :]
        return
    with zipfile.ZipFile(path) as archive:
        (only,) = [member for member in archive.infolist() if member.filename.lower().endswith("data.pkl")]
        with archive.open(only) as opened:
            yield opened.read(MAX_BYTES)
