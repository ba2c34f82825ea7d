"""The strip of a lesson: a prediction hides the page, and the visitor's own run says what came out."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.conftest import html, in_url

OpenApp = Callable[..., AppTest]


def texts(app: AppTest) -> str:
    shown = [element.value for element in [*app.markdown, *app.caption, *app.warning, *app.info, *app.error]]
    return "\n".join(shown)


def test_a_link_opens_a_step_and_a_prediction_hides_its_page(open_app: OpenApp) -> None:
    app = open_app(lesson="query-key-value.row")
    assert ">Inside <" in html(app)
    assert "Answer first" in texts(app)
    assert in_url(app, "lesson") == "query-key-value.row"
    with pytest.raises(KeyError):
        app.text_input(key="text")
    app.button_group(key="lesson_answer_query-key-value.row").set_value("keys").run()
    assert app.text_input(key="text").value == "The old man reads a book."
    assert "Not so" in texts(app)
    assert "add up to 1.00" in texts(app)
