"""A page may fail. The rest of the app stays, and the visitor reads a message."""

import re
from collections.abc import Callable

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.scriptrunner import RerunData, RerunException, StopException
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from model.checkpoints.checkpoint import CheckpointError
from tests.conftest import PATIENCE
from tests.viz_app.conftest import NAME, head_map, in_url
from viz_app.services import models
from viz_app.session.page_end import boundary
from viz_app.widgets import run_form

OpenApp = Callable[..., AppTest]
WHOLE = "Ein Mann schläft auf einer grünen Bank."


def fail_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(models, "result_of", fail)


def test_a_failing_page_shows_the_number_of_its_log_entry_and_nothing_else_breaks(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = open_app("translate", checkpoint=NAME)
    with monkeypatch.context() as broken:
        fail_with(ZeroDivisionError("a secret of the code"), broken)
        app.text_input(key="text").set_value(WHOLE).run()
    assert not app.exception
    (message,) = [error.value for error in app.error]
    assert "secret" not in message
    number = re.search(r"number ([0-9a-f]{6})\.", message)
    (record,) = [one for one in caplog.records if one.name == "headlight"]
    assert number
    assert number[1] in record.getMessage()
    assert record.exc_info
    assert record.exc_info[0] is ZeroDivisionError
    caplog.clear()
    # The sidebar is there, the link holds what was typed, and the next run succeeds.
    assert app.selectbox(key="checkpoint").value == NAME
    assert in_url(app, "text") == WHOLE
    app.run()
    assert not app.error
    assert head_map(app).size


def test_an_error_with_a_message_for_visitors_shows_only_this_message(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app("translate", checkpoint=NAME)
    fail_with(CheckpointError("Weights are <b>lost</b>"), monkeypatch)
    app.run()
    assert [error.value for error in app.error] == [r"Weights are \<b\>lost\<\/b\>\."]


@pytest.mark.parametrize("control", [StopException(), RerunException(RerunData())])
def test_exceptions_that_stop_or_repeat_a_run_pass_through(control: BaseException) -> None:
    with pytest.raises(type(control)), boundary("This page could not be shown."):
        raise control


def test_a_page_is_drawn_with_its_choices_after_a_failing_callback(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = open_app("translate", checkpoint=NAME, text=WHOLE)
    with monkeypatch.context() as broken:
        broken.setattr(run_form, "set_choice", lambda *_: 1 / 0)
        app.selectbox(key="example").select_index(0).run()
    assert not app.exception
    assert "Your last action failed" in app.error[0].value
    assert in_url(app, "text") == WHOLE
    assert head_map(app).size
    caplog.clear()


def page_with_callbacks() -> None:
    import streamlit as st

    from viz_app.session.page_end import guard_callbacks, show_callback_problems

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret of the code")

    guard_callbacks()
    show_callback_problems()
    st.text_input("Text", key="text", on_change=fail)
    st.selectbox("One of", ["a", "b"], key="one", on_change=fail, args=(1,))
    st.button("Press", key="press", on_click=fail, kwargs={"a": 1})
    st.toggle("Switch", key="switch")
    with st.form("form"):
        st.text_input("In the form", key="in_form")
        st.form_submit_button("Send", on_click=fail)


def test_every_kind_of_callback_that_fails_is_a_sentence_and_nothing_chosen_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = AppTest.from_function(page_with_callbacks, default_timeout=PATIENCE).run()
    app.toggle(key="switch").set_value(True)
    for act in (
        lambda: app.text_input(key="text").set_value("x"),
        lambda: app.selectbox(key="one").select("b"),
        lambda: app.button(key="press").click(),
        lambda: submit(app, "kept"),
    ):
        caplog.clear()
        act().run()
        assert not app.exception
        (message,) = [error.value for error in app.error]
        (record,) = [one for one in caplog.records if one.name == "headlight"]
        assert record.getMessage().split()[-1] in message
        assert "secret" not in message
        assert record.exc_info
        assert record.exc_info[0] is ZeroDivisionError
    caplog.clear()
    state = app.session_state
    assert [state[key] for key in ("text", "one", "switch", "in_form")] == ["x", "b", True, "kept"]
    app.run()
    assert not app.error


def submit(app: AppTest, text: str) -> Button:
    app.text_input(key="in_form").set_value(text)
    return app.button[-1].click()


def page_with_a_component() -> None:
    import streamlit as st

    from viz_app.session.page_end import guard_callbacks, show_callback_problems

    def fail() -> None:
        raise ZeroDivisionError

    guard_callbacks()
    show_callback_problems()
    st.components.v2.component("fails", js="export default () => {}")(key="fails", on_open_change=fail)


def test_a_callback_of_a_component_that_fails_is_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    """Streamlit runs the callbacks of components by another way than those of widgets."""
    app = AppTest.from_function(page_with_a_component, default_timeout=PATIENCE).run()
    state = WidgetState(id=app.get("bidi_component")[0].proto.id, json_value='{"open": 1}')
    app._run(WidgetStates(widgets=[state]))
    assert not app.exception
    assert "Your last action failed" in app.error[0].value
    caplog.clear()
