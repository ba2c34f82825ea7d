"""A number that is not finite is found when a checkpoint is opened, and stays one in every result."""

import io
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import load_file, save_file

from headlight import open_checkpoint as open_in_notebook
from model.analysis.statistics import entropy, head_metrics, strongest, suggested_role
from model.checkpoints.checkpoint import Checkpoint
from model.cli.main import main
from model.config.search import SearchConfig
from model.inference.export import maps_csv, maps_json, maps_npz
from model.inference.opening import open_checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention
from tests.foreign_folders import make_folder

Break = Callable[[str, float], Path]
SENTENCE = "The dog sees the cat."
QUERY = "decoder.layers.0.cross_attention.query_projection.bias"


@pytest.fixture
def break_toy(toys: Callable[[str], Path], tmp_path: Path) -> Break:
    """Copy a checkpoint, and replace the first number of one tensor."""

    def broken(name: str, value: float) -> Path:
        folder = shutil.copytree(toys("bpe"), tmp_path / "broken")
        weights = {tensor: numbers.float() for tensor, numbers in load_file(folder / "model.safetensors").items()}
        weights[name].flatten()[0] = value
        save_file(weights, folder / "model.safetensors")
        return folder

    return broken


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_opening_counts_weights_that_are_not_finite(
    break_toy: Break, value: float, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = break_toy(QUERY, value)
    with pytest.warns(RuntimeWarning, match=rf"not finite: {QUERY} \(1\)"):
        opened = open_in_notebook(folder)
    shown = opened.translate(SENTENCE)
    assert shown.frame()["weight"].isna().any()
    assert "weights of this run are not a number" in shown.note
    assert '"recorded"' in shown.html()
    assert main(["attention", str(folder), SENTENCE, "--out", str(tmp_path / "maps.npz")]) == 0
    assert f"not finite: {QUERY} (1)" in capsys.readouterr().err


def test_activations_that_overflow_are_found_at_their_first_place(break_toy: Break) -> None:
    finding = open_checkpoint(break_toy("encoder.layers.0.feed_forward.contract.bias", 3e38)).finding
    assert finding is not None
    assert "The weights are finite, but not what the model computes from them, first at encoder.layers." in finding


def test_a_sound_model_has_no_finding(toys: Callable[[str], Path], tmp_path: Path) -> None:
    assert open_checkpoint(toys("bpe")).finding is None
    assert open_checkpoint(make_folder(tmp_path / "model", "gpt2")).finding is None


@pytest.mark.parametrize(
    "search", [SearchConfig(), SearchConfig(method="beam", beam_size=3), SearchConfig(method="sample")]
)
def test_every_search_ends_where_the_probabilities_are_not_numbers(break_toy: Break, search: SearchConfig) -> None:
    checkpoint = open_checkpoint(break_toy(QUERY, math.nan))
    assert isinstance(checkpoint, Checkpoint)
    written = translate(checkpoint, SENTENCE, search=search).written
    assert [token.text for token in written] == ["</s>"]
    assert math.isnan(written[0].probability)
    forced = translate(checkpoint, SENTENCE, search=search, forced={0: 20, 1: 21}).written
    assert [token.id for token in forced[:2]] == [20, 21]


def test_files_name_what_is_not_a_number(break_toy: Break) -> None:
    checkpoint = open_checkpoint(break_toy(QUERY, math.nan))
    assert isinstance(checkpoint, Checkpoint)
    translation = translate(checkpoint, SENTENCE)
    broken = np.isnan(translation.maps["cross"])
    assert broken[0, 0].all()
    assert not broken[0, 1].any()  # one head alone, in the first layer
    text = b"".join(maps_json(translation, {})).decode()
    cross = json.loads(text, parse_constant=pytest.fail)["cross"]
    assert cross[0][0][0][0] is None
    assert isinstance(cross[0][1][0][0], float)
    rows = b"".join(maps_csv(translation, {})).decode("utf-8-sig").splitlines()
    assert rows[1].endswith(",NaN")
    assert pd.read_csv(io.StringIO("\n".join(rows)))["weight"].isna().sum() == sum(
        int(np.isnan(maps).sum()) for maps in translation.maps.values()
    )
    with np.load(io.BytesIO(b"".join(maps_npz(translation, {})))) as arrays:
        np.testing.assert_array_equal(np.isnan(arrays["cross"]), broken)


def test_silencing_a_head_without_numbers_brings_the_translation_back(break_toy: Break) -> None:
    checkpoint = open_checkpoint(break_toy(QUERY.replace("query", "value"), math.nan))
    assert isinstance(checkpoint, Checkpoint)
    assert not translate(checkpoint, SENTENCE).text
    edits = Intervention(ablated=frozenset([Head("cross", 0, 0)])).edits()
    assert translate(checkpoint, SENTENCE, edits=edits).text


def test_statistics_of_weights_that_are_not_numbers_are_none() -> None:
    maps = np.full((1, 2, 3, 3), 1 / 3, dtype=np.float32)
    maps[0, 0, 1] = np.nan
    assert np.isnan(entropy(maps)[0, 0, 1])
    metrics = head_metrics(maps, aligned=True, special_key=0)
    for name, values in metrics.items():
        assert np.isinf(values[0, 0, 1]), name
        assert np.isfinite(values[0, 1, 1]), name
    assert suggested_role({name: float(values[0, 0, 1]) for name, values in metrics.items()}) == ""
    assert len(strongest(maps[0, 0], 9)) == 6
