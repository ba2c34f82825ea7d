"""Why files are no checkpoint that opens, and what to do: by their names, before any of them is read."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from model.messages import N_, Message

__all__ = ["of_another_program", "why_no_checkpoint", "why_no_weights"]

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
DESCRIBED = (".pt", ".pth", ".ckpt", ".th", ".pkl", ".tar")  # what a tutorial's code saves


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
    return Message("{name} is not a checkpoint: it has no config.json, no headlight.toml and no weights.", name=name)


def why_no_weights(name: str, names: Sequence[str]) -> Message:
    """Why a folder with `config.json` has no weights that open.

    Args:
        name: Of the folder.
        names: Of its files.
    """
    if (other := of_another_program(name, names)) is not None:
        return other
    if file := file_with(names, (".safetensors", ".bin", *DESCRIBED)):
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
