"""What a folder of `transformers` may claim, lack or try: each gets a sentence, and nothing of it is run."""

import base64
import json
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from transformers import (
    CTRLTokenizer,
    PreTrainedModel,
)

from model.checkpoints.checkpoint import CheckpointError
from model.config.section import ConfigError
from model.foreign import open as opening
from model.foreign.tokenizer import MAX_WORD, ForeignTokenizer
from model.inference.opening import open_checkpoint, open_translator, read_any_config
from model.inference.translate import translate
from tests.foreign_folders import CLASSIFIERS, FAMILIES

TEXTS = ("The cat sat on the mat.",)


def test_missing_and_damaged_files_get_a_message(folders: Callable[[str], Path], tmp_path: Path) -> None:
    def copy(name: str) -> Path:
        folder = tmp_path / name
        shutil.copytree(folders("bert"), folder)
        return folder

    no_weights, cut, no_tokenizer, unknown, no_json = (copy(name) for name in ("a", "b", "c", "d", "e"))
    (no_weights / "model.safetensors").unlink()
    whole = (cut / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    (no_tokenizer / "tokenizer.json").unlink()
    rewrite(unknown, model_type="no_such_family")
    (no_json / "config.json").write_text("{")
    for folder, says in (
        (no_weights, "a has no weights"),
        (cut, "damaged"),
        (no_tokenizer, "c has no tokenizer"),
        (unknown, "config.json of d cannot be used"),
        (no_json, "config.json of e cannot be used"),
    ):
        with pytest.raises(CheckpointError, match=says):
            open_checkpoint(folder)


def rewrite(folder: Path, **values: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


def test_a_configuration_that_claims_more_than_the_weights_hold_is_refused_before_it_is_built(
    folders: Callable[[str], Path], tmp_path: Path
) -> None:
    claims: dict[str, tuple[str, dict[str, object], str]] = {
        "endless": ("bert", {"num_hidden_layers": 10**9}, "num_hidden_layers is 1,000,000,000"),
        "endless-t5": ("t5", {"num_decoder_layers": 10**9}, "num_decoder_layers is 1,000,000,000"),
        "wide": ("gpt2", {"n_inner": 10**9}, r"describes [\d,]+ weights, but its files hold"),
        "wider": ("gpt2", {"n_inner": 1000}, r"describes [\d,]+ weights, but its files hold"),
        "words": ("bart", {"vocab_size": 10**8}, r"describes [\d,]+ weights, but its files hold"),
        "uneven": ("llama", {"num_attention_heads": 5}, "uneven"),
        "strange": ("bert", {"hidden_size": "many"}, "strange"),
        "deeper": ("gpt2", {"n_layer": 3}, "deeper"),
        "narrow": ("bart", {"d_model": 24}, "narrow"),
    }
    for name, (family, values, says) in claims.items():
        folder = tmp_path / name
        shutil.copytree(folders(family), folder)
        rewrite(folder, **values)
        with pytest.raises(CheckpointError, match=says):
            open_checkpoint(folder)


def test_a_model_larger_than_the_memory_is_refused_before_it_is_loaded(folders: Callable[[str], Path]) -> None:
    with pytest.raises(CheckpointError, match=r"million weights and needs .* GB of memory\. The limit here is 0\.0 GB"):
        open_checkpoint(folders("bert"), max_bytes=1000)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("exploded",)


def test_opening_a_folder_runs_none_of_its_code(
    folders: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pickled, remote = tmp_path / "pickled", tmp_path / "remote"
    for folder in (pickled, remote):
        shutil.copytree(folders("gpt2"), folder)
    (pickled / "model.safetensors").unlink()
    torch.save({"transformer.wte.weight": Bomb()}, pickled / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="is damaged, or it contains more than tensors"):
        open_checkpoint(pickled)
    code = "import os\nos.mkdir('exploded')\n"
    (remote / "modeling.py").write_text(code)
    (remote / "tokenization.py").write_text(code)
    rewrite(remote, auto_map={"AutoConfig": "modeling.Config", "AutoModelForCausalLM": "modeling.Model"})
    settings = json.loads((remote / "tokenizer_config.json").read_text())
    settings["auto_map"] = {"AutoTokenizer": ["tokenization.Slow", "tokenization.Fast"]}
    (remote / "tokenizer_config.json").write_text(json.dumps(settings))
    assert (
        translate(open_translator(remote), TEXTS[0]).text == translate(open_translator(folders("gpt2")), TEXTS[0]).text
    )
    assert not (tmp_path / "exploded").exists()


def test_a_tokenizer_with_ids_that_the_model_lacks_is_refused(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    shutil.copytree(folders("llama"), folder)
    shutil.copy(folders("gpt2") / "tokenizer.json", folder / "tokenizer.json")
    with pytest.raises(CheckpointError, match="320 tokens, and its model has embeddings for"):
        open_checkpoint(folder)


def test_many_models_can_be_opened_at_once(folders: Callable[[str], Path]) -> None:
    """The library changes functions of its own while it opens one."""
    families = [*FAMILIES, *CLASSIFIERS]
    for family in families:
        folders(family)
    tie, normal = PreTrainedModel.tie_weights, torch.nn.init.normal_
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda family: open_checkpoint(folders(family)), families * 3))
    assert len(found) == 3 * len(families)
    assert PreTrainedModel.tie_weights is tie
    assert torch.nn.init.normal_ is normal


def test_a_vocabulary_that_is_missing_is_noticed(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "no-words"
    shutil.copytree(folders("bert"), folder)
    (folder / "tokenizer.json").unlink()
    settings = json.loads((folder / "tokenizer_config.json").read_text()) | {"tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    with pytest.raises(CheckpointError, match=r"vocabulary missing|cannot be read"):
        open_checkpoint(folder)


def test_an_index_may_name_only_files_of_its_folder(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    shutil.copytree(folders("gpt2"), folder)
    shutil.move(folder / "model.safetensors", tmp_path / "outside.safetensors")
    index = folder / "model.safetensors.index.json"
    for name in ("../outside.safetensors", "nothing.safetensors"):
        index.write_text(json.dumps({"weight_map": {"transformer.wte.weight": name}}))
        with pytest.raises(CheckpointError, match="not in the folder"):
            open_checkpoint(folder)


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("config.json", {"architectures": 5}),
        ("config.json", {"num_hidden_layers": 3 * 10**7, "model_type": "qwen2"}),
        ("config.json", {"max_position_embeddings": -1}),
        ("config.json", {"return_dict": False}),
        ("config.json", {"vocab_size": [1]}),
        ("generation_config.json", {"bad_words_ids": [[99_999]]}),
        ("generation_config.json", {"eos_token_id": 99_999}),
        ("tokenizer_config.json", {"pad_token": 3}),
    ],
)
def test_strange_settings_get_a_message_or_have_no_effect(
    folders: Callable[[str], Path], tmp_path: Path, file: str, values: dict[str, object]
) -> None:
    folder = tmp_path / "strange"
    shutil.copytree(folders("gpt2"), folder)
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    for use in (lambda: translate(open_translator(folder), TEXTS[0]), lambda: read_any_config(folder)):
        with suppress(CheckpointError):  # and nothing else is raised
            assert use()


def test_a_negative_token_is_refused_and_bans_no_other_token(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "negative"
    shutil.copytree(folders("gpt2"), folder)
    (folder / "generation_config.json").write_text(json.dumps({"bad_words_ids": [[-1]]}))
    with pytest.raises(CheckpointError, match="name the token -1, and its model has"):
        open_translator(folder)


GROWS = {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"}
CUTS = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
TWICE = {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 20}
LONG = base64.b64encode(b"\0\0\0\0" + b"x" * 100_000).decode()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"normalizer": {"type": "Sequence", "normalizers": [GROWS] * 6}}, "replaces 'a' by the longer 'aaaaaaaaaa'"),
        ({"normalizer": GROWS | {"content": "\ufdfa"}}, "by the longer"),  # NFKC would write it as 18 characters
        ({"normalizer": TWICE}, "ByteLevel twice"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}] * 1000}}, "has 1001 parts"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": LONG}}, "one character by a long text"),
        ({"normalizer": {"type": "Unheard"}}, "has a part Unheard"),
        ({"pre_tokenizer": CUTS}, r"regular expression \(a\+\)\+\$ may have no bound"),
        ({"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {}}] * 50}}, "more than once"),
        ({"padding": {"strategy": {"Fixed": 10**9}}}, "pads texts to 1,000,000,000"),
        ({"padding": {"strategy": "BatchLongest", "pad_to_multiple_of": 10**9}}, "pads texts"),
        ({"model": {"type": "WordPiece", "vocab": {}, "max_input_chars_per_word": 10**9}}, "max_input_chars_per_word"),
        ({"model": {"type": "BPE", "vocab": {}, "merges": [], "unk_token": "x" * 10**6}}, "unk_token has more"),
        ({"model": {"type": "Unigram", "vocab": [["a" * 10**5, 0.0]]}}, "a piece of 100,000 characters"),
        ({"model": []}, "cannot be used"),
    ],
)
def test_a_tokenizer_without_a_bound_is_refused_before_it_runs(
    folders: Callable[[str], Path], tmp_path: Path, changes: dict[str, object], says: str
) -> None:
    folder = tmp_path / "multiplies"
    shutil.copytree(folders("gpt2"), folder)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(CheckpointError, match=says):
        open_checkpoint(folder)


def test_the_settings_of_a_tokenizer_are_bounded(folders: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    shutil.copytree(folders("t5"), folder)
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps(settings | {"extra_ids": 10**9}))
    with pytest.raises(CheckpointError, match="extra_ids is 1,000,000,000"):
        open_checkpoint(folder)
    path.write_text(json.dumps(settings | {"fast_tokenizer_files": ["../tokenizer.1.json"]}))
    with pytest.raises(CheckpointError, match="names fast_tokenizer_files"):
        open_checkpoint(folder)
    path.write_text(" " * 5_000_000)
    with pytest.raises(CheckpointError, match="larger than 4 MB"):
        open_checkpoint(folder)


def message(number: int, content: bytes) -> bytes:
    """A field of protocol buffers."""
    length = bytes([len(content) & 127 | 128, len(content) >> 7 & 127 | 128, len(content) >> 14])
    return bytes([number << 3 | 2]) + length + content


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (message(1, message(1, b"a" * 5000)), r"a piece of 5,00\d bytes"),
        (message(3, message(2, b"\0\0\0\0" + b"x" * 5000)), "one character by a long text"),
        (message(1, b"abc")[:-1], "damaged"),
        (b"\xff" * 50, "damaged"),
    ],
)
def test_pieces_of_sentencepiece_are_bounded(
    folders: Callable[[str], Path], tmp_path: Path, content: bytes, says: str
) -> None:
    folder = tmp_path / "pieces"
    shutil.copytree(folders("t5"), folder)
    (folder / "spiece.model").write_bytes(content)
    with pytest.raises(CheckpointError, match=says):
        open_checkpoint(folder)


def test_a_text_that_a_tokenizer_makes_much_longer_is_refused(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """Each part may be one that exists; all of them together are measured."""
    folder = tmp_path / "longer"
    shutil.copytree(folders("gpt2"), folder)
    path = folder / "tokenizer.json"
    normalizer = {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "ByteLevel"}]}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": normalizer}))
    tokenizer = open_checkpoint(folder).tokenizers.source
    assert tokenizer.encode("a short text").ids
    with pytest.raises(ConfigError, match="5,000 characters into"):
        tokenizer.encode("\ufdfa" * 5000)  # 33 bytes each


def test_a_tokenizer_in_python_needs_linear_time_for_a_long_word(tmp_path: Path) -> None:
    signs = [chr(0x4E00 + i) for i in range(5000)]
    merges = [f"{one} {other}" for one, other in zip(signs[::2], signs[1::2], strict=True)]
    (tmp_path / "vocab.json").write_text(json.dumps({sign: i for i, sign in enumerate([*signs, "<unk>"])}))
    (tmp_path / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]))
    tokenizer = ForeignTokenizer(CTRLTokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")))
    began = time.process_time()
    ids = tokenizer.encode("".join(signs)).ids
    assert len(ids) == len(merges) + len(signs) // MAX_WORD  # the last character of each part is not merged
    assert time.process_time() - began < 3  # about 0.4 s; the whole word takes more than 5


def test_a_panic_of_the_library_becomes_an_error_with_a_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    panic = type("PanicException", (BaseException,), {})

    def fail(*_: object, **__: object) -> None:
        raise panic("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(opening.AutoTokenizer, "from_pretrained", fail)
    with pytest.raises(CheckpointError, match="cannot be read: called"):
        opening.read_tokenizer(tmp_path)
