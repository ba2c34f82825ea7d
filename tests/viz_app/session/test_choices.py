"""Choices, defaults, and the link that names both."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from streamlit.testing.v1 import AppTest

from model.interventions import Head, Intervention, PaintedCell
from tests.viz_app.conftest import NAME
from viz_app.session import choice_forms, choices
from viz_app.widgets import run_form
from viz_app.widgets.checkpoint_choice import DEFAULT_CHECKPOINT

OpenApp = Callable[..., AppTest]


def url(app: AppTest) -> dict[str, str]:
    return {name: value[0] if isinstance(value, list) else value for name, value in app.query_params.items()}


def says(app: AppTest, words: str) -> bool:
    return any(words in caption.value for caption in app.caption)


def go_to(app: AppTest, page: str) -> AppTest:
    app.switch_page(f"viz_app/pages/{page}.py").run()
    assert not app.exception, app.exception
    return app


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("scaled", "1", True),
        ("scaled", "true", True),
        ("scaled", "0", False),
        ("scaled", "yes", None),
        ("width", "48", 48),
        ("width", "-5", None),
        ("width", "٤٨", None),
        ("temperature", "0.5", 0.5),
        ("temperature", "1e9", None),
        ("forced", "1.20-3.7", ((1, 20), (3, 7))),
        ("forced", "1.20-", None),
        ("layer", "<b>", "<b>"),
        (
            "intervention",
            "off.cross.3.1~paint.cross.1.2.3.4.0.5",
            Intervention(
                ablated=frozenset([Head("cross", 2, 0)]),
                painted=frozenset([PaintedCell(Head("cross", 0, 1), 2, 3, 0.5)]),
            ),
        ),
        ("intervention", "off.cross", None),
    ],
)
def test_a_choice_is_read_from_a_link_and_written_back(name: str, text: str, value: object) -> None:
    form = choice_forms.FORMS[name]
    assert form.read(text) == value
    if value is not None:
        assert form.read(form.write(value)) == value


def test_a_default_is_not_a_choice_and_depends_on_the_checkpoint(open_app: OpenApp) -> None:
    app = open_app("positions", checkpoint="multi30k-en-de")
    own = app.select_slider(key="width").value
    app.selectbox(key="checkpoint").set_value("everyday-de-en").run()
    other = app.select_slider(key="width").value
    assert other != own
    assert says(app, "the numbers that the checkpoint uses")
    app.select_slider(key="width").set_value(own).run()
    assert url(app)["width"] == str(own)
    assert says(app, "what-if")


def test_the_address_is_bare_until_a_choice_and_then_names_everything_that_the_picture_depends_on(
    open_app: OpenApp,
) -> None:
    app = open_app()
    assert url(app) == {}
    text = app.text_input(key="text").value
    app.selectbox(key="layer").set_value("2").run()
    assert url(app) == {
        **{"checkpoint": DEFAULT_CHECKPOINT, "text": text, "method": "greedy", "kind": "cross", "view": "heatmaps"},
        **{"layer": "2", "head": "1"},
    }
    app.selectbox(key="layer").set_value("3").run()  # as at first
    assert url(app) == {}


def test_a_link_is_stable_when_our_examples_change(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app()
    text = app.text_input(key="text").value
    link = url(app.selectbox(key="layer").set_value("2").run())
    monkeypatch.setattr(run_form, "offered_examples", lambda config: ["Another example."])
    assert open_app().text_input(key="text").value == "Another example."
    assert open_app(**link).text_input(key="text").value == text


def test_choices_follow_from_page_to_page(open_app: OpenApp) -> None:
    app = open_app()
    app.selectbox(key="layer").set_value("2").run()
    app.toggle(key="merge").set_value(True).run()
    for page in ("heads", "sentiment", "positions", "masks"):
        assert {"layer": "2", "merge": "true"}.items() <= url(go_to(app, page)).items()
    assert app.selectbox(key="layer").value == "2"
    go_to(app, "translate")
    assert app.toggle(key="merge").value
    app.toggle(key="merge").set_value(False).run()
    assert "merge" not in url(app)


def test_a_choice_that_a_page_or_checkpoint_cannot_show_is_kept_for_others(open_app: OpenApp) -> None:
    app = open_app(checkpoint="everyday-en-de", head="rollout", kind="encoder", layer="3")
    go_to(app, "heads")
    assert app.selectbox(key="head").value == "1"  # the map that one paints on is that of one head
    assert app.selectbox(key="layer").value == "3"
    go_to(app, "translate")
    assert app.selectbox(key="head").value == "rollout"
    app.selectbox(key="checkpoint").set_value("gru-de-en").run()  # has one kind, one layer, one head
    assert app.selectbox(key="layer").value == "1"
    app.selectbox(key="checkpoint").set_value("everyday-en-de").run()
    shown = [app.selectbox(key="layer").value, app.selectbox(key="head").value, app.session_state["kind"]]
    assert shown == ["3", "rollout", "encoder"]


@pytest.mark.parametrize("page", ["translate", "sentiment", "learning", "checkpoints"])
def test_a_link_to_a_missing_checkpoint_shows_only_a_message(open_app: OpenApp, page: str) -> None:
    app = open_app(page, checkpoint="mine")
    assert len(app.error) == 1
    assert "“mine”" in app.error[0].value
    assert "Choose another checkpoint on the left." in app.error[0].value
    assert not app.get("plotly_chart")
    assert not app.text_input
    assert app.selectbox(key="checkpoint").value is None
    app.selectbox(key="checkpoint").set_value("everyday-en-de").run()
    assert not app.error
    assert not app.exception


def test_side_by_side_names_a_missing_second_checkpoint(open_app: OpenApp) -> None:
    app = open_app("compare", beside="nope")
    assert "“nope”" in app.error[0].value
    assert not app.get("plotly_chart")


def test_the_url_is_written_once_per_run(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.runtime.state.query_params import QueryParams

    app = open_app()
    sent: list[None] = []
    send = QueryParams._send_query_param_msg
    monkeypatch.setattr(QueryParams, "_send_query_param_msg", lambda self: (sent.append(None), send(self))[1])
    for key, value in {"layer": "1", "head": "2"}.items():
        app.selectbox(key=key).set_value(value)
    app.toggle(key="norms").set_value(True).run()
    assert {"layer": "1", "head": "2", "norms": "true"}.items() <= url(app).items()
    assert len(sent) == 1
    app.run()
    assert len(sent) == 1


def test_back_restores_earlier_choices_and_defaults(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(layer="1")
    first_text = app.text_input(key="text").value
    app.selectbox(key="layer").set_value("2").run()
    app.toggle(key="merge").set_value(True).run()
    app.text_input(key="text").set_value("A cat sleeps.").run()
    monkeypatch.setattr(choices, "went_through_history", lambda: True)  # with an older URL
    app.query_params.clear()
    app.query_params["layer"] = "1"
    app.run()
    assert app.selectbox(key="layer").value == "1"
    assert not app.toggle(key="merge").value
    assert app.text_input(key="text").value == first_text
    monkeypatch.setattr(choices, "went_through_history", lambda: False)
    app.toggle(key="merge").set_value(True).run()
    assert {"layer": "1", "merge": "true"}.items() <= url(app).items()


def test_an_older_url_from_the_browser_takes_no_choice_back(open_app: OpenApp) -> None:
    app = open_app()
    app.selectbox(key="layer").set_value("2").run()
    app.query_params.clear()  # as a browser sends it after a fast second click
    app.toggle(key="merge").set_value(True).run()
    assert app.selectbox(key="layer").value == "2"
    assert {"layer": "2", "merge": "true"}.items() <= url(app).items()


def test_the_last_url_is_written_although_the_browser_still_sends_an_older_one(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    from streamlit.runtime.state.query_params import QueryParams

    app = open_app()
    older = url(app.selectbox(key="layer").set_value("2").run())
    app.selectbox(key="layer").set_value("1").run()  # of this the browser has not heard when it sends the next
    sent: list[str] = []
    send = QueryParams._send_query_param_msg
    monkeypatch.setattr(
        QueryParams,
        "_send_query_param_msg",
        lambda self: (sent.append(str(self.to_dict().get("layer"))), send(self))[1],
    )
    app.query_params.clear()
    app.query_params.update(older)
    app.selectbox(key="layer").set_value("2").run()
    assert sent == ["2"]


def test_a_text_too_long_for_a_link_is_noted_and_its_forced_tokens_stay_out_too(open_app: OpenApp) -> None:
    short, long = "A dog runs. " * 60, "A dog runs. " * 160
    assert len(quote(short)) <= choice_forms.MAX_IN_URL < len(quote(long))
    app = open_app("steps", text=short, forced="1.300")
    assert {"text": short, "forced": "1.300"}.items() <= url(app).items()
    assert not says(app, "too long for a link")
    app.text_input(key="text").set_value(long).run()
    app.session_state["forced"] = ((1, 300),)
    app.run()
    assert app.session_state["forced"] == ((1, 300),)
    assert not {"text", "forced"} & url(app).keys()
    assert says(app, "too long for a link")
    app = open_app("sentiment")
    app.text_area(key="review").set_value(long).run()
    assert says(app, "too long for a link")


def test_back_does_not_lose_a_text_too_long_for_a_link(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app("sentiment")
    app.text_area(key="review").set_value("A good film. " * 200).run()
    monkeypatch.setattr(choices, "went_through_history", lambda: True)
    app.run()
    assert app.text_area(key="review").value == "A good film. " * 200


def test_forced_tokens_belong_to_their_sentence(open_app: OpenApp) -> None:
    app = open_app("steps", text="A dog runs.", forced="1.300")
    assert app.session_state["forced"] == ((1, 300),)
    app.text_input(key="text").set_value("A cat sleeps.").run()
    assert app.session_state["forced"] == ()
    assert (url(app)["text"], url(app).get("forced")) == ("A cat sleeps.", None)
    app.text_input(key="text").set_value("A dog runs.").run()
    assert app.session_state["forced"] == ((1, 300),)


def test_changed_heads_belong_to_their_checkpoint(open_app: OpenApp) -> None:
    changed = "off.cross.3.1~paint.cross.1.1.2.2.0.5"
    app = open_app("heads", checkpoint=NAME, intervention=changed, text="A typed sentence.")
    app.selectbox(key="checkpoint").set_value("everyday-en-de").run()
    assert "intervention" not in url(app)
    assert not app.session_state["intervention"]
    assert app.text_input(key="text").value == "A typed sentence.", "a sentence belongs to the visitor"
    go_to(app, "translate")
    app.selectbox(key="checkpoint").set_value(NAME).run()
    go_to(app, "heads")
    assert url(app)["intervention"] == changed


def test_changed_heads_of_a_missing_checkpoint_wait_for_it(open_app: OpenApp) -> None:
    app = open_app(checkpoint="mine", intervention="off.cross.3.1", text="A dog runs.", forced="1.300")
    app.selectbox(key="checkpoint").set_value(NAME).run()
    assert not {"intervention", "forced"} & url(app).keys()
    assert url(app)["text"] == "A dog runs."


def test_back_gives_paintings_too_long_for_a_link_to_their_checkpoint(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def paint(app: AppTest, count: int) -> Intervention:
        cells = (PaintedCell(Head("cross", i // 48, i // 12 % 4), i % 12, 1, 0.5) for i in range(count))
        app.session_state["intervention"] = painting = Intervention(painted=frozenset(cells))
        app.run()
        assert "intervention" not in url(app)
        return painting

    def back(checkpoint: str) -> object:
        app.query_params.clear()
        app.query_params["checkpoint"] = checkpoint
        with monkeypatch.context() as history:
            history.setattr(choices, "went_through_history", lambda: True)
            app.run()
        assert app.selectbox(key="checkpoint").value == checkpoint
        return app.session_state["intervention"]

    other = "everyday-en-de"
    app = open_app("heads", checkpoint=NAME)
    own = paint(app, 144)
    app.selectbox(key="checkpoint").set_value(other).run()
    assert back(NAME) == own
    assert back(NAME) == own
    assert not back(other)
    of_other = paint(app, 143)
    assert back(NAME) == own
    assert back(other) == of_other


def test_back_to_another_sentence_leaves_nothing_to_undo(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app("steps", text="A dog runs.", forced="1.300")
    app.session_state["forced"], app.session_state["forced_earlier"] = ((1, 301),), [((1, 300),)]
    app.run()
    assert not app.button[0].disabled
    app.query_params.clear()
    app.query_params["text"] = "A cat sleeps."
    monkeypatch.setattr(choices, "went_through_history", lambda: True)
    app.run()
    assert app.session_state["forced"] == ()
    assert app.button[0].disabled


def test_a_typed_translation_belongs_to_its_text_and_another_search_to_the_visitor(open_app: OpenApp) -> None:
    def show(text: str) -> str:
        return str(app.text_input(key="text").set_value(text).run().session_state["method"])

    first, second = "A dog runs.", "A cat sleeps."
    app = open_app(text=first, method="typed", typed="Ein Hund rennt.")
    assert show(second) == "greedy"
    app.session_state["method"] = "beam"
    assert show(second) == "beam"
    assert (show(first), app.session_state["typed"]) == ("typed", "Ein Hund rennt.")
    assert show(second) == "beam"
    assert show(first) == "typed"
    assert show("A boy sings.") == "beam"


def test_the_classifier_has_its_own_layer_and_head(open_app: OpenApp) -> None:
    app = open_app(layer="3", head="5", kind="encoder")
    go_to(app, "sentiment")
    assert app.selectbox(key="review_layer").value == "1"
    go_to(app, "translate")
    assert (app.selectbox(key="layer").value, app.selectbox(key="head").value) == ("3", "5")
