"""The memory for uploaded files, which wait there until the visitor presses Open. Here their sum is bounded."""

import threading
from functools import cache
from typing import Any

import streamlit as st
from starlette.exceptions import HTTPException

from viz_app.server.presence import tabs_beside
from viz_app.server.server_state import MEGABYTE
from viz_app.server.streamlit_bridge import received_files

__all__ = ["bound_received_files", "bounded"]

VISITORS = 4  # this many visitors may use their whole limit at the same time


def bound_received_files() -> None:
    """Bound the files of each visitor, and of all visitors, in this server. A second call does nothing."""
    store = received_files()
    if store is not None:
        bounded(store)


@cache
def bounded(files: Any) -> None:
    """Make Streamlit's store of received files refuse too many bytes. Streamlit itself only checks each file.

    Args:
        files: The store, a `MemoryUploadedFileManager`.
    """
    add, adding = files.add_file, threading.Lock()

    def bytes_per_session() -> dict[str, int]:
        """Session → bytes. It iterates over copies, because a visitor who leaves removes files meanwhile."""
        return {
            session: sum(len(one.data) for one in tuple(received.values()))
            for session, received in tuple(files.file_storage.items())
        }

    def add_file(session_id: str, file: Any) -> None:
        most = int(st.get_option("server.maxUploadSize")) * MEGABYTE
        with adding:
            tabs = tabs_beside(session_id)
            sizes = bytes_per_session()
            if sum(sizes.get(tab, 0) for tab in tabs) + len(file.data) > most:
                for tab, connected in tabs.items():  # closed or reloaded tabs leave files behind
                    if tab != session_id and not connected:
                        files.remove_session_files(tab)
                sizes = bytes_per_session()
            too_much = sum(sizes.get(tab, 0) for tab in tabs) + len(file.data) > most
            if too_much or sum(sizes.values()) + len(file.data) > VISITORS * most:
                raise HTTPException(status_code=413, detail="Too many files are waiting")
            add(session_id, file)

    files.add_file = add_file
