"""Weights in half precision, and a model whose parts lie in several places, as over several graphics processors."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoTokenizer, BartForConditionalGeneration, PreTrainedModel

from model.checkpoints.checkpoint import Checkpoint
from model.foreign.architecture import architecture
from model.foreign.open import load_model, pair_of, placement, wrap
from model.inference.opening import open_translator
from model.inference.run import Result
from model.inference.translate import translate

TEXT = "My sister likes apples, and my brother likes pears."


def opened(folder: Path, **placed: object) -> tuple[PreTrainedModel, Result]:
    """The model as it was loaded, and a translation by it."""
    whole = open_translator(folder)
    config = AutoConfig.from_pretrained(folder)
    model, _ = load_model(folder, architecture(config, folder)[1], config, placed)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    wrapped = wrap(model, "translation", tokenizer)
    checkpoint = Checkpoint(
        path=folder, config=whole.config, model=wrapped, tokenizers=pair_of(folder, tokenizer, wrapped)
    )
    return model, translate(checkpoint, TEXT)


def test_a_cpu_computes_in_single_precision_and_a_gpu_in_the_stored_one() -> None:
    assert placement("cpu", 0) == {"dtype": torch.float32}
    assert placement("mps", 0) == placement("cuda", 1) == {"dtype": "auto"}
    assert placement("cuda", 2) == {"dtype": "auto", "device_map": "auto"}


def test_half_precision_is_kept_and_the_rows_of_its_maps_sum_to_one(
    folders: Callable[[str], Path], tmp_path: Path
) -> None:
    BartForConditionalGeneration.from_pretrained(folders("bart")).to(torch.bfloat16).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(folders("bart")).save_pretrained(tmp_path)
    model, translation = opened(tmp_path, **placement("cuda", 1))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    for weights in translation.maps.values():
        assert weights.dtype == np.float32
        # The weights are computed in single precision from scores that are not.
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


def test_a_model_in_several_places_writes_and_shows_the_same(folders: Callable[[str], Path], tmp_path: Path) -> None:
    rest = ("shared", "encoder", "decoder.embed_tokens", "decoder.block.0", "decoder.final_layer_norm", "lm_head")
    parts = dict.fromkeys(rest, "cpu") | {"decoder.block.1": "disk"}
    model, translation = opened(folders("t5"), device_map=parts, offload_folder=str(tmp_path))
    expected = translate(open_translator(folders("t5")), TEXT)
    assert model.hf_device_map["decoder.block.1"] == "disk"
    assert translation.text == expected.text
    for kind, weights in expected.maps.items():
        np.testing.assert_allclose(translation.maps[kind], weights, atol=1e-6)  # the same sums


@pytest.mark.parametrize("family", ["bart", "gpt2", "bert"])
def test_recordings_in_half_precision_become_arrays(folders: Callable[[str], Path], family: str) -> None:
    checkpoint = open_translator(folders(family))
    checkpoint.model.to(torch.float16)
    for weights in translate(checkpoint, TEXT).maps.values():
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
