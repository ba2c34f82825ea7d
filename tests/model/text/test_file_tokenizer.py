"""A `tokenizer.json` of the library `tokenizers` as the vocabulary and the tokenizer of a tutorial."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from model.config.section import ConfigError
from model.text.vocabulary_list import FileTokenizer, read_file_tokenizer

WORDS = {"[UNK]": 0, "[PAD]": 1, "[SOS]": 2, "[EOS]": 3, "the": 4, "dog": 5, "runs": 6, ",": 7}


def written(path: Path) -> Path:
    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["[UNK]", "[PAD]", "[SOS]", "[EOS]"])
    tokenizer.save(str(path))
    return path


def test_it_splits_as_its_file_says(tmp_path: Path) -> None:
    found = read_file_tokenizer(written(tmp_path / "tokenizer.json"))
    assert isinstance(found, FileTokenizer)
    assert found.vocabulary == WORDS
    tokenizer = found.with_marks(frozenset({1, 2, 3}))
    encoded = tokenizer.encode("The dog, RUNS zebra[EOS]")
    assert encoded.ids == (4, 5, 7, 6, 0), "typed [EOS] is no mark"
    assert encoded.tokens == ("The", "dog", ",", "RUNS", "zebra")
    assert encoded.words == (0, 1, 1, 2, 3)
    assert tokenizer.decode([2, 4, 5, 3]) == "the dog"
    assert tokenizer.tokens([4, 99]) == ("the", "⟨99⟩")


def test_a_vocabulary_is_no_tokenizer_and_a_part_without_a_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps(WORDS))
    assert read_file_tokenizer(tmp_path / "vocab.json") is None
    values = json.loads(written(tmp_path / "tokenizer.json").read_text())
    values["normalizer"] = {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaa"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    with pytest.raises(
        ConfigError, match=r"tokenizer\.json cannot be read as a tokenizer: it replaces 'a' by the longer"
    ):
        read_file_tokenizer(tmp_path / "tokenizer.json")
