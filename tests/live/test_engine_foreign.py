"""The engine in the browser runs models of other libraries: every hook point is that of the library's own model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.foreign.models import ForeignModel
from model.foreign.open import open_foreign
from model.trace import tracing
from tests.conftest import BUNDLED
from tests.live.engine import run_engine
from tests.live.test_engine_parity import assert_same
from tools.foreign_families import FAMILIES
from tools.small_models import Family, make_family

RUN = (
    *("gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "smollm3", "gemma", "gemma2", "gemma3_text", "olmo2"),
    *("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "bart", "marian", "t5", "mt5"),
)
REFUSED = ("GPT-2 classifier", "Llama classifier", "BART classifier", "BART, other numbers of heads")
ROPE = {"rope_theta": 5000.0, "factor": 4.0}
LLAMA3 = {
    "rope_type": "llama3",
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
MORE = (  # what the pages of families do not have
    ("GPT-2, scale by layer", "gpt2", {"scale_attn_by_inverse_layer_idx": True, "activation_function": "silu"}),
    ("GPT-2, no scale", "gpt2", {"scale_attn_weights": False, "n_inner": None}),
    ("Llama, linear", "llama", {"rope_parameters": {**ROPE, "rope_type": "linear"}}),
    ("Llama 3", "llama", {"rope_parameters": {**ROPE, **LLAMA3}, "tie_word_embeddings": True}),
    ("SmolLM3, layers without rotation", "smollm3", {"num_hidden_layers": 4}),
    ("Qwen 3, window", "qwen3", {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}),
    ("Gemma 3, cap", "gemma3_text", {"final_logit_softcapping": 3.0, "sliding_window": 3}),
    ("Gemma 2, no caps", "gemma2", {"attn_logit_softcapping": None, "final_logit_softcapping": None}),
)
CASES = [one for one in FAMILIES if one.model_type in RUN and one.title not in REFUSED] + [
    Family(title=title, task="continuation", model_type=kind, settings=settings) for title, kind, settings in MORE
]
IDS = [17, 60, 23, 200, 201, 23, 7, 90, 301, 45, 60]
ONLY_THERE = ("mask", "positions")  # the last parts of names of hook points that only the library's models have


def open_both(folder: Path, family: Family) -> Checkpoint | ClassifierCheckpoint:
    """A small random model. Biases and norms are random too: as they begin, an error in them would not be seen."""
    make_family(folder, family)
    torch.manual_seed(1)
    weights = load_file(folder / "model.safetensors")
    noisy = {name: w + 0.2 * torch.randn_like(w) if w.dim() == 1 else w for name, w in weights.items()}
    save_file(noisy, folder / "model.safetensors", metadata={"format": "pt"})
    return open_foreign(folder)


def recorded(model: ForeignModel, ids: Sequence[int], target: Sequence[int]) -> dict[str, NDArray[np.float32]]:
    """What passes the hook points of the library's model in one pass."""
    source = torch.tensor([ids])
    with torch.inference_mode(), tracing(record=("*",)) as trace:
        if model.model.config.is_encoder_decoder:
            model.model(input_ids=source, decoder_input_ids=torch.tensor([target]))
        else:
            model.model(input_ids=source)
    found = {name: trace.passes(name)[0] for name in trace.names}
    return {name: tensor[0].float().numpy() for name, tensor in found.items() if name.split(".")[-1] not in ONLY_THERE}


def assert_same_arrays(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    assert ours.keys() <= theirs.keys(), sorted(ours.keys() - theirs.keys())
    for name, array in ours.items():
        assert_same(name, array, theirs[name])


@pytest.mark.parametrize("family", CASES, ids=lambda family: family.name)
def test_every_hook_point_of_a_family(family: Family, tmp_path: Path) -> None:
    checkpoint: Any = open_both(tmp_path, family)
    model, target = checkpoint.model, [2, 17, 9, 250, 80]
    jobs: list[dict[str, object]] = [{"job": "pass", "ids": IDS, "target": target}, {"job": "described"}]
    if family.task in ("translation", "continuation"):
        jobs.append({"job": "write", "ids": IDS, "count": 8})
    if family.task == "continuation":
        jobs.append({"job": "pass", "ids": IDS, "parts": [4, 5, 1, 1]})
    found, described, *more = run_engine(tmp_path, jobs)
    ours = recorded(model, IDS, target)
    assert_same_arrays(ours, found)
    assert described["task"] == {"reading": "filling"}.get(family.task, family.task)
    assert described["config"]["max_length"] == checkpoint.config.model.max_length
    assert [described["config"][f"num_{side}_layers"] for side in ("encoder", "decoder")] == [
        checkpoint.config.model.num_layers(side) for side in ("encoder", "decoder")
    ]
    if more:
        assert more[0] == greedy(model, family.task)
    if more[1:]:  # a cache changes nothing
        assert_same("logits", ours["logits"], more[1]["logits"])


def greedy(model: ForeignModel, task: str) -> list[int]:
    """The eight most probable ids, one after another."""
    written: list[int] = []
    read, given = IDS, [2]
    for _ in range(8):
        if task == "translation":
            logits = model(torch.tensor([read]), torch.tensor([given + written]))
        else:
            logits = model.logits(torch.tensor([read + written]), None)
        written.append(int(logits[0, -1].argmax()))
    return written


def test_the_second_part_of_a_pair(tmp_path: Path) -> None:
    family = next(one for one in CASES if one.title == "BERT")
    model: Any = open_both(tmp_path, family).model
    segments = [0] * 6 + [1] * 5
    with torch.inference_mode():
        ours = model.model(input_ids=torch.tensor([IDS]), token_type_ids=torch.tensor([segments])).logits[0].numpy()
    with_parts, without = run_engine(
        tmp_path, [{"job": "pass", "ids": IDS, "segments": segments}, {"job": "pass", "ids": IDS}]
    )
    assert_same("logits", ours, with_parts["logits"])
    assert np.abs(ours - without["logits"]).max() > 0.01


@pytest.mark.parametrize("name", ["tiny-gpt-en", "tiny-bert-en"])
def test_our_own_models_in_the_format_of_the_library(name: str) -> None:
    model: Any = open_foreign(BUNDLED / name).model
    (found,) = run_engine(BUNDLED / name, [{"job": "pass", "ids": IDS}])
    assert_same_arrays(recorded(model, IDS, []), found)
