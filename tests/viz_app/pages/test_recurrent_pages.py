"""The pages for a recurrent network, with attention and without."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import load_checkpoint
from model.inference.translate import translate
from tests.viz_app.conftest import charts, component_data, head_map, html, maps

OpenApp = Callable[..., AppTest]
TEXT = "The dog sees the cat."


@pytest.fixture
def open_recurrent(
    request: pytest.FixtureRequest, open_app: OpenApp, toys: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> OpenApp:
    folder = toys(f"recurrent-{request.param}")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder.parent))
    return lambda page="translate", **query: open_app(page, checkpoint=folder.name, text=TEXT, **query)


@pytest.mark.parametrize("open_recurrent", ["additive"], indirect=True)
def test_the_page_shows_its_only_map(open_recurrent: OpenApp, toys: Callable[[str], Path]) -> None:
    expected = translate(load_checkpoint(toys("recurrent-additive")), TEXT)
    app = open_recurrent()
    assert expected.text in html(app)
    shown = head_map(app)
    np.testing.assert_allclose(shown, expected.maps["cross"][0, 0], atol=1e-6)
    assert app.toggle(key="norms").disabled
    steps = component_data(open_recurrent("steps"), "stepper")
    assert (steps["kind"], steps["shape"]) == ("cross", [1, 1])
    for tab in ("Ablation board", "What heads do", "Importance"):
        heads = open_recurrent("heads", heads_tab=tab)
        assert len(charts(heads) + maps(heads)) == 1


@pytest.mark.parametrize("open_recurrent", ["additive"], indirect=True)
@pytest.mark.parametrize("page", ["inside", "positions", "masks"])
def test_pages_about_other_parts_name_the_missing_part(open_recurrent: OpenApp, page: str) -> None:
    (info,) = open_recurrent(page).info
    assert "is a recurrent network" in info.value


@pytest.mark.parametrize("open_recurrent", ["none"], indirect=True)
@pytest.mark.parametrize("page", ["translate", "steps", "inside", "positions", "masks", "heads", "checkpoints"])
def test_without_attention_there_is_only_a_translation(
    open_recurrent: OpenApp, toys: Callable[[str], Path], page: str
) -> None:
    app = open_recurrent(page)
    assert not charts(app)
    assert not maps(app)
    if page == "translate":
        assert translate(load_checkpoint(toys("recurrent-none")), TEXT).text in html(app)
        assert "has no attention" in app.info[0].value
    elif page != "checkpoints":
        assert len(app.info) == 1
