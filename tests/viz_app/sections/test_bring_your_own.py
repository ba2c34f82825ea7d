"""Checkpoints: the page says that a visitor's checkpoint is open only if it is."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.inference.translate import translate
from tests.conftest import BUNDLED
from tests.model.checkpoints.test_recognition import saved
from tests.model.checkpoints.tutorial_layouts import HEADS, SPELLINGS
from tests.viz_app.conftest import NAME

OpenApp = Callable[..., AppTest]


@pytest.fixture
def bring(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], AppTest]:
    """Type a folder of this computer on the page Checkpoints, and press Open it."""
    monkeypatch.setattr("viz_app.sections.checkpoints.only_this_computer", lambda: True)
    app = open_app("checkpoints", checkpoint=NAME, open_your_own="true")
    app.session_state["open_your_own"] = True
    app.run()

    def press(folder: Path) -> AppTest:
        app.text_input(key="folder_to_open").set_value(str(folder))
        next(button for button in app.button if button.label == "Open it").click().run()
        assert not app.exception
        return app

    return press


def test_the_page_says_that_a_folder_is_open_only_if_it_is(bring: Callable[[Path], AppTest], tmp_path: Path) -> None:
    good, bad_config, bad_weights = (
        shutil.copytree(BUNDLED / NAME, tmp_path / name, ignore=shutil.ignore_patterns("snapshots"))
        for name in ("good", "bad-config", "bad-weights")
    )
    (bad_config / "config.json").write_text("[]")
    (bad_weights / "model.safetensors").write_bytes(b"damaged")
    app = bring(good)
    assert [message.value for message in app.success] == ["good is open and chosen on the left."]
    assert not app.error
    app.run()
    assert not app.success  # shown once
    app = bring(bad_config)
    assert not app.success
    assert [message.value for message in app.error] == [
        r"config\.json of bad\-config cannot be used\: it is not a JSON object\."
    ]
    assert app.selectbox(key="checkpoint").value == "good"
    app = bring(bad_weights)
    assert not app.success
    assert "damaged" in app.error[0].value
    app = bring(tmp_path / "missing?")
    assert not app.success
    assert "There is no folder" in app.error[0].value


def test_a_model_that_is_too_large_is_refused_before_it_is_opened(
    bring: Callable[[Path], AppTest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = shutil.copytree(BUNDLED / NAME, tmp_path / "large", ignore=shutil.ignore_patterns("snapshots"))
    monkeypatch.setattr("viz_app.session.own_checkpoints.MODELS_SHARE", 1_000_000)
    app = bring(large)
    assert "of memory\\. The limit here is 0\\.0 GB\\. Choose a smaller model\\." in app.error[0].value
    assert app.selectbox(key="checkpoint").value == NAME


def test_the_table_states_the_memory_of_each_model(open_app: OpenApp) -> None:
    table = open_app("checkpoints", checkpoint=NAME).dataframe[0].value
    row = table[table["checkpoint"] == NAME].iloc[0]
    sizes = load_checkpoint(BUNDLED / NAME).model
    assert row["memory, MB"] == pytest.approx(4e-6 * sum(p.numel() for p in sizes.parameters()), rel=0.02)
    maps = count_maps(load_checkpoint(BUNDLED / NAME))
    assert row["maps, MB"] == pytest.approx(4e-6 * 100 * 100 * maps)


def test_weights_without_a_description_open_after_the_questions_that_they_leave_open(
    bring: Callable[[Path], AppTest], tmp_path: Path
) -> None:
    saved(tmp_path / "tutorial", SPELLINGS["PyTorch tutorial"], **{"criterion.weight": torch.ones(3)})
    app = bring(tmp_path / "tutorial")
    asked = {box.key.removeprefix("answer_model."): box for box in app.selectbox if box.key.startswith("answer_")}
    assert set(asked) == {"num_heads", "norm", "activation"}
    asked["num_heads"].select(HEADS)
    asked["norm"].select("post")
    form = next(button for button in app.button if button.form_id == "describe")
    form.click().run()
    assert "Answer each question" in app.error[0].value
    app.selectbox(key="answer_model.activation").select("relu")
    next(button for button in app.button if button.form_id == "describe").click().run()
    assert [message.value for message in app.success] == ["tutorial is open and chosen on the left."]
    assert not [box for box in app.selectbox if box.key.startswith("answer_")]
    app.session_state["checkpoint_tab"] = "configuration"
    app.run()
    assert f"num_heads = {HEADS}" in next(block.value for block in app.code)
    assert "ignores these tensors" in app.info[0].value
    assert (tmp_path / "tutorial" / "headlight.toml").is_file()


def count_maps(checkpoint: Checkpoint) -> int:
    """How many maps a translation has."""
    return sum(maps.shape[0] * maps.shape[1] for maps in translate(checkpoint, "Ja.").maps.values())
