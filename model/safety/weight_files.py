"""The weights of a folder: the names and shapes in all its files, without reading a weight."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open

from model.files import CheckpointError
from model.messages import first_line
from model.safety.folder_files import why_no_weights
from model.safety.json_files import MAX_INDEX_BYTES, read_json
from model.safety.torch_files import read_state_dict

__all__ = ["Header", "files_of_weights", "read_header"]


@dataclass(frozen=True, kw_only=True)
class Header:
    """The names and shapes of the tensors in a folder's files."""

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def num_weights(self) -> int:
        """How many numbers all tensors hold."""
        return sum(math.prod(shape) for shape in self.shapes.values())


def read_header(folder: Path) -> Header:
    """Read the names and shapes of a folder's weights, from safetensors files or else from those of `torch.save`.

    Raises:
        CheckpointError: there are no weights, a file is damaged, or an index names a file outside the folder.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for file in files_of_weights(folder):
        if file.suffix == ".bin":
            shapes |= {name: tuple(tensor.shape) for name, tensor in read_state_dict(file).items()}
            continue
        try:
            with safe_open(file, framework="np") as opened:
                shapes |= {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise CheckpointError(
                "{file} of {folder} is damaged ({error}). Copy it again.",
                file=file.name,
                folder=folder.name,
                error=error,
            ) from error
    return Header(shapes=shapes)


def files_of_weights(folder: Path) -> list[Path]:
    """The files of a folder's weights: safetensors, or else those of `torch.save`.

    Raises:
        CheckpointError: there are no weights, or an index is damaged or names a file outside the folder.
    """
    files = weight_files(folder, "model.safetensors") or weight_files(folder, "pytorch_model.bin")
    if not files:
        raise CheckpointError(why_no_weights(folder.name, sorted(path.name for path in folder.iterdir())))
    return files


def weight_files(folder: Path, name: str) -> list[Path]:
    """The file `name`, or the files in its index; an empty list where the folder has neither.

    Raises:
        CheckpointError: the index is damaged, or it names a file outside the folder.
    """
    whole, index = folder / name, folder / f"{name}.index.json"
    if whole.is_file():
        return [whole]
    if not index.is_file():
        return []
    try:
        names = set(read_json(index, max_bytes=MAX_INDEX_BYTES)["weight_map"].values())
        outside = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            "{index} of {folder} cannot be used: {problem}",
            index=index.name,
            folder=folder.name,
            problem=first_line(error),
        ) from error
    if outside:
        raise CheckpointError(
            "{index} of {folder} names files that are not in the folder: {files}. Copy them into it.",
            index=index.name,
            folder=folder.name,
            files=", ".join(sorted(outside)[:4]),
        )
    return sorted(folder / name for name in names)
