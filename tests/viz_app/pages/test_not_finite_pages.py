"""A model with a weight that is not a number: every page says so, stays usable, and shows such cells as such."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest

from tests.conftest import BUNDLED
from tests.viz_app.conftest import array, charts, html
from viz_app.figures.colours import NOT_A_NUMBER

OpenApp = Callable[..., AppTest]
PLACES = (
    ("translate", {"kind": "encoder", "layer": "2"}),
    ("translate", {"method": "beam"}),
    ("translate", {"method": "sample", "head": "rollout"}),
    ("steps", {"steps_view": "tree"}),
    ("inside", {"layer": "2"}),
    ("inside", {"inside_tab": "stations"}),
    ("inside", {"inside_tab": "layers"}),
    ("inside", {"inside_tab": "why"}),
    ("inside", {"inside_tab": "read"}),
    ("heads", {"heads_tab": "board", "intervention": "off.encoder.2.3"}),
    ("heads", {"heads_tab": "roles"}),
    ("heads", {"heads_tab": "paste"}),
    ("masks", {"mask_tab": "bugs", "bug": "fill"}),
    ("positions", {"position_tab": "sentence"}),
    ("compare", {}),
    ("checkpoints", {}),
)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three copies: one query of layer 2 in a translator, and one weight in a classifier and a language model."""
    folder = tmp_path_factory.mktemp("all")
    for base, name, tensor in (
        ("everyday-de-en", "broken", "encoder.layers.1.self_attention.query_projection.bias"),
        ("imdb-sentiment", "broken-class", "encoder.layers.0.self_attention.query_projection.bias"),
        ("tiny-gpt-en", "broken-gpt", "transformer.h.0.attn.c_attn.bias"),
    ):
        shutil.copytree(BUNDLED / base, folder / name)
        weights = load_file(folder / name / "model.safetensors")
        weights[tensor][5] = math.nan
        save_file(weights, folder / name / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize(("page", "choices"), PLACES)
def test_a_page_says_what_is_not_finite_and_stays_usable(
    open_app: OpenApp, broken: Path, monkeypatch: pytest.MonkeyPatch, page: str, choices: dict[str, str]
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(broken))
    app = open_app(page, checkpoint="broken", **choices)
    assert not app.error, app.error
    assert any("weights that are not finite" in warning.value for warning in app.warning)


@pytest.mark.parametrize(("name", "page"), [("broken-class", "sentiment"), ("broken-gpt", "translate")])
def test_a_classifier_and_a_language_model_too(
    open_app: OpenApp, broken: Path, monkeypatch: pytest.MonkeyPatch, name: str, page: str
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(broken))
    app = open_app(page, checkpoint=name)
    assert not app.error, app.error
    assert any("weights that are not finite" in warning.value for warning in app.warning)
    assert "not a number" in html(app)


def test_roles_are_not_a_number_and_only_where_the_weights_are_none(
    open_app: OpenApp, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(broken))
    app = open_app("heads", checkpoint="broken", heads_tab="roles")
    roles = next(chart for chart in charts(app) if any(trace.get("name") == "not a number" for trace in chart["data"]))
    numbers, overlay = array(roles["data"][0]["z"]), array(roles["data"][1]["z"])
    assert roles["data"][1]["colorscale"][0][1] == NOT_A_NUMBER
    assert np.isnan(numbers[overlay == 1]).all()
    assert np.isfinite(numbers[0, 9:17]).all()  # layer 1 of the encoder comes before the broken weight
    assert (overlay == 1).any()
