"""A folder of Hugging Face's `transformers` as the library can read it."""

import codecs
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from transformers import CONFIG_MAPPING

from model.files import CheckpointError
from model.foreign.architecture import library_class
from model.safety.errors import first_line
from model.safety.json_files import MAX_VOCABULARY_BYTES, read_text
from model.safety.sizes import read_config_json
from model.safety.weight_files import read_header

__all__ = ["readable"]

TEXTS = (".json", ".txt", ".jinja", ".codes", ".vocab")
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # the library would read them as text


@contextmanager
def readable(folder: Path) -> Iterator[Path]:
    """The folder itself; or a temporary one with links to its files, where a text begins with a byte order mark or
    `config.json` names no family. The library cannot read such files.

    Raises:
        CheckpointError: a text is UTF-16, or the family is not known.
    """
    changed = {**texts_without_marks(folder), **config_with_family(folder)}
    if not changed:
        yield folder
        return
    with TemporaryDirectory() as home:
        copy = Path(home) / folder.name
        copy.mkdir()
        for path in folder.iterdir():
            if path.name in changed:
                (copy / path.name).write_bytes(changed[path.name].encode())
            else:
                (copy / path.name).symlink_to(path.resolve())
        yield copy


def texts_without_marks(folder: Path) -> dict[str, str]:
    """Name → text of the files that begin with a byte order mark."""
    found = {}
    for path in folder.iterdir():
        if path.suffix not in TEXTS or not path.is_file():
            continue
        with path.open("rb") as file:
            marked = file.read(3).startswith(MARKS)
        if marked:
            try:
                found[path.name] = read_text(path, max_bytes=MAX_VOCABULARY_BYTES)
            except ValueError as error:
                raise CheckpointError(
                    "{folder} cannot be opened: {problem}", folder=folder.name, problem=first_line(error)
                ) from error
    return found


def config_with_family(folder: Path) -> dict[str, str]:
    """The name and the text of a `config.json` without `model_type`, with it; empty where the file names it."""
    values = read_config_json(folder)
    if "model_type" in values:
        return {}
    return {"config.json": json.dumps({**values, "model_type": family_of(values, folder)})}


def family_of(values: Mapping[str, object], folder: Path) -> str:
    """The family of a model: of the class that its configuration names, or else the prefix of its weights.

    Raises:
        CheckpointError: neither is a family of the library.
    """
    named = values.get("architectures")
    kind = library_class(str(named[0])) if isinstance(named, list) and named else None
    if kind is not None and kind.config_class is not None:
        return str(kind.config_class.model_type)
    families = {family.replace("-", "_"): family for family in CONFIG_MAPPING}
    with suppress(CheckpointError):
        for name in read_header(folder).shapes:
            if family := families.get(name.partition(".")[0]):
                return str(family)
    raise CheckpointError(
        'config.json of {folder} does not say which model it describes. Add its family, such as "model_type": "bert".',
        folder=folder.name,
    )
