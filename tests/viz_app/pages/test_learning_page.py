"""Watch it learn: the pictures and the table show what each snapshot computes."""

import base64
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.learning import open_snapshot, run_snapshot, trained_result
from model.checkpoints.checkpoint import CheckpointError, at_snapshot, find_snapshots, load_checkpoint, snapshot_path
from model.inference.translate import translate
from tests.conftest import BUNDLED
from tests.viz_app.conftest import component_data, in_url
from viz_app.services.listing import CheckpointKey
from viz_app.services.models import attempt_of

OpenApp = Callable[..., AppTest]
NAME, TEXT = "multi30k-en-de", "A woman reads a newspaper."


def test_every_map_and_every_row_comes_from_its_snapshot(open_app: OpenApp) -> None:
    app = open_app("learning", checkpoint=NAME, text=TEXT, layer="2", head="5")
    checkpoint = load_checkpoint(BUNDLED / NAME)
    trained = translate(checkpoint, TEXT)
    snapshots = find_snapshots(checkpoint.path).values()
    stages = [
        *(run_snapshot(open_snapshot(checkpoint, path), TEXT, trained) for path in snapshots),
        trained_result(trained),
    ]
    table = app.dataframe[0].value
    assert [text.removesuffix(" …") for text in table["translation"]] == [one.text for one in stages]
    np.testing.assert_allclose(table["loss, nats per token"], [one.loss for one in stages], atol=1e-5)
    data = component_data(app, "training_player")
    assert [one["name"] for one in data["snapshots"]] == list(table["after"])
    assert [one["text"] for one in data["snapshots"]] == list(table["translation"])
    shape = len(stages), len(data["queries"]), len(data["keys"])
    weights = np.frombuffer(base64.b64decode(data["weights"]), "<f4").reshape(shape)
    np.testing.assert_allclose(weights, [one.maps["cross"][1, 4] for one in stages], atol=1e-5)
    for one, sent in zip(stages, data["snapshots"], strict=True):
        maps = one.maps["cross"]
        levels = np.frombuffer(base64.b64decode(sent["tiles"]["levels"]), dtype=np.uint8).reshape(maps.shape)
        np.testing.assert_allclose(levels / 253, maps, atol=0.5 / 253 + 1e-5)
    # The page opens with the end of the training run.
    assert data["snapshot"] == len(stages) - 1


def test_a_snapshot_replaces_a_checkpoint_that_is_not_saved_yet(tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "snapshots"):
        (tmp_path / name).symlink_to(BUNDLED / NAME / name)
    key = CheckpointKey(path=str(tmp_path), version="1")
    checkpoint = load_checkpoint(BUNDLED / NAME)
    for step, weights in list(find_snapshots(checkpoint.path).items())[::4]:
        assert attempt_of(key, TEXT, "Eine Frau.", step)[0] == translate(at_snapshot(checkpoint, weights), TEXT).text
    with pytest.raises(CheckpointError):
        attempt_of(key, TEXT, "Eine Frau.")


def test_a_link_keeps_the_snapshot_and_another_head_does_not_change_it(open_app: OpenApp) -> None:
    app = open_app("learning", checkpoint=NAME, text=TEXT, snapshot="1000")
    shown = component_data(app, "training_player")
    assert shown["snapshots"][shown["snapshot"]]["name"] == "step 1,000"
    app.selectbox(key="head").set_value("3").run()
    after = component_data(app, "training_player")
    assert (after["snapshot"], after["chosen"] % after["heads"]) == (shown["snapshot"], 2)
    assert in_url(app, "snapshot") == "1000"


def test_a_checkpoint_without_snapshots_is_replaced_by_one_with_snapshots(open_app: OpenApp) -> None:
    app = open_app("learning", checkpoint="everyday-de-en", text=TEXT)
    assert f"shows {NAME}" in app.caption[0].value.replace("\\", "")
    assert component_data(app, "training_player")


@pytest.mark.parametrize("text", ["", "word " * 200])
def test_an_empty_and_a_long_text_get_a_sentence(open_app: OpenApp, text: str) -> None:
    app = open_app("learning", checkpoint=NAME, text=text)
    assert len(app.info) == 1
    assert not app.dataframe


def test_without_any_snapshots_a_sentence_says_how_to_get_them(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("viz_app.widgets.checkpoint_choice.list_snapshots", lambda folder: {})
    app = open_app("learning")
    assert "snapshot_steps" in app.error[0].value


def test_a_damaged_snapshot_shows_its_message_and_the_others_stay(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "half-broken"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder / name).symlink_to(BUNDLED / NAME / name)
    (folder / "snapshots").mkdir()
    steps = list(find_snapshots(BUNDLED / NAME))[:4]
    for step in steps:
        weights = snapshot_path(folder, step)
        weights.symlink_to(snapshot_path(BUNDLED / NAME, step))
    weights.unlink()
    weights.write_bytes(b"nothing")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    app = open_app("learning", checkpoint="half-broken", text=TEXT)
    assert len(app.error) == 1
    assert f"{weights.name} of snapshots is damaged" in app.error[0].value.replace("\\", "")
    assert list(app.dataframe[0].value["after"]) == [*(f"step {step:,}" for step in steps[:3]), "trained"]


def test_only_translators_with_attention_are_followed(
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
        assert f"shows {NAME}" in app.caption[0].value.replace("\\", "")
