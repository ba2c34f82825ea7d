"""The engine reads and writes the same tokens as Python, for many texts."""

from collections.abc import Sequence

import pytest

from model.checkpoints.checkpoint import load_checkpoint, load_tokenizers, read_config
from model.decoding.search import greedy_ids
from model.inference.translate import require_writing
from model.text.cleaning import changes, clean
from tests.conftest import BUNDLED
from tests.live.engine import run_engine
from tests.live.texts import class_sources, hard_lines, phrases

BATCH = 32  # sentences of similar length


def ids_in_python(name: str, texts: Sequence[str]) -> list[list[int]]:
    """What greedy search writes for each text."""
    checkpoint = load_checkpoint(BUNDLED / name)
    model, most = require_writing(checkpoint), checkpoint.config.model.max_length
    sources = [checkpoint.tokenizers.source_ids(text, most)[0] for text in texts]
    order = sorted(range(len(texts)), key=lambda i: len(sources[i]))
    written: list[list[int]] = [[] for _ in texts]
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        for i, ids in zip(chosen, greedy_ids(model, [sources[i] for i in chosen]), strict=True):
            written[i] = list(ids)
    return written


@pytest.mark.parametrize(
    "name", ["everyday-en-de", "everyday-de-en", "everyday-en-zh", "everyday-zh-en", "multi30k-en-de", "gru-de-en"]
)
def test_the_same_tokens_are_written(name: str) -> None:
    tokenizer = read_config(BUNDLED / name).tokenizer
    source, target = tokenizer.source_language, tokenizer.target_language
    everyday = name.startswith("everyday")
    # Every twelfth sentence of a list. `benchmarks/live_parity.py` compares all.
    texts = (class_sources(source, target)[::12] if everyday else []) + phrases(source, 5 if everyday else 20)
    (found,) = run_engine(BUNDLED / name, [{"job": "greedy", "texts": texts}])
    different = [
        text for text, ours, theirs in zip(texts, ids_in_python(name, texts), found, strict=True) if ours != theirs
    ]
    assert different == []


@pytest.mark.parametrize("name", ["everyday-en-de", "everyday-zh-en"])
def test_any_line_has_the_same_ids_tokens_and_words(name: str) -> None:
    tokenizer = load_tokenizers(read_config(BUNDLED / name), BUNDLED / name).source
    lines = list(hard_lines(1000))
    found, cleaned = run_engine(BUNDLED / name, [{"job": job, "lines": lines} for job in ("tokenize", "clean")])
    assert cleaned == [[clean(line), list(changes(line))] for line in lines]
    for line, (ids, tokens, words, decoded) in zip(lines, found, strict=True):
        ours = tokenizer.encode(line)
        assert tuple(ids) == ours.ids, ascii(line)
        assert tuple(tokens) == ours.tokens, ascii(line)
        assert tuple(words) == ours.words, ascii(line)
        assert decoded == tokenizer.decode(ids), ascii(line)
