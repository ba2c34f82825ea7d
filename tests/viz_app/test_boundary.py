"""A page may fail; the rest of the app stays, and the visitor reads a sentence."""

import re
from collections.abc import Callable

import pytest
from streamlit.runtime.scriptrunner import RerunData, RerunException, StopException
from streamlit.testing.v1 import AppTest

from model.checkpoint import CheckpointError
from tests.viz_app.conftest import NAME, head_map, in_url
from viz_app import services
from viz_app.boundary import boundary

OpenApp = Callable[..., AppTest]
WHOLE = "Ein Mann schläft auf einer grünen Bank."


def fail_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(services, "translation_of", fail)


def test_a_page_that_fails_shows_a_number_that_is_in_the_log_and_nothing_else_breaks(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = open_app("translate", checkpoint=NAME)
    with monkeypatch.context() as broken:
        fail_with(ZeroDivisionError("a secret of the code"), broken)
        app.text_input(key="text").set_value(WHOLE).run()
    assert not app.exception
    (said,) = [error.value for error in app.error]
    assert "secret" not in said
    number = re.search(r"number ([0-9a-f]{6})\.", said)
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


def test_an_error_with_a_message_for_visitors_shows_it_alone(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app("translate", checkpoint=NAME)
    fail_with(CheckpointError("Weights are <b>lost</b>"), monkeypatch)
    app.run()
    assert [error.value for error in app.error] == [r"Weights are \<b\>lost\<\/b\>\."]


@pytest.mark.parametrize("control", [StopException(), RerunException(RerunData())])
def test_what_streamlit_raises_to_stop_or_repeat_a_run_passes(control: BaseException) -> None:
    with pytest.raises(type(control)), boundary("This page"):
        raise control
