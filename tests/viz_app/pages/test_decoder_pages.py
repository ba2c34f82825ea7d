"""Pages with the language models of tutorials: what the screen says about positions and about typed text is true."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from model.inference.opening import open_translator
from model.inference.translate import translate
from tests.model.foreign.decoder_layouts import TEXT, tutorial
from tests.model.foreign.test_decoders import described, saved
from tests.viz_app.conftest import head_map

OpenApp = Callable[..., AppTest]
MODELS = {"gpt": "nanoGPT", "llama": "llama2.c", "waves": "PyTorch's tutorial", "table": "PyTorch's tutorial"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("decoders")
    for name, layout in MODELS.items():
        made = tutorial(layout)
        if name == "table":
            made.tensors["pos_encoder.pe"] = torch.randn_like(made.tensors["pos_encoder.pe"])
        described(saved(root / name, made))
    vocabulary = root / "gpt" / "vocab.txt"
    vocabulary.write_text(vocabulary.read_text().replace("<unk>", "never"))  # without a token for unknown words
    description = root / "gpt" / "headlight.toml"
    description.write_text(description.read_text().replace('unknown = "<unk>"', ""))
    return root


@pytest.fixture
def open_with(open_app: OpenApp, folder: Path, monkeypatch: pytest.MonkeyPatch) -> OpenApp:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))
    return open_app


def test_the_map_on_the_screen_is_that_of_the_model_and_left_out_words_are_named(
    open_with: OpenApp, folder: Path
) -> None:
    app = open_with(checkpoint="gpt", text=f"{TEXT} zebra", layer="2", head="3")
    expected = translate(open_translator(folder / "gpt"), TEXT).maps["decoder"][1, 2][:40, :40]
    np.testing.assert_allclose(np.nan_to_num(head_map(app)), expected, atol=1e-6)
    (warning,) = [element.value for element in app.warning]
    assert "“zebra”" in warning


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt", "**learned**"),
        ("waves", "**sinusoids**"),
        ("table", "**table**"),
        ("llama", "rotates queries"),
    ],
)
def test_the_page_on_positions_names_those_of_the_model(open_with: OpenApp, name: str, words: str) -> None:
    app = open_with("positions", checkpoint=name, text=TEXT)
    said = " ".join(element.value for element in (*app.markdown, *app.info))
    assert words in said
    others = {"**learned**", "**sinusoids**", "**table**"} - {words}
    assert not any(other in said for other in others)
