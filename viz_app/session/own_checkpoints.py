"""Checkpoints that one visitor brings: an upload, or a folder of this machine. Nobody else sees them.

They belong to a browser: all of its tabs see them, also after a reload. What was uploaded lies in a temporary folder
that is removed when the last session of this browser is forgotten, or when others need the room and it has left.
"""

import os
import re
import shutil
import threading
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError, checkpoint_name
from model.inference.opening import read_any_config
from viz_app.server.presence import Visitor, visitor
from viz_app.server.temporary import new_folder
from viz_app.server.uploads import Room, unpack
from viz_app.session.choices import set_choice

__all__ = ["add_copy", "add_folder", "add_upload", "alone", "largest_upload", "own_checkpoints"]

ROOM = Room(1 << 30)
MOST = 4  # uploads of a visitor; the oldest goes first
LOCAL = ("localhost", "127.0.0.1", "::1")


class Upload:
    """A folder that goes when nobody holds it any more."""

    def __init__(self, name: str, fill: Callable[[Path], int], *, most: int) -> None:
        """Have a new folder filled.

        Args:
            name: Of the folder.
            fill: Writes into it and returns how many bytes it wrote. Raises CheckpointError where that is no
                checkpoint; then nothing is left behind.
            most: How many bytes it may write.
        """
        try:
            home = new_folder()
        except OSError as error:
            raise CheckpointError(f"There is no place for an upload: {error.strerror}.") from error
        weakref.finalize(self, shutil.rmtree, home, ignore_errors=True)
        self.folder = home / (re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "upload")
        self.folder.mkdir()
        ROOM.take(most)  # before anything is written
        size = 0
        try:
            size = fill(self.folder)
        finally:
            ROOM.give(most - size)
        weakref.finalize(self, ROOM.give, size)


@dataclass
class Own:
    """What one visitor brought."""

    uploads: tuple[Upload, ...] = ()
    folders: tuple[Path, ...] = ()


# Each session of the visitor holds the value, and nobody else does. A visitor may be known for longer: who trained is.
OWN: weakref.WeakValueDictionary[Visitor, Own] = weakref.WeakValueDictionary()
CHANGING = threading.Lock()  # a visitor may have several tabs


def own() -> Own:
    """What this visitor brought."""
    me = visitor()
    with CHANGING:
        mine = OWN.setdefault(me, Own())
    st.session_state["own_checkpoints"] = mine
    return mine


def forget_who_left() -> None:
    """Drop the uploads of visitors who have left."""
    for owner, theirs in tuple(OWN.items()):
        if not owner.here():
            theirs.uploads = ()


def largest_upload() -> int:
    """MB, as the server is set up."""
    return int(st.get_option("server.maxUploadSize"))


def own_checkpoints() -> dict[str, Path]:
    """Name → folder of what this visitor brought."""
    mine = own()
    uploads = {upload.folder.name: upload.folder for upload in mine.uploads}
    return uploads | {checkpoint_name(folder): folder for folder in mine.folders}


def alone() -> bool:
    """Whether only this machine reaches the server: then a person may name any folder that they can read themselves.

    Behind nginx or at a host the processes listen to this machine too, and others come through it: those of
    `deploy/serve.py` are told so; elsewhere the visitor's browser asked for another name than ours, or what stands
    between says for whom it asks.
    """
    headers = st.context.headers
    asked = {urlsplit(headers.get("Origin", "")).hostname, urlsplit(f"//{headers.get('Host', '')}").hostname} - {None}
    passed_on = {"X-Forwarded-For", "X-Real-Ip", "Forwarded"} & set(headers)
    local = asked | {st.get_option("server.address")} <= set(LOCAL)
    return local and not passed_on and "HEADLIGHT_PROCESSES" not in os.environ


def add_upload(name: str, files: Sequence[tuple[str, IO[bytes]]], *, taken: Collection[str]) -> None:
    """Open what was uploaded, and choose it.

    Args:
        name: By which it should be called.
        files: See `unpack`.
        taken: Names that others have.

    Raises:
        CheckpointError: there is no checkpoint in it.
    """
    most = largest_upload()
    keep(name, lambda folder: unpack(files, folder, most_mb=most), most=most << 20, taken=taken)


def add_copy(name: str, checkpoint: Path, *, but: str, taken: Collection[str]) -> None:
    """Keep a copy of a checkpoint's folder, and choose it.

    Args:
        name: By which it should be called.
        checkpoint: Its folder.
        but: A folder in it that is left out.
        taken: Names that others have.

    Raises:
        CheckpointError: there is no room for it, or it cannot be read.
    """

    def copy(folder: Path) -> int:
        try:
            shutil.copytree(checkpoint, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(but))
        except OSError as error:
            raise CheckpointError(f"{name} could not be kept: the disk may be full.") from error
        return size_of(folder)

    keep(name, copy, most=size_of(checkpoint), taken=taken)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def keep(name: str, fill: Callable[[Path], int], *, most: int, taken: Collection[str]) -> None:
    if not ROOM.has(most):
        forget_who_left()
    upload = Upload(f"{name}-own" if name in taken else name, fill, most=most)
    read_any_config(upload.folder)  # one that cannot be used is not kept
    mine = own()
    with CHANGING:
        kept = [one for one in mine.uploads if one.folder.name != upload.folder.name]
        mine.uploads = (*kept[1 - MOST :], upload)
    open_now(upload.folder.name)


def add_folder(text: str, *, taken: Collection[str]) -> None:
    """Open a folder of this machine, and choose it.

    Raises:
        CheckpointError: it is no checkpoint.
    """
    try:
        folder = Path(text.strip()).expanduser()
        there = any((folder / name).is_file() for name in ("config.json", "headlight.toml"))
    except (OSError, RuntimeError, ValueError):  # a name that is too long, a home that nobody has
        there = False
    if not there:
        raise CheckpointError(f"{text.strip()!r} is no folder with a config.json or a headlight.toml.")
    folder = Path(os.path.abspath(folder))
    if checkpoint_name(folder) in taken:
        raise CheckpointError(f"There is a checkpoint {checkpoint_name(folder)} already; rename the folder.")
    read_any_config(folder)
    mine = own()
    with CHANGING:
        mine.folders = (*(one for one in mine.folders if one != folder), folder)
    open_now(checkpoint_name(folder))


def open_now(name: str) -> None:
    set_choice("checkpoint", name)
    st.session_state["upload_opened"] = name
