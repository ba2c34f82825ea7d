"""Checkpoints that one visitor opens: an upload, or a folder of this computer. Other visitors do not see them.

They belong to a browser: all its tabs see them, also after a reload. An upload is in a temporary folder. The folder is
removed when the last session of this browser is forgotten, or when others need the disk space and the visitor has left.
"""

import os
import re
import shutil
import threading
import weakref
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError, checkpoint_name
from model.checkpoints.recognition import has_only_weights
from model.inference.opening import read_any_config
from model.safety.folder_files import checkpoint_folder
from model.safety.sizes import require_memory
from model.safety.weight_files import read_header
from viz_app.server.addresses import LOCAL
from viz_app.server.disk_space import DiskSpace
from viz_app.server.presence import Visitor, visitor
from viz_app.server.server_state import MODELS_SHARE
from viz_app.server.temporary import new_folder
from viz_app.server.uploads import Unpacked, unpack
from viz_app.session.choices import set_choice
from viz_app.session.descriptions import describe_and_open

__all__ = [
    "add_copy",
    "add_folder",
    "add_upload",
    "largest_upload",
    "left_out_of",
    "only_this_computer",
    "own_checkpoints",
]

DISK = DiskSpace(1 << 30)
MOST = 4  # uploads of a visitor; the oldest is removed first


class Upload:
    """A folder that is removed when no session holds the object any more."""

    def __init__(self, name: str, fill: Callable[[Path], Unpacked], *, most: int) -> None:
        """Make a folder and fill it.

        Args:
            name: The wanted name of the folder.
            fill: Writes files into the folder.
            most: The most bytes that `fill` writes.

        Raises:
            CheckpointError: `fill` found no checkpoint, or the disk is full. Then the folder is removed.
        """
        try:
            home = new_folder()
        except OSError as error:
            raise CheckpointError("The files cannot be stored: {error}.", error=error.strerror) from error
        weakref.finalize(self, shutil.rmtree, home, ignore_errors=True)
        self.folder = home / (re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "upload")
        self.folder.mkdir()
        DISK.reserve(most)  # before anything is written
        unpacked = Unpacked(size=0)
        try:
            unpacked = fill(self.folder)
        finally:
            DISK.release(most - unpacked.size)
        weakref.finalize(self, DISK.release, unpacked.size)
        self.left_out = unpacked.left_out


@dataclass
class Own:
    """The checkpoints of one visitor."""

    uploads: tuple[Upload, ...] = ()
    folders: tuple[Path, ...] = ()


# Only the visitor's sessions hold the value. The key may live longer, for example while the visitor's training runs.
OWN: weakref.WeakValueDictionary[Visitor, Own] = weakref.WeakValueDictionary()
CHANGING = threading.Lock()  # a visitor may have several tabs


def own() -> Own:
    """The checkpoints of this visitor."""
    me = visitor()
    with CHANGING:
        mine = OWN.setdefault(me, Own())
    st.session_state["own_checkpoints"] = mine
    return mine


def own_checkpoints() -> dict[str, Path]:
    """Name → folder of this visitor's checkpoints."""
    mine = own()
    uploads = {upload.folder.name: upload.folder for upload in mine.uploads}
    return uploads | {checkpoint_name(folder): folder for folder in mine.folders}


def left_out_of(folder: Path) -> tuple[str, ...]:
    """The names of the files that were left out of this visitor's upload into a folder."""
    return next((upload.left_out for upload in own().uploads if upload.folder == folder), ())


def remove_uploads_of_absent_visitors() -> None:
    for owner, theirs in tuple(OWN.items()):
        if not owner.here():
            theirs.uploads = ()


def largest_upload() -> int:
    """The limit for an upload in MB, from the server's configuration."""
    return int(st.get_option("server.maxUploadSize"))


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

    def copy(folder: Path) -> Unpacked:
        try:
            shutil.copytree(checkpoint, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(without))
        except OSError as error:
            raise CheckpointError("{name} could not be stored. The disk may be full.", name=name) from error
        return Unpacked(size=size_of(folder))

    keep(name, copy, most=size_of(checkpoint), taken=taken)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def keep(name: str, fill: Callable[[Path], Unpacked], *, most: int, taken: Collection[str]) -> None:
    if not DISK.has(most):
        remove_uploads_of_absent_visitors()
    upload = Upload(f"{name}-own" if name in taken else name, fill, most=most)
    describe_and_open(upload.folder, lambda: open_upload(upload))


def open_upload(upload: Upload) -> None:
    read_any_config(upload.folder)  # a checkpoint that cannot be used is not kept
    require_room(upload.folder)
    mine = own()
    with CHANGING:
        kept = [one for one in mine.uploads if one.folder.name != upload.folder.name]
        mine.uploads = (*kept[1 - MOST :], upload)
    choose_own(upload.folder.name)


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
    describe_and_open(folder, lambda: open_folder(folder))


def open_folder(folder: Path) -> None:
    read_any_config(folder)
    require_room(folder)
    mine = own()
    with CHANGING:
        mine.folders = (*(one for one in mine.folders if one != folder), folder)
    choose_own(checkpoint_name(folder))


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


def choose_own(name: str) -> None:
    set_choice("checkpoint", name)
    st.session_state["upload_opened"] = name
