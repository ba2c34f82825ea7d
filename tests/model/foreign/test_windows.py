"""Models with windows of attention: a cell that the library's mask forbids is masked here too, in every layer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from model.checkpoints.checkpoint import ClassifierCheckpoint
from model.config.search import SearchConfig
from model.foreign.architecture import architecture, read_library_config
from model.inference.classify import classify
from model.inference.opening import open_checkpoint, open_translator
from model.inference.translate import translate
from model.interventions import Head, Intervention, PaintedCell
from tools.foreign_families import family_named
from tools.small_models import make_family

TEXT = "The cat sat on the <mask>, and it was tired."
Made = Callable[[str], Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return lambda title: make_family(tmp_path_factory.mktemp("windows") / "model", family_named(title))


def masks_of_library(folder: Path, ids: list[int]) -> NDArray[np.bool_]:
    """The masks that the library hands to its own attention, layer by layer, (L, T, T)."""
    kind: Any = architecture(read_library_config(folder), folder)[1]
    library = kind.from_pretrained(folder, attn_implementation="eager").eval()
    found: list[NDArray[np.bool_]] = []

    def keep(_module: nn.Module, _positional: object, named: dict[str, Any]) -> None:
        mask = named["attention_mask"]  # None if every query may attend to every key
        everywhere = torch.ones(len(ids), len(ids), dtype=torch.bool)
        found.append((everywhere if mask is None else mask[0, 0] > torch.finfo(mask.dtype).min / 2).numpy())

    for module in library.modules():
        if type(module).__name__.endswith("Attention"):
            module.register_forward_pre_hook(keep, with_kwargs=True)
    with torch.inference_mode():
        library(input_ids=torch.tensor([ids]))
    return np.stack(found)


@pytest.mark.parametrize("search", [SearchConfig(), SearchConfig(method="beam", beam_size=3)])
@pytest.mark.parametrize("title", ["Mistral, window", "Gemma 3", "Llama 4"])
def test_a_language_model_is_masked_outside_its_windows(made: Made, title: str, search: SearchConfig) -> None:
    folder = made(title)
    found = translate(open_translator(folder), TEXT, search=search)
    expected = masks_of_library(folder, [token.id for token in found.read])
    np.testing.assert_array_equal(found.allowed("decoder"), expected)
    assert found.maps["decoder"].max(axis=1)[~expected].max() == 0
    if title != "Llama 4":  # its chunks are longer than this text
        assert (~expected & np.tri(len(found.read), dtype=bool)).any(), "the text is longer than the window"


def test_a_reader_and_a_classifier_are_masked_outside_their_windows(made: Made) -> None:
    folder = made("ModernBERT")
    found = translate(open_translator(folder), TEXT)
    expected = masks_of_library(folder, [token.id for token in found.source])
    np.testing.assert_array_equal(found.allowed("encoder"), expected)
    assert not expected[0].all()
    assert expected[1].all()
    folder = made("ModernBERT classifier")
    checkpoint = open_checkpoint(folder)
    assert isinstance(checkpoint, ClassifierCheckpoint)
    kept, reading = checkpoint.tokenizers, classify(checkpoint, TEXT)
    ids = [*kept.specials.before, *kept.source.encode(TEXT).ids, *kept.specials.after]
    np.testing.assert_array_equal(reading.allowed, masks_of_library(folder, ids))


def test_a_weight_outside_a_window_cannot_be_painted(made: Made) -> None:
    checkpoint = open_translator(made("Gemma 3"))
    own = translate(checkpoint, TEXT)
    allowed = own.allowed("decoder")
    query = len(own.read) - 1
    for key in (0, query):  # outside of the window, and inside
        cell = PaintedCell(Head("decoder", 0, 1), query, key, 0.9)
        edits = Intervention(painted=frozenset({cell})).edits()
        found = translate(checkpoint, TEXT, forced=own.as_forced, edits=edits)
        weight = found.maps["decoder"][0, 1, query, key]
        assert weight == pytest.approx(0.9 if allowed[0, query, key] else 0.0)
    assert not allowed[0, query, 0]
