"""A model with other kinds of attention: the pages show its own numbers."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import nn

from model.analysis.anatomy import anatomy
from model.checkpoints.checkpoint import load_checkpoint
from model.config.model import ModelConfig
from model.files import save_weights
from model.network.transformer import Transformer
from tests.conftest import BUNDLED
from tests.model.analysis.follow import follow
from tests.viz_app.conftest import array, charts

OpenApp = Callable[..., AppTest]
TEXT = "Where is the station?"
CHANGES = {"positional": "relative", "num_kv_heads": 4, "score_cap": 2.0, "attention_sinks": True}


@pytest.fixture
def unusual(tmp_path: Path) -> Path:
    """The tokenizer of a bundled checkpoint with a random model."""
    folder = tmp_path / "all" / "unusual"
    shutil.copytree(BUNDLED / "everyday-en-de", folder)
    values = json.loads((folder / "config.json").read_text())
    values["model"] |= CHANGES
    (folder / "config.json").write_text(json.dumps(values))
    model = Transformer(ModelConfig.from_dict(values["model"]))
    for name, parameter in model.named_parameters():
        if name.endswith(("bias", "sinks", "table")):
            nn.init.normal_(parameter, std=0.5)
    save_weights(folder / "model.safetensors", dict(model.named_parameters()))
    return folder


def test_the_pages_show_the_limit_the_distance_the_sink_and_the_shared_keys(
    open_app: OpenApp, unusual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = load_checkpoint(unusual)
    parts = anatomy(follow(checkpoint, TEXT), "encoder", 1)
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(unusual.parent))
    choices = {"checkpoint": "unusual", "kind": "encoder", "layer": "2", "head": "3", "query": "2", "text": TEXT}
    app = open_app("inside", **choices)
    table = app.dataframe[0].value
    np.testing.assert_allclose(table["weight α"], parts.weights[2, 2], atol=1e-5)
    np.testing.assert_allclose(table["the model's own"], parts.weights[2, 2], atol=1e-6)
    limited = table["limited to ±2"].to_numpy()
    assert np.abs(limited).max() < 2
    assert parts.distances is not None
    np.testing.assert_allclose(table["+ distance"], limited + parts.distances[2, 2], atol=1e-5)
    captions = [caption.value for caption in app.caption]
    assert any(f"sum to {parts.weights[2, 2].sum():.3f} and not to 1" in caption for caption in captions)
    assert any("Heads 3 to 4 share these keys and values" in caption for caption in captions)

    app = open_app("positions", checkpoint="unusual")
    encoder, decoder = (chart["data"] for chart in charts(app))
    positions = checkpoint.model.encoder.layers[0].self_attention.positions
    with torch.no_grad():
        expected = positions.by_distance(torch.arange(-12, 13))[0].numpy()
    np.testing.assert_allclose([array(curve["y"]) for curve in encoder], expected, atol=1e-6)
    assert len(decoder) == len(encoder) == 8
