"""Checkpoints that one visitor opens: an upload, or a folder of this computer. Other visitors do not see them.

They belong to a browser: all its tabs see them, also after a reload. An upload is in a temporary folder. The folder is
removed when the last session of this browser is forgotten, or when others need the disk space and the visitor has left.
Weights without a description are recognised, and the visitor answers what they lack.
"""

import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError, checkpoint_name
from model.checkpoints.description import write_values
from model.checkpoints.recognition import Question, answered, has_only_weights, questions_for, recognised
from model.inference.opening import read_any_config
from model.safety.folder_files import checkpoint_folder
from model.safety.sizes import require_memory
from model.safety.weight_files import read_header
from viz_app.server.addresses import LOCAL
from viz_app.server.presence import visitor
from viz_app.server.server_state import MODELS_SHARE
from viz_app.server.temporary import folder_bytes
from viz_app.server.uploads import Own, Upload, largest_upload, own_of, unpack
from viz_app.session.choices import set_choice

__all__ = [
    "add_copy",
    "add_folder",
    "add_upload",
    "answer_questions",
    "left_out_of",
    "only_this_computer",
    "open_questions",
    "own_checkpoints",
]

PENDING = "weights_to_describe"  # in the session


def own() -> Own:
    """The checkpoints of this visitor. They exist as long as a session of the visitor holds them."""
    mine = st.session_state["own_checkpoints"] = own_of(visitor())
    return mine


def own_checkpoints() -> dict[str, Path]:
    """Name → folder of this visitor's checkpoints."""
    mine = own()
    uploads = {upload.folder.name: upload.folder for upload in mine.uploads}
    return uploads | {checkpoint_name(folder): folder for folder in mine.folders}


def left_out_of(folder: Path) -> tuple[str, ...]:
    """The names of the files that were left out of this visitor's upload into a folder."""
    return next((upload.left_out for upload in own().uploads if upload.folder == folder), ())


def only_this_computer() -> bool:
    """Whether only this computer reaches the server. Then a visitor may open any folder that they can read anyway.

    Behind nginx or at a hosting service, the processes also listen only to their own computer, and others come through
    the proxy. The processes of `deploy/serve.py` know this from their environment. Elsewhere the visitor's browser
    names another host than ours, or the proxy adds a header.
    """
    headers = st.context.headers
    hosts = {urlsplit(headers.get("Origin", "")).hostname, urlsplit(f"//{headers.get('Host', '')}").hostname} - {None}
    through_proxy = {"X-Forwarded-For", "X-Real-Ip", "Forwarded"} & set(headers)
    local = hosts | {st.get_option("server.address")} <= set(LOCAL)
    return local and not through_proxy and "HEADLIGHT_PROCESSES" not in os.environ


def add_upload(name: str, files: Sequence[tuple[str, IO[bytes]]], *, taken: Collection[str]) -> None:
    """Open uploaded files, and choose their checkpoint.

    Args:
        name: The wanted name of the checkpoint.
        files: See `unpack`.
        taken: Names of other checkpoints.

    Raises:
        CheckpointError: the files hold no checkpoint.
    """
    most = largest_upload()
    keep(name, lambda folder: unpack(files, folder, most_mb=most), most=most << 20, taken=taken)


def add_copy(name: str, checkpoint: Path, *, without: str, taken: Collection[str]) -> None:
    """Keep a copy of a checkpoint's folder, and choose it.

    Args:
        name: The wanted name of the copy.
        checkpoint: The folder.
        without: The name of a subfolder that is left out.
        taken: Names of other checkpoints.

    Raises:
        CheckpointError: the disk is full, or the copy cannot be read.
    """

    def copy(folder: Path) -> tuple[str, ...]:
        try:
            shutil.copytree(checkpoint, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(without))
        except OSError as error:
            raise CheckpointError("{name} could not be stored. The disk may be full.", name=name) from error
        return ()

    keep(name, copy, most=folder_bytes(checkpoint), taken=taken)


def keep(name: str, fill: Callable[[Path], tuple[str, ...]], *, most: int, taken: Collection[str]) -> None:
    upload = Upload(f"{name}-own" if name in taken else name, fill, most=most)
    describe_and_open(upload.folder, lambda: keep_and_choose(upload.folder, upload))


def add_folder(text: str, *, taken: Collection[str]) -> None:
    """Open a folder of this computer, and choose its checkpoint.

    Args:
        text: The path, as typed.
        taken: Names of other checkpoints.

    Raises:
        CheckpointError: the folder is not a checkpoint.
    """
    try:
        folder = Path(os.path.abspath(Path(text.strip()).expanduser()))
        folder = folder if has_only_weights(folder) else checkpoint_folder(folder)
    except CheckpointError:
        raise
    except (OSError, RuntimeError, ValueError):  # the name is too long, or the user of "~name" is unknown
        raise CheckpointError("There is no folder {folder}.", folder=text.strip()) from None
    if checkpoint_name(folder) in taken:
        raise CheckpointError("There is already a checkpoint {name}. Rename the folder.", name=checkpoint_name(folder))
    describe_and_open(folder, lambda: keep_and_choose(folder))


def keep_and_choose(folder: Path, upload: Upload | None = None) -> None:
    """Open a checkpoint of this visitor, unless it cannot be used, and choose it."""
    read_any_config(folder)
    require_room(folder)
    if upload:
        name = upload.folder.name
        own().add_upload(upload)
    else:
        name = checkpoint_name(folder)
        own().add_folder(folder)
    set_choice("checkpoint", name)
    st.session_state["upload_opened"] = name


def require_room(folder: Path) -> None:
    """Refuse a model that is too large for the memory, before it is opened.

    Raises:
        CheckpointError: the message names the memory that it needs and the limit.
    """
    if os.environ.get("HEADLIGHT_DEVICE", "cpu") != "cpu":
        return  # the weights go to another device
    with suppress(OSError):
        try:
            numbers = read_header(folder).num_weights
        except CheckpointError:
            return  # the page says what is wrong when it opens the checkpoint
        require_memory(numbers, folder.name, MODELS_SHARE)


@dataclass(frozen=True, kw_only=True)
class Pending:
    """Weights that wait for the visitor's answers."""

    folder: Path
    values: Mapping[str, Any]  # of `headlight.toml`
    questions: list[Question]
    open: Callable[[], None]


def describe_and_open(folder: Path, open_folder: Callable[[], None]) -> None:
    """Open a folder. Without a description, write its `headlight.toml` before, or wait for the visitor's answers.

    Args:
        folder: Of the checkpoint.
        open_folder: Opens it when it is described.

    Raises:
        CheckpointError: nothing describes the weights, and their names are unknown.
    """
    st.session_state.pop(PENDING, None)
    if has_only_weights(folder):
        values = recognised(folder)
        if questions := questions_for(values, folder):
            st.session_state[PENDING] = Pending(folder=folder, values=values, questions=questions, open=open_folder)
            return
        write_values(folder, values)
    open_folder()


def open_questions() -> list[Question]:
    """What the visitor is asked about the weights that wait."""
    pending = st.session_state.get(PENDING)
    return [] if pending is None else pending.questions


def answer_questions(answers: Mapping[tuple[str, ...], object]) -> None:
    """Write the description of the weights that wait, and open them.

    Args:
        answers: Path of a question → its answer; None without one.

    Raises:
        CheckpointError: an answer is missing, or the checkpoint cannot be opened.
    """
    if None in answers.values():
        raise CheckpointError("Answer each question. Then press Open.")
    pending = st.session_state.pop(PENDING)
    write_values(pending.folder, answered(pending.values, answers))
    pending.open()
