"""The files of a folder from outside: what an upload keeps, where a checkpoint is, and why there is none.

The files are judged by their names, before any of them is read. The message says what was found, and what to do.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath

from model.files import CheckpointError
from model.messages import N_, Message

__all__ = [
    "DESCRIPTIONS",
    "WEIGHTS",
    "checkpoint_folder",
    "inner_folder",
    "is_hidden",
    "is_kept",
    "is_of_atlas",
    "of_another_program",
    "places_in",
    "require_whole_files",
    "unused_files",
    "why_no_checkpoint",
    "why_no_weights",
]

DESCRIPTIONS = ("config.json", "headlight.toml")
DESCRIBED = (".pt", ".pth", ".ckpt", ".th", ".pkl", ".tar")  # what a tutorial's code saves
WEIGHTS = (".safetensors", ".bin", *DESCRIBED)
SURELY_WEIGHTS = (".safetensors", ".pt", ".pth", ".ckpt", ".gguf")  # other files may have the other endings too
# Settings, vocabularies of all families, templates, cards and tables. Nothing in them runs.
TEXTS = (
    *(".json", ".txt", ".model", ".spm", ".jinja", ".toml", ".md", ".csv", ".tsv"),
    *(".codes", ".bpe", ".vocab", ".dict", ""),
)
# What a training run keeps to continue. It is larger than the model, and nothing here reads it.
TRAINING = re.compile(r"(optimizer|scheduler|scaler|training_args|rng_state|random_states|trainer_state)[\w-]*\.\w+")
ATLAS = re.compile(r"atlas/[\w-]+\.(json|npy|parquet)")  # the files of an atlas, see `model/atlas/store.py`
SUBFOLDERS = ("atlas", "snapshots", "training", "additional_chat_templates")  # that something reads
MAX_POINTER, POINTER = 1024, b"version https://git-lfs.github.com/spec/"
DEPTH, MOST_FILES = 3, 10_000  # of a folder that is searched
# Weights of other programs: the end of a file's name → what it is, and how to get a folder that opens.
OTHER_PROGRAMS: Mapping[str, str] = {
    "adapter_config.json": N_(
        "{name} holds a LoRA adapter, which only changes another model. Merge them: "
        '`PeftModel.from_pretrained(base, "FOLDER").merge_and_unload().save_pretrained("merged")`. Save the '
        "tokenizer there too, and open that folder."
    ),
    ".gguf": N_(
        "{file} is in the format GGUF of llama.cpp. Open the folder from which it was made, or unpack it: "
        '`AutoModelForCausalLM.from_pretrained("FOLDER", gguf_file="{file}").save_pretrained("unpacked")`.'
    ),
    ".h5": N_(
        "{file} holds weights of TensorFlow. With transformers 4, "
        '`AutoModel.from_pretrained("FOLDER", from_tf=True).save_pretrained("FOLDER")` writes them for PyTorch. '
        "In place of AutoModel, write the one of your task, such as AutoModelForCausalLM."
    ),
    ".msgpack": N_(
        "{file} holds weights of Flax. With transformers 4, "
        '`AutoModel.from_pretrained("FOLDER", from_flax=True).save_pretrained("FOLDER")` writes them for PyTorch. '
        "In place of AutoModel, write the one of your task, such as AutoModelForCausalLM."
    ),
    ".onnx": N_(
        "{file} is an ONNX graph. It does not keep the parts of the model apart. Open the folder from which it "
        "was exported, which `model.save_pretrained` writes."
    ),
    ".ot": N_("{file} holds weights for Rust. Open the folder from which it was made."),
    ".index": N_(
        "{file} belongs to a checkpoint of TensorFlow 1. Convert it to PyTorch with transformers 4, and open the "
        "folder that `model.save_pretrained` writes."
    ),
}


def is_kept(name: str) -> bool:
    """Whether a file of this name may be a part of a checkpoint."""
    path = PurePosixPath(name)
    return path.suffix.lower() in (*WEIGHTS, *TEXTS) and not TRAINING.fullmatch(path.name)


def is_of_atlas(name: str) -> bool:
    """Whether a file of this name in the folder of a checkpoint may be a part of its atlas."""
    return ATLAS.fullmatch(name) is not None


def is_hidden(name: str) -> bool:
    """Whether an operating system or a version control added this file."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def checkpoint_folder(folder: Path) -> Path:
    """The folder, or its only subfolder with a checkpoint where it has none itself.

    Raises:
        CheckpointError: there is no checkpoint, or several. The message says what was found, and what to do.
    """
    if not folder.is_dir():
        raise CheckpointError("There is no folder {folder}.", folder=folder)
    if any((folder / name).exists() for name in DESCRIPTIONS):
        return folder
    return folder / inner_folder(folder.name, names_in(folder))


def places_in(folder: Path) -> Iterator[Path]:
    """The subfolders that are a checkpoint, or have exactly one inside, or hold weights that do not open."""
    for place in sorted(path for path in folder.glob("*/") if not path.name.startswith((".", "models--"))):
        if any((place / name).exists() for name in DESCRIPTIONS):
            yield place
        elif len(inner := {path.parent for name in DESCRIPTIONS for path in place.glob(f"*/{name}")}) == 1:
            yield inner.pop()
        elif any(path.suffix in SURELY_WEIGHTS for path in place.glob("*")):
            yield place  # opening it says why it does not open


def inner_folder(title: str, names: Sequence[str], *, may_lack_description: bool = False) -> str:
    """The place of the only checkpoint among files; "." for the folder itself.

    Args:
        title: Names the files in a message.
        names: Of the files, with subfolders, separated by "/".
        may_lack_description: Whether weights of a tutorial, which their names may describe, are a checkpoint too.

    Raises:
        CheckpointError: there is no checkpoint, or several. The message says what was found, and what to do.
    """
    described = sorted({parent(name) for name in names if PurePosixPath(name).name in DESCRIPTIONS})
    weighted = {parent(name) for name in names if is_kept(name) and name.endswith(WEIGHTS)}
    outer = [place for place in described if not {*map(str, PurePosixPath(place).parents)} & {*described}]
    found = [place for place in outer if place in weighted] or outer
    if len(found) == 1:
        return found[0]
    if found:
        raise CheckpointError(
            "{name} has no config.json or headlight.toml, and several of its folders have one: {folders}. Choose one "
            "of these folders.",
            name=title,
            folders=", ".join(found[:4]),
        )
    if may_lack_description and len(weighted) == 1 and not of_another_program(title, names):
        return weighted.pop()
    raise CheckpointError(why_no_checkpoint(title, names))


def parent(name: str) -> str:
    return str(PurePosixPath(name).parent)


def names_in(folder: Path) -> list[str]:
    """The names of the files in a folder and in its subfolders, down to `DEPTH`."""
    paths: Iterable[Path] = (path for depth in range(DEPTH) for path in folder.glob("*/" * depth + "*"))
    names = [path.relative_to(folder).as_posix() for path in islice(paths, MOST_FILES) if path.is_file()]
    return sorted(name for name in names if not is_hidden(name))


def unused_files(folder: Path, weights: Collection[str]) -> tuple[str, ...]:
    """The names of the files in a checkpoint's folder that nothing reads.

    Args:
        folder: Of the checkpoint.
        weights: Names of the files from which its weights are read.
    """
    return tuple(name for name in names_in(folder) if not is_read(name, weights))


def is_read(name: str, weights: Collection[str]) -> bool:
    top, slash, _ = name.partition("/")
    if slash:
        return top in SUBFOLDERS
    return is_kept(name) and (name in weights or not name.endswith(WEIGHTS))


def require_whole_files(folder: Path) -> None:
    """Raises CheckpointError if a file is only the pointer that Git keeps in the place of a large file."""
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.stat().st_size <= MAX_POINTER and path.read_bytes().startswith(POINTER):
                raise CheckpointError(
                    "{file} of {folder} is not the file itself but a pointer of Git LFS. Run `git lfs pull` in the "
                    "folder, or download the file.",
                    file=path.name,
                    folder=folder.name,
                )


def why_no_checkpoint(name: str, names: Sequence[str]) -> Message:
    """Why files without `config.json` and `headlight.toml` are no checkpoint.

    Args:
        name: Of the folder or the archive.
        names: Of the files, with subfolders.
    """
    if not names:
        return Message("{name} is empty. Choose the folder that holds config.json and the weights.", name=name)
    if (other := of_another_program(name, names)) is not None:
        return other
    if archive := file_with(names, (".zip",)):
        return Message(
            "{name} has no config.json or headlight.toml. The archive {archive} is inside it. Unpack it first.",
            name=name,
            archive=archive,
        )
    if file := file_with(names, DESCRIBED):
        return Message(
            "{name} has weights, {file}, and no file that describes them. Write a headlight.toml for weights of your "
            "own Transformer. For a model of transformers, save the whole folder with `model.save_pretrained` and "
            "`tokenizer.save_pretrained`.",
            name=name,
            file=file,
        )
    if file := file_with(names, (".safetensors", ".bin")):
        return Message(
            "{name} has weights, {file}, and no config.json. Add config.json and the tokenizer from the folder of the "
            "model. `model.save_pretrained` and `tokenizer.save_pretrained` write them.",
            name=name,
            file=file,
        )
    return Message(
        "{name} is not a checkpoint: it has no config.json, no headlight.toml and no weights. Choose the folder that "
        "holds them.",
        name=name,
    )


def why_no_weights(name: str, names: Sequence[str]) -> Message:
    """Why a folder with `config.json` has no weights that open.

    Args:
        name: Of the folder.
        names: Of its files.
    """
    if (other := of_another_program(name, names)) is not None:
        return other
    if file := file_with(names, WEIGHTS):
        return Message(
            "{name} has no weights: it has neither model.safetensors nor pytorch_model.bin. If {file} holds the "
            "weights of this config.json, give it one of these names.",
            name=name,
            file=file,
        )
    return Message("{name} has no weights: it has neither model.safetensors nor pytorch_model.bin.", name=name)


def of_another_program(name: str, names: Sequence[str]) -> Message | None:
    """The message for weights that another program reads; None without such weights."""
    for end, sentence in OTHER_PROGRAMS.items():
        if file := file_with(names, (end,)):
            return Message(sentence, name=name, file=file)
    return None


def file_with(names: Sequence[str], ends: tuple[str, ...]) -> str:
    """The first file whose name ends in one of these ways; "" without one."""
    return next((PurePosixPath(name).name for name in names if name.lower().endswith(ends)), "")
