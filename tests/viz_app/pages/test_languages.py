"""The interface in several languages: which one a visitor gets, and that it changes nothing else."""

import threading
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.conftest import PATIENCE
from tests.viz_app.conftest import NAME, html, in_url
from viz_app.content import translation
from viz_app.content.shared import PAGES
from viz_app.content.translation import language
from viz_app.session.language import browser_language

OpenApp = Callable[..., AppTest]


def test_a_link_names_the_language_and_two_visitors_use_two_at_once(open_app: OpenApp) -> None:
    chinese, korean, english = open_app("start", lang="zh"), open_app("start", lang="ko"), open_app("start")
    for app in (chinese, korean, english):
        app.run()
    assert ">从这里开始 <" in html(chinese)
    assert ">여기서 시작 <" in html(korean)
    assert ">Start here <" in html(english)
    assert language() == "en", "the thread of the test has no visitor"
    assert in_url(chinese, "lang") == "zh"
    assert in_url(english, "lang") is None


def test_an_unknown_language_in_a_link_is_ignored(open_app: OpenApp) -> None:
    assert ">Translate <" in html(open_app(lang="../../etc"))


def test_the_switch_keeps_every_choice_and_the_choice_of_the_language_stays(open_app: OpenApp) -> None:
    app = open_app("sentiment", review="A dull film.", reading="mean", lang="ko")
    app.selectbox(key="lang").set_value("zh").run()
    assert not app.exception
    assert app.text_area(key="review").value == "A dull film."
    assert app.session_state["reading"] == "mean"
    assert (in_url(app, "lang"), in_url(app, "reading")) == ("zh", "mean")
    app.switch_page("viz_app/pages/start.py").run()
    assert ">从这里开始 <" in html(app)
    app.selectbox(key="lang").set_value("en").run()
    assert ">Start here <" in html(app)
    assert in_url(app, "review") == "A dull film."


def test_each_language_has_its_name_in_its_own_language(open_app: OpenApp) -> None:
    names = open_app("start", checkpoint=NAME).selectbox(key="lang").options
    assert {"English", "中文", "한국어"} <= set(names)


def test_a_page_keeps_its_address_in_every_language(open_app: OpenApp) -> None:
    addresses = [
        [link.proto.page for link in open_app("start", checkpoint=NAME, lang=code).get("page_link")]
        for code in ("en", "ko")
    ]
    assert addresses[0] == addresses[1]
    assert [page or "translate" for page in addresses[1]] == [page for page in PAGES if page != "start"]


def test_the_browser_decides_where_the_visitor_has_not_chosen() -> None:
    tags = {
        "zh-CN": "zh",
        "zh-Hant-TW": "zh",
        "ko": "ko",
        "ko_KR": "ko",
        "en-GB": "en",
        "tlh": "en",
        None: "en",
    }
    assert {tag: browser_language(tag) for tag in tags} == tags


def page_with_a_callback() -> None:
    import streamlit as st

    from viz_app.content.translation import language
    from viz_app.session.choices import choices
    from viz_app.session.page_end import guard_callbacks

    guard_callbacks()
    choices().chosen["lang"] = st.query_params["lang"]

    def note() -> None:
        st.session_state["noted"] = language()

    st.button("Press", key="press", on_click=note)


def test_a_callback_has_the_language_of_its_visitor() -> None:
    """It runs before the script, in a thread that may have run for nobody yet."""
    visitors = {code: AppTest.from_function(page_with_a_callback, default_timeout=PATIENCE) for code in ("zh", "ko")}
    for code, app in visitors.items():
        app.query_params["lang"] = code
        app.run()
    for code, app in visitors.items():
        app.button(key="press").click().run()
        assert app.session_state["noted"] == code


def test_a_thread_without_a_language_asks_for_its_visitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a fragment does, which runs without the router."""
    monkeypatch.setattr(translation, "ask", [])
    found: list[str] = []
    for ask in (None, lambda: "ko"):
        if ask:
            translation.ask_visitor(ask)
        thread = threading.Thread(target=lambda: found.append(translation.language()))
        thread.start()
        thread.join()
    assert found == ["en", "ko"]
