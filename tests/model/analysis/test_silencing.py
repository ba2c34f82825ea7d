"""What each head does for a translation is measured in batches of a bounded size."""

import json
from pathlib import Path

import pytest

from model.analysis.importance import all_heads
from model.analysis.silencing import MAX_LOG_PROBS, MAX_TOKENS, Measured, rows_per_batch, silence_each_head
from model.inference.opening import open_translator
from model.inference.translate import translate
from model.interventions import ablate_heads
from model.trace import hook_name
from tests.foreign_folders import make_folder
from tests.model.analysis.follow import first_difference, follow


@pytest.mark.parametrize("vocabulary", [100, 10_000, 250_000])
@pytest.mark.parametrize("tokens", [1, 12, 200])
def test_a_batch_is_bounded_in_tokens_and_in_probabilities(tokens: int, vocabulary: int) -> None:
    rows = rows_per_batch(2 * tokens, tokens * vocabulary)
    assert rows >= 1
    assert rows == 1 or rows * tokens * vocabulary <= MAX_LOG_PROBS
    assert rows == 1 or rows * 2 * tokens <= MAX_TOKENS


@pytest.mark.parametrize("family", ["bart", "gpt2"])
def test_a_text_changes_where_a_search_with_the_rules_of_the_model_changes_it(family: str, tmp_path: Path) -> None:
    file = make_folder(tmp_path / family, family) / "generation_config.json"
    rules = {"repetition_penalty": 1.5, "no_repeat_ngram_size": 2, "min_length": 20}
    file.write_text(json.dumps(json.loads(file.read_text()) | rules))
    checkpoint = open_translator(file.parent)
    text = "Where is the cat?"
    followed = follow(checkpoint, text)
    translation = followed.result
    assert int(Measured(followed).measure(1, encode=False)[1]) == -1  # without any change
    effects = silence_each_head(followed)
    for head in all_heads(checkpoint.model):
        name = hook_name(head.kind, head.layer, "weights")
        changed = translate(checkpoint, text, edits={name: ablate_heads([head.head])})
        expected = first_difference(translation, changed)
        assert effects.positions[head.kind][head.layer, head.head] == (-1 if expected is None else expected)
