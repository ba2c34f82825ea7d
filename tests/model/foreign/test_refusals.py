"""What opens although its configuration names another class, and what the sentence says where nothing opens."""

import codecs
import importlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import (
    AutoModel,
    AutoModelForPreTraining,
    BertConfig,
    DogeConfig,
    EncoderDecoderConfig,
    Gemma3TextConfig,
    PreTrainedConfig,
    RobertaConfig,
    T5GemmaConfig,
)
from transformers.utils import logging

import model.foreign.open as opening
from model.checkpoints.checkpoint import CheckpointError, Unused
from model.config.section import ConfigError
from model.foreign.attention import attend
from model.foreign.models import ForeignReader
from model.inference.opening import open_checkpoint, open_translator, read_any_config
from model.inference.translate import translate
from tools.foreign_families import family_named
from tools.small_models import make_family

TEXT = "The cat sat on the mat."
Make = Callable[[str], Path]


@pytest.fixture
def made(tmp_path: Path) -> Make:
    return lambda title: make_family(tmp_path / family_named(title).name, family_named(title))


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("Qwen3-Next", r"do not use attention \(linear_attention\)"),
        ("GPT-2 classifier", "attends only to earlier tokens"),
        ("LongT5", "does not return one weight for each pair of tokens"),
        ("Funnel", "does not return one weight for each pair of tokens"),
        ("MRA", "returns no attention weights"),
        ("FNet", "no attention heads"),
    ],
)
def test_a_refusal_names_its_reason(made: Make, title: str, said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        open_checkpoint(made(title))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (EncoderDecoderConfig.from_encoder_decoder_configs(BertConfig(), BertConfig()), "consists of several models"),
        (T5GemmaConfig(), "consists of several models"),
        (RobertaConfig(), r"attend to later ones too \(is_decoder: false in config\.json\)"),
        (Gemma3TextConfig(use_bidirectional_attention=True), r"\(use_bidirectional_attention: true"),
        (DogeConfig(), r"num_experts is 16,384\. The largest value that opens is 1,000"),
    ],
    ids=["bert2bert", "t5gemma", "roberta", "gemma3", "doge"],
)
def test_a_configuration_alone_is_refused_with_its_reason(tmp_path: Path, config: PreTrainedConfig, said: str) -> None:
    names = {
        "encoder-decoder": "EncoderDecoderModel",
        "t5gemma": "T5GemmaForConditionalGeneration",
        "roberta": "RobertaForCausalLM",
        "gemma3_text": "Gemma3ForCausalLM",
    }
    config.architectures = [names.get(config.model_type, "DogeForCausalLM")]
    config.save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match=said):
        read_any_config(tmp_path)


@pytest.mark.parametrize("title", ["NLLB-MoE", "Switch Transformers"])
def test_decoders_that_ask_for_experts_open(made: Make, title: str) -> None:
    checkpoint = open_translator(made(title))
    assert checkpoint.model.config.layers == {"encoder": 2, "decoder": 2, "cross": 2}
    assert translate(checkpoint, TEXT).maps["cross"].shape[:2] == (2, 4)


@pytest.mark.parametrize("title", ["BART", "GPT-2"])
def test_a_base_model_with_tied_embeddings_writes_as_the_whole_one(made: Make, title: str) -> None:
    folder = made(title)
    expected = translate(open_translator(folder), TEXT).text
    AutoModel.from_pretrained(folder).save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["architectures"][0].endswith("Model")
    checkpoint = open_translator(folder)
    assert checkpoint.config.task == family_named(title).task
    assert translate(checkpoint, TEXT).text == expected


def test_a_base_model_without_an_output_matrix_is_refused(tmp_path: Path) -> None:
    deep = replace(family_named("Llama"), settings={"num_hidden_layers": 8})  # so that the matrix is a small part
    folder = make_family(tmp_path / "llama", deep)
    AutoModel.from_pretrained(folder).save_pretrained(folder)
    with pytest.raises(CheckpointError, match=r"do not fit: lm_head\.weight"):
        open_translator(folder)


@pytest.mark.parametrize(("title", "fills"), [("BERT", True), ("ELECTRA", False)])
def test_a_pretrained_encoder_opens_as_a_reader(made: Make, title: str, fills: bool) -> None:
    folder = made(title)
    AutoModelForPreTraining.from_pretrained(folder).save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["architectures"][0].endswith("ForPreTraining")
    checkpoint = open_translator(folder)
    assert isinstance(checkpoint.model, ForeignReader)
    assert checkpoint.model.fills == fills


@pytest.mark.parametrize(
    ("title", "named", "opened", "left_out"),
    [
        ("BERT", "BertForTokenClassification", "BertModel", "classifier.weight"),
        ("BERT", "BertForQuestionAnswering", "BertModel", "qa_outputs.weight"),
        ("BERT", "BertForPreTraining", "BertForMaskedLM", "cls.seq_relationship.weight"),
        ("RoBERTa", "RobertaForMultipleChoice", "RobertaModel", "classifier.weight"),
        ("DistilBERT", "DistilBertForTokenClassification", "DistilBertModel", "classifier.weight"),
        ("T5", "T5EncoderModel", "T5EncoderModel", ""),
        ("T5", "T5ForTokenClassification", "T5EncoderModel", "classifier.weight"),
        ("mT5", "MT5EncoderModel", "MT5EncoderModel", ""),
    ],
)
def test_a_head_that_is_not_shown_is_left_out_by_name(
    made: Make, title: str, named: str, opened: str, left_out: str
) -> None:
    folder = made(title)
    getattr(transformers, named).from_pretrained(folder).save_pretrained(folder)
    checkpoint = open_checkpoint(folder)
    assert checkpoint.config.task == read_any_config(folder).task == "reading"
    assert type(checkpoint.model.model).__name__ == opened
    assert checkpoint.unused.head == (named if left_out else "")
    assert (left_out in checkpoint.unused.tensors) == bool(left_out)
    library = getattr(transformers, opened).from_pretrained(folder, attn_implementation="eager")
    found = translate(checkpoint, TEXT)
    ids = torch.tensor([[token.id for token in found.source]])
    with torch.inference_mode():
        maps = torch.cat(library(input_ids=ids, output_attentions=True).attentions).numpy()
    np.testing.assert_allclose(found.maps["encoder"], maps, atol=1e-5)


@pytest.mark.parametrize(
    ("title", "changes", "task"),
    [
        ("BERT", {"architectures": ["StoryBert"]}, "reading"),
        ("GPT-2", {"architectures": ["StoryWriter"]}, "continuation"),
        ("BART", {"architectures": ["StoryTranslator"]}, "translation"),
        ("BERT classifier", {"architectures": ["MoodBertForSequenceClassification"]}, "classification"),
        ("BERT", {"architectures": None}, "reading"),
        ("BERT", {"model_type": None}, "reading"),
        ("BERT", {"model_type": None, "architectures": None}, "reading"),
        ("T5", {"model_type": None}, "translation"),
    ],
)
def test_a_folder_is_what_its_weights_are(made: Make, title: str, changes: dict[str, object], task: str) -> None:
    folder = made(title)
    values = json.loads((folder / "config.json").read_text()) | changes
    named = {name: value for name, value in values.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(named))
    checkpoint = open_checkpoint(folder)
    assert checkpoint.config.task == read_any_config(folder).task == task
    assert not checkpoint.unused
    assert checkpoint.path == folder


def test_a_configuration_without_a_family_says_what_to_add(made: Make) -> None:
    folder = made("GPT-2")
    (folder / "config.json").write_text('{"n_embd": 32}')
    with pytest.raises(
        CheckpointError, match=r'does not say which model it describes\. Add its family, such as "model'
    ):
        open_checkpoint(folder)


@pytest.mark.parametrize("quantized", ["gptq", "awq", "bitsandbytes"])
def test_quantized_weights_are_refused_with_the_remedy(made: Make, quantized: str) -> None:
    folder = made("GPT-2")
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(values | {"quantization_config": {"quant_method": quantized}}))
    with pytest.raises(CheckpointError, match=rf"are quantized \({quantized}\).*model\.dequantize\(\)"):
        open_checkpoint(folder)


def test_weights_without_a_place_are_named_and_a_classifier_without_its_pooler_is_refused(made: Make) -> None:
    folder = made("BERT classifier")
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "bert.more": torch.ones(2)}, folder / "model.safetensors", metadata={"format": "pt"})
    assert open_checkpoint(folder).unused == Unused(tensors=("bert.more",))
    fewer = {name: tensor for name, tensor in weights.items() if "pooler" not in name}
    save_file(fewer, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"do not fit: bert\.pooler\.dense"):
        open_checkpoint(folder)


def test_texts_with_a_byte_order_mark_open_as_without(made: Make) -> None:
    folder = made("BERT")
    expected = translate(open_translator(folder), TEXT)
    for path in folder.glob("*.json"):
        path.write_bytes(codecs.BOM_UTF8 + path.read_bytes().replace(b"\n", b"\r\n"))
    found = translate(open_translator(folder), TEXT)
    assert [token.text for token in found.source] == [token.text for token in expected.source]
    np.testing.assert_array_equal(found.maps["encoder"], expected.maps["encoder"])
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text("utf-8-sig"), encoding="utf-16")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is UTF-16 text\. Save it as UTF-8"):
        open_checkpoint(folder)


def test_attention_refuses_unknown_arguments() -> None:
    heads = torch.randn(1, 2, 3, 4)
    output, _ = attend(nn.Identity(), heads, heads, heads, None, sliding_window=4, is_causal=True, sinks=None)
    assert output.shape == (1, 3, 2, 4)
    with pytest.raises(ConfigError, match="Identity computes its attention with sinks"):
        attend(nn.Identity(), heads, heads, heads, None, sinks=torch.zeros(2))


def test_opening_leaves_the_settings_of_the_process_alone(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made("GPT-2")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    before = logging.get_verbosity()
    try:
        logging.set_verbosity_info()
        logging.enable_progress_bar()
        importlib.reload(opening).open_foreign(folder)
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled()
        assert "HF_HUB_OFFLINE" not in os.environ
    finally:
        logging.set_verbosity(before)


def test_weights_in_several_files_of_pytorch_open(made: Make) -> None:
    folder = made("GPT-2")
    expected = translate(open_translator(folder), TEXT).text
    state = AutoModel.from_pretrained(folder).state_dict()
    names = {name: f"pytorch_model-{i % 2 + 1:05}-of-00002.bin" for i, name in enumerate(state)}
    for file in set(names.values()):
        torch.save({name: tensor for name, tensor in state.items() if names[name] == file}, folder / file)
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
    (folder / "model.safetensors").unlink()
    assert translate(open_translator(folder), TEXT).text == expected


def test_a_missing_tokenizer_is_named(made: Make) -> None:
    folder = made("Llama")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"has no tokenizer\. Add the file of its vocabulary: tokenizer\.json"):
        open_translator(folder)
