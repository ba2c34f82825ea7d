"""Files that browsers send wait in memory until a visitor presses Open. Here their sum is bounded."""

import threading
from functools import cache
from typing import Any

import streamlit as st
from starlette.exceptions import HTTPException

from viz_app.server.presence import tabs_beside
from viz_app.server.server_state import MEGABYTE
from viz_app.server.streamlit_bridge import received_files

__all__ = ["bound_received_files", "bounded"]

VISITORS = 4  # how many visitors may use their whole limit at the same time


def bound_received_files() -> None:
    """Bound the files of each visitor, and of all of them, in this server; does so once."""
    store = received_files()
    if store is not None:
        bounded(store)


@cache
def bounded(files: Any) -> None:
    """Have Streamlit's store of received files refuse what is too much. It checks the size of each file alone.

    Args:
        files: The store, a `MemoryUploadedFileManager`.
    """
    add, adding = files.add_file, threading.Lock()

    def waiting() -> dict[str, int]:
        """Session → bytes. Of copies: a visitor who leaves takes files away meanwhile."""
        return {
            session: sum(len(one.data) for one in tuple(those.values()))
            for session, those in tuple(files.file_storage.items())
        }

    def add_file(session_id: str, file: Any) -> None:
        most = int(st.get_option("server.maxUploadSize")) * MEGABYTE
        with adding:
            tabs = tabs_beside(session_id)
            found = waiting()
            if sum(found.get(tab, 0) for tab in tabs) + len(file.data) > most:
                for tab, connected in tabs.items():  # what tabs left that were closed or loaded again
                    if tab != session_id and not connected:
                        files.remove_session_files(tab)
                found = waiting()
            too_much = sum(found.get(tab, 0) for tab in tabs) + len(file.data) > most
            if too_much or sum(found.values()) + len(file.data) > VISITORS * most:
                raise HTTPException(status_code=413, detail="Too many files are waiting")
            add(session_id, file)

    files.add_file = add_file
