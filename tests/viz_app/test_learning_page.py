"""Watch it learn: the pictures and the table are those of the snapshots."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.learning import open_snapshot, outcome, stage
from model.checkpoint import find_snapshots, load_checkpoint
from model.inference.translate import translate
from tests.conftest import BUNDLED
from tests.viz_app.conftest import array, charts

OpenApp = Callable[..., AppTest]
NAME, TEXT = "multi30k-en-de", "A woman reads a newspaper."


def test_every_frame_and_every_line_is_a_snapshots(open_app: OpenApp) -> None:
    app = open_app("learning", checkpoint=NAME, text=TEXT, layer="2", head="5")
    checkpoint = load_checkpoint(BUNDLED / NAME)
    trained = translate(checkpoint, TEXT)
    snapshots = find_snapshots(checkpoint.path).values()
    stages = [*(stage(open_snapshot(checkpoint, path), TEXT, trained) for path in snapshots), outcome(trained)]
    table = app.dataframe[0].value
    assert [text.removesuffix(" …") for text in table["translation"]] == [one.text for one in stages]
    np.testing.assert_allclose(table["loss, nats a token"], [one.loss for one in stages], atol=1e-5)
    (figure,) = charts(app)
    assert [frame["name"] for frame in figure["frames"]] == list(table["after"])
    for frame, one in zip(figure["frames"], stages, strict=True):
        np.testing.assert_allclose(array(frame["data"][1]["z"]), one.maps["cross"][1, 4], atol=1e-6)
    # What is shown at first is the end of the training.
    np.testing.assert_allclose(array(figure["data"][1]["z"]), trained.maps["cross"][1, 4], atol=1e-5)
    assert figure["layout"]["sliders"][0]["active"] == len(stages) - 1


def test_the_masked_half_stays_empty_in_every_frame(open_app: OpenApp) -> None:
    app = open_app("learning", checkpoint=NAME, text=TEXT, kind="decoder")
    (figure,) = charts(app)
    for frame in figure["frames"]:
        z = array(frame["data"][1]["z"]).astype(float)
        np.testing.assert_array_equal(np.isnan(z), ~np.tri(*z.shape, dtype=bool))


def test_who_chose_a_checkpoint_without_snapshots_sees_one_that_has_them(open_app: OpenApp) -> None:
    app = open_app("learning", checkpoint="everyday-de-en", text=TEXT)
    assert f"follows {NAME}" in app.caption[0].value.replace("\\", "")
    assert charts(app)


@pytest.mark.parametrize("text", ["", "word " * 200])
def test_nothing_and_much_get_a_sentence(open_app: OpenApp, text: str) -> None:
    app = open_app("learning", checkpoint=NAME, text=text)
    assert len(app.info) == 1
    assert not charts(app)


def test_without_any_snapshots_a_sentence_says_how_to_get_them(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("viz_app.checkpoint_choice.snapshots_of", lambda folder: {})
    app = open_app("learning")
    assert "snapshot_steps" in app.error[0].value


def test_only_translators_that_attend_are_followed(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("gru-de-en-plain", "imdb-sentiment"):
        shutil.copytree(BUNDLED / name, tmp_path / f"kept-{name}")
        (tmp_path / f"kept-{name}" / "snapshots").mkdir()
        for step in (0, 10):
            weights = tmp_path / f"kept-{name}" / "snapshots" / f"step-{step:06d}.safetensors"
            shutil.copy(BUNDLED / name / "model.safetensors", weights)
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    for name in ("gru-de-en-plain", "imdb-sentiment"):
        app = open_app("learning", checkpoint=f"kept-{name}", text=TEXT)
        assert f"follows {NAME}" in app.caption[0].value.replace("\\", "")
