"""One canary for each internal of Streamlit that the bridge uses. Each says what has changed and what to repair."""

import inspect
import threading
from typing import Any

import pytest
import streamlit as st
from streamlit.runtime.stats import StatsManager
from streamlit.testing.v1 import AppTest

from tests.conftest import PATIENCE
from viz_app.server import streamlit_bridge as bridge


def repair(function: str, changed: str) -> str:
    return f"Streamlit {st.__version__}: {changed}. Repair `{function}` in viz_app/server/streamlit_bridge.py."


def test_streamlit_writes_our_figures() -> None:
    mine = bridge.Family("own_bytes", "Bytes.", unit="bytes", values=[({"cache": "a"}, 3)])
    manager = StatsManager()
    manager.register_provider(bridge.Figures(lambda: [mine]))
    found = [one.to_metric_str() for one in manager.get_stats()["own_bytes"]]
    assert found == ['own_bytes{cache="a"} 3'], repair("publish_figures", "the form of a figure differs")


def page_in_a_session() -> None:
    import threading

    import streamlit as st

    from viz_app.server import streamlit_bridge as bridge

    found: dict[str, object] = {}

    def look() -> None:
        found["joined"] = bridge.has_page()

    thread = threading.Thread(target=look)
    bridge.join_page(thread)
    thread.start()
    thread.join()
    found["page"] = bridge.has_page()
    found["session"] = bridge.session_id()
    found["history"] = bridge.went_through_history()
    st.session_state["found"] = found


def test_the_context_of_a_run_is_known() -> None:
    app = AppTest.from_function(page_in_a_session, default_timeout=PATIENCE).run()
    assert not app.exception, repair("get_script_run_ctx", f"reading the context fails ({app.exception})")
    found = app.session_state["found"]
    assert found["page"] is True, repair("has_page", "a running script has no context")
    assert found["session"], repair("session_id", "the context has no `session_id`")
    assert found["history"] is False, repair("went_through_history", "the context has no `is_history_navigation`")
    assert found["joined"] is True, repair("join_page", "`add_script_run_ctx` does not join a thread to the page")
    assert not bridge.has_page(), repair("has_page", "there is a context outside of a run")


def page_that_reconnects() -> None:
    from typing import Any

    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from viz_app.server.streamlit_bridge import keep_reconnecting

    context: Any = get_script_run_ctx()
    send, kinds = context._enqueue, []

    def watched(message: Any) -> None:
        kinds.append(message.WhichOneof("type"))
        send(message)

    context._enqueue = watched
    keep_reconnecting()
    context._enqueue = send
    st.session_state["kinds"] = kinds


def test_a_fragment_that_runs_by_itself_tells_the_browser() -> None:
    app = AppTest.from_function(page_that_reconnects, default_timeout=PATIENCE).run()
    changed = "an empty fragment with `run_every` sends no `auto_rerun`, so a page does not come back after a restart"
    assert "auto_rerun" in app.session_state["kinds"], repair("keep_reconnecting", changed)


def app_with_two_pages() -> None:
    from typing import Any

    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from viz_app.server.streamlit_bridge import lead_unknown_addresses_home

    context: Any = get_script_run_ctx()
    send, kinds = context._enqueue, []

    def watched(message: Any) -> None:
        kinds.append(message.WhichOneof("type"))
        send(message)

    context._enqueue = watched
    context.pages_manager.set_script_intent("", "nowhere")
    lead_unknown_addresses_home()
    first, second = (st.Page(lambda: None, title=name, url_path=name) for name in ("first", "second"))
    opened = st.navigation([first, second])
    context._enqueue = send
    st.session_state["opened"], st.session_state["kinds"] = opened.title, kinds


def test_an_unknown_address_opens_the_default_page_without_a_window() -> None:
    app = AppTest.from_function(app_with_two_pages, default_timeout=PATIENCE).run()
    assert app.session_state["opened"] == "first"
    changed = "an unknown address sends `page_not_found`, which opens a window in English"
    assert "navigation" in app.session_state["kinds"]
    assert "page_not_found" not in app.session_state["kinds"], repair("lead_unknown_addresses_home", changed)


def test_callbacks_pass_one_method() -> None:
    method: Any = getattr(bridge.SessionState, "_run_callback_and_record_rerun", None)
    assert method, repair("wrap_callbacks", "`SessionState._run_callback_and_record_rerun` is gone")
    # The bridge may have replaced the method in this process: then the original is in the closure.
    original = inspect.getclosurevars(method).nonlocals.get("original", method)
    parameters = [*inspect.signature(original).parameters]
    changed = f"`_run_callback_and_record_rerun` takes {parameters} instead of self, votes and a callback"
    assert len(parameters) == 3, repair("wrap_callbacks", changed)


def test_the_values_of_widgets_may_change_while_a_run_goes_through_them(monkeypatch: pytest.MonkeyPatch) -> None:
    states = bridge.WStates()
    states.set_from_value("first", 1)
    monkeypatch.setattr(bridge.WStates, "__iter__", bridge.WStates.__iter__)  # this process gets it back
    bridge.iterate_over_copies()
    for name in states:
        states.set_from_value(f"{name} of the run before", 2)
    changed = "`WStates` does not keep its values in `states`"
    assert set(states) == {"first", "first of the run before"}, repair("iterate_over_copies", changed)


def page_with_a_list() -> None:
    import streamlit as st

    st.session_state.setdefault("other", "kept")
    st.session_state.setdefault("chosen", None)
    st.selectbox("List", ["a", "b"], key="chosen")
    st.session_state["whole"] = set(st.session_state), st.session_state.to_dict()["other"]


def test_a_list_looks_up_its_own_value_only(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[object] = []
    original: Any = bridge.SessionState.filtered_state

    def collect(state: bridge.SessionState) -> dict[str, Any]:
        collected.append(state)
        whole: dict[str, Any] = original.fget(state)
        return whole

    monkeypatch.setattr(bridge.SessionState, "filtered_state", property(collect))  # this process gets it back
    bridge.look_up_single_values.__wrapped__()
    app = AppTest.from_function(page_with_a_list, default_timeout=PATIENCE).run()
    assert not app.exception, repair("look_up_single_values", f"a list fails ({app.exception})")
    assert app.selectbox[0].value is None, repair("look_up_single_values", "a list does not find its own value")
    app.selectbox[0].select("b").run()
    names, other = app.session_state["whole"]
    assert (app.selectbox[0].value, other) == ("b", "kept")
    assert {"other", "chosen"} <= names
    assert len(collected) == 2, repair("look_up_single_values", "a list reads the whole session another way")


@pytest.mark.parametrize("name", ["add_file", "remove_session_files", "file_storage"])
def test_the_store_of_received_files_has_what_bounds_it(name: str) -> None:
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

    store = MemoryUploadedFileManager("/upload")
    changed = f"`MemoryUploadedFileManager.{name}` is gone, which viz_app/server/uploads.py uses"
    assert hasattr(store, name), repair("received_files", changed)


def test_the_runtime_knows_its_files_and_connections() -> None:
    for name, function in (("uploaded_file_mgr", "received_files"), ("get_client", "connection_of")):
        assert hasattr(bridge.Runtime, name), repair(function, f"`Runtime.{name}` is gone")


def test_the_cookie_of_a_browser_holds_a_secret() -> None:
    from streamlit.web.server.starlette import starlette_app_utils as cookies

    token = cookies.generate_xsrf_token_string()
    secret, _ = bridge.decode_xsrf_token_string(token)
    changed = f"the token {token!r} of the cookie {bridge.XSRF_COOKIE_NAME!r} gives {secret!r}"
    assert secret, repair("secret_of_browser", changed)
    assert len(secret) >= bridge.SECRET, repair("secret_of_browser", changed)


def test_the_app_can_be_started_from_python() -> None:
    from streamlit.web import cli

    assert "run" in cli.main.commands, repair("start_app", "`streamlit.web.cli.main` has no command `run`")


def test_the_types_of_tabs_and_pages_have_what_the_app_reads() -> None:
    assert hasattr(bridge.TabContainer, "open"), repair("TabContainer", "a tab has no `open`")
    for name in ("title", "url_path", "run"):
        assert hasattr(bridge.StreamlitPage, name), repair("StreamlitPage", f"a page has no `{name}`")


def page_with_titles() -> None:
    from pathlib import Path

    import streamlit as st

    from viz_app.server import streamlit_bridge as bridge

    script = Path(bridge.__file__)
    pages = [
        bridge.titled_page(title, script=script, icon=":material/school:", url_path="lessons", default=False)
        for title in ("Lessons", "Lektionen")
    ]
    whole = st.Page(script, title="Lektionen", icon=":material/school:", url_path="lessons", default=False)
    st.session_state["titles"] = [page.title for page in pages]
    st.session_state["same"] = vars(pages[1]) == vars(whole)


def test_a_page_gets_its_title_in_the_language_of_each_visitor() -> None:
    app = AppTest.from_function(page_with_titles, default_timeout=PATIENCE).run()
    assert not app.exception, repair("titled_page", f"a page cannot be copied ({app.exception})")
    assert app.session_state["titles"] == ["Lessons", "Lektionen"], repair("titled_page", "a title is not in `_title`")
    assert app.session_state["same"], repair("titled_page", "a page keeps its title in another place too")


def test_a_thread_without_a_page_stays_without_one() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(bridge.has_page()))
    thread.start()
    thread.join()
    assert found == [False]
