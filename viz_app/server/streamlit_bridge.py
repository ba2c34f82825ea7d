"""All that Headlight uses of Streamlit beyond what Streamlit documents, seen in version 1.67.

An update of Streamlit may change any of it without a word. No other file of the app imports Streamlit's inside.
"""

from typing import Any

import streamlit as st
from streamlit.elements.lib.mutable_tab_container import TabContainer
from streamlit.errors import FragmentHandledException
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx
from streamlit.runtime.state.session_state import SessionState
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string
from streamlit.web.server.starlette.starlette_server_config import XSRF_COOKIE_NAME

__all__ = [
    "FragmentHandledException",
    "SessionState",
    "StreamlitPage",
    "TabContainer",
    "add_script_run_ctx",
    "connection_of",
    "get_script_run_ctx",
    "received_files",
    "said_goodbye",
    "secret_of_browser",
    "session_id",
    "start_app",
    "went_through_history",
]

SECRET = 16  # bytes


def session_id() -> str:
    """The session that the script runs for; "" outside a server."""
    context = get_script_run_ctx()
    return context.session_id if context else ""


def went_through_history() -> bool:
    """Whether the browser's Back or Forward asked for this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def received_files() -> Any:
    """The store of the files that browsers have sent, a `MemoryUploadedFileManager`; None outside a server."""
    return Runtime.instance().uploaded_file_mgr if Runtime.exists() else None


def start_app(script: str, *options: str) -> int:
    """Do what `streamlit run` does; returns its exit code."""
    from streamlit.web import cli  # what serves the app has it already

    return int(cli.main(["run", script, *options], prog_name="headlight") or 0)


def secret_of_browser() -> bytes | None:
    cookie = st.context.cookies.to_dict().get(XSRF_COOKIE_NAME)
    secret = decode_xsrf_token_string(cookie)[0] if isinstance(cookie, str) else None
    return secret if secret and len(secret) >= SECRET else None


def connection_of(session: str) -> object | None:
    """The connection of a session, None where its browser is gone."""
    return Runtime.instance().get_client(session) if Runtime.exists() else None


def said_goodbye(connection: Any) -> bool:
    """Whether the browser itself closed the connection; uvicorn keeps the frame in which it said so."""
    try:
        return connection._websocket._receive.__self__.conn.close_rcvd is not None
    except AttributeError:
        return True
