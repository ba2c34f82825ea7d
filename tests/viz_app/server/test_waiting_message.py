"""The messages that the browser receives while a page computes."""

from streamlit.testing.v1 import AppTest

from tests.conftest import PATIENCE


def page_that_computes() -> None:
    import threading
    from typing import Any

    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from viz_app.server.server_state import waiting

    context: Any = get_script_run_ctx()
    send, shown = context._enqueue, threading.Event()
    sent: list[list[tuple[str, list[int]]]] = []

    def watched(message: Any) -> None:
        if message.delta.WhichOneof("type") == "new_transient":
            sent.append(
                [(one.spinner.text, list(message.metadata.delta_path)) for one in message.delta.new_transient.elements]
            )
            shown.set()
        send(message)

    context._enqueue = watched
    with st.container(), waiting("Quick …"):
        pass
    st.session_state["quick"] = list(sent)
    with st.container(), waiting("Slow …"):
        shown.wait(600)
    st.session_state["slow"] = list(sent)
    context._enqueue = send


def test_a_spinner_is_sent_only_for_long_work() -> None:
    app = AppTest.from_function(page_that_computes, default_timeout=PATIENCE).run()
    assert not app.exception
    assert app.session_state["quick"] == []
    place = [0, 1, 0]  # the container in which it was asked for
    assert app.session_state["slow"] == [[("Slow …", place)], []]
