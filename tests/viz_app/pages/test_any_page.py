"""Every page, whatever text, link or checkpoint it is opened with."""

import gc
import re
import sys
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import load_classifier
from model.inference.classify import classify
from tests.conftest import BUNDLED
from tests.viz_app.conftest import NAME, head_map, html, in_url
from viz_app.content.examples import REVIEWS
from viz_app.content.shared import PAGES
from viz_app.session.choice_forms import OLD_TABS

OpenApp = Callable[..., AppTest]


@pytest.mark.parametrize("page", PAGES)
def test_no_link_breaks_a_page(open_app: OpenApp, page: str) -> None:
    numbers = ("query", "shift", "shuffle", "beam_size", "top_k", "seed", "length", "width", "sentence")
    fractions = ("head_temperature", "painted_weight", "temperature", "top_p")
    words = (
        "view",
        "bug",
        "metric",
        "steps_view",
        "steps_kind",
        "sentences_from",
        "click_means",
        "reading",
        "method",
        "compare",
    )
    for value in ("0", "999", "x"):
        app = open_app(page, **dict.fromkeys((*numbers, *fractions, *words), value))
        assert not app.error


@pytest.mark.parametrize(
    ("page", "choice", "tab", "seen"),
    [
        ("positions", "position_tab", "Distances and rotation", "Dot product"),
        ("masks", "mask_tab", "Bug lab", "1e-12"),
        ("heads", "heads_tab", "Importance", "Gradient estimate"),
        ("checkpoints", "checkpoint_tab", "Training curves", "Loss"),
    ],
)
def test_a_link_opens_the_tab_that_was_open(open_app: OpenApp, page: str, choice: str, tab: str, seen: str) -> None:
    app = open_app(page, checkpoint=NAME, **{choice: tab})
    assert any(seen in text for text in [html(app), *(element.value for element in [*app.markdown, *app.caption])])
    assert in_url(app, choice) == OLD_TABS[tab]  # the link names the tab by its label, as links once did


@pytest.mark.parametrize("name", [NAME, "imdb-sentiment"])
def test_sentiment_opens_on_a_review_whatever_checkpoint_is_chosen(open_app: OpenApp, name: str) -> None:
    app = open_app("sentiment", checkpoint=name)
    classifier = load_classifier(BUNDLED / "imdb-sentiment")
    for review in REVIEWS[:2]:
        app.text_area(key="review").set_value(review).run()
        expected = classify(classifier, review)
        shown = re.search(rf"{expected.label}: ([\d.]+)\s%", html(app))
        assert shown
        # The screen has one decimal, and the last bit may round it up or down.
        assert float(shown[1]) == pytest.approx(100 * expected.probabilities[expected.label], abs=0.051)
        np.testing.assert_allclose(head_map(app), expected.encoder[0, 0], atol=1e-5)
    for unread in ("我爱你。", "😀😀", "asdf qwertz"):
        assert not any("largely a guess" in caption.value for caption in app.caption)
        app.text_area(key="review").set_value(unread).run()
        assert any("largely a guess" in caption.value for caption in app.caption)
        app.text_area(key="review").set_value("My name is Anna.").run()
    app.text_area(key="review").set_value("good " * 3000).run()
    assert not app.exception
    assert "from the middle of the review" in app.warning[0].value
    app.text_area(key="review").set_value("  ").run()
    assert "Type a review" in app.info[0].value


@pytest.mark.parametrize("page", ["steps", "inside", "heads", "masks", "positions"])
@pytest.mark.parametrize("text", ["", "🐕‍🦺", "</script><b>$x$", "wort " * 300])
def test_any_text_gives_a_sensible_page(open_app: OpenApp, page: str, text: str) -> None:
    app = open_app(page, checkpoint="multi30k-de-en-words", text=text)
    assert not app.exception
    assert not app.error


@pytest.mark.parametrize("page", ["translate", "steps", "compare"])
def test_a_page_for_translators_links_to_sentiment_for_a_classifier(open_app: OpenApp, page: str) -> None:
    app = open_app(page, checkpoint="imdb-sentiment")
    assert "classifies texts and does not translate" in app.info[0].value
    link = app.get("page_link")[0].proto
    assert link.page == "sentiment"
    assert "Sentiment" in link.label


@pytest.mark.parametrize(
    ("page", "choices"),
    [
        ("translate", {}),
        *(("translate", {"view": view}) for view in ("lines", "head", "model")),
        ("translate", {"text": "Ein Hund rennt durch den Schnee. " * 9}),
        ("checkpoints", {}),
        ("steps", {}),
        ("steps", {"steps_view": "beam"}),
        ("inside", {}),
        *(("inside", {"inside_tab": tab}) for tab in ("stations", "layers", "why", "read")),
        ("positions", {}),
        ("masks", {}),
        ("masks", {"mask_tab": "bugs"}),
        ("heads", {}),
        *(("heads", {"heads_tab": tab}) for tab in ("alignment", "paste")),
        ("compare", {}),
        ("learning", {}),
        ("training", {}),
        ("sentiment", {}),
        (
            "circuits",
            {"checkpoint": "tiny-gpt-en", "text": "Tom saw Anna.", "giver": "Tom saw Mei.", "circuit_edges": 20},
        ),
    ],
)
def test_a_session_keeps_nothing_that_a_page_computed(
    open_app: OpenApp, page: str, choices: dict[str, str | int]
) -> None:
    # Streamlit keeps 128 sessions after their visitors have left, each with the callbacks of its last page. One that
    # is a function of the page, or closes over a result, would keep all the maps of a long text alive with it.
    app = open_app(page, **{"checkpoint": NAME, **choices})
    assert {name: app.session_state[name] for name in choices} == choices
    assert sum(found.nbytes for found in arrays_held_by(app.session_state)) == 0


def arrays_held_by(owner: object) -> list[np.ndarray]:
    """All arrays that can be reached from an object, but for those of modules and classes."""
    loaded = {id(vars(module)) for module in list(sys.modules.values()) if isinstance(module, ModuleType)}
    reached, waiting = {id(owner): owner}, [owner]
    while waiting:
        for found in gc.get_referents(waiting.pop()):
            if id(found) not in reached and id(found) not in loaded and not isinstance(found, (ModuleType, type)):
                reached[id(found)] = found
                waiting.append(found)
    return [found for found in reached.values() if isinstance(found, np.ndarray)]
