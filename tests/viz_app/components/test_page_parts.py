"""The two components without a picture: they hold the data of a page."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.conftest import NAME, TEXT, component_data

OpenApp = Callable[..., AppTest]
EVERYWHERE = {"save_pictures", "words"}


@pytest.mark.parametrize(
    ("page", "own"),
    [("start", set()), ("steps", {"page_announcement"}), ("translate", {"page_announcement", "word_lines"})],
)
def test_all_that_a_page_does_not_show_is_two_components(open_app: OpenApp, page: str, own: set[str]) -> None:
    app = open_app(page, checkpoint=NAME, text=TEXT)
    assert set(component_data(app, "page_parts")) == EVERYWHERE | own
    assert set(component_data(app, "page_keys")) == {"language", "words"}
    names = [one.proto.component_name for one in app.sidebar.get("bidi_component")]
    assert sorted(names) == ["headlight_page_keys", "headlight_page_parts", "headlight_present_key"]


def test_the_parts_follow_what_is_typed_and_keep_nothing_of_another_page(open_app: OpenApp) -> None:
    app = open_app("translate", checkpoint=NAME, text=TEXT)
    before = component_data(app, "page_parts")
    app.text_input(key="text").set_value("Ein Hund schläft.").run()
    after = component_data(app, "page_parts")
    assert after["page_announcement"]["text"] not in ("", before["page_announcement"]["text"])
    assert after["word_lines"]["weights"] != before["word_lines"]["weights"]
    app.switch_page("viz_app/pages/start.py").run()
    assert set(component_data(app, "page_parts")) == EVERYWHERE
