"""What each head does for a translation is measured in batches of a bounded size."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from model.analysis.importance import all_heads
from model.analysis.silencing import (
    MAX_LOG_PROBS,
    MAX_TOKENS,
    Measured,
    decisive_heads,
    rows_per_batch,
    silence_each_head,
    silence_rows,
)
from model.checkpoints.checkpoint import load_checkpoint
from model.inference.opening import open_checkpoint, open_translator
from model.inference.run import Run
from model.inference.translate import compute, translate
from model.interventions import Intervention, ablate_heads
from model.trace import hook_name, tracing
from tests.conftest import BUNDLED
from tests.foreign_folders import make_folder
from tests.model.analysis.follow import first_difference, follow


@pytest.mark.parametrize("vocabulary", [100, 10_000, 250_000])
@pytest.mark.parametrize("tokens", [1, 12, 200])
def test_a_batch_is_bounded_in_tokens_and_in_probabilities(tokens: int, vocabulary: int) -> None:
    rows = rows_per_batch(2 * tokens, tokens * vocabulary)
    assert rows >= 1
    assert rows == 1 or rows * tokens * vocabulary <= MAX_LOG_PROBS
    assert rows == 1 or rows * 2 * tokens <= MAX_TOKENS


@pytest.mark.parametrize("name", ["everyday-en-de", "multi30k-en-de", "gru-de-en", "imdb-sentiment"])
def test_rows_that_part_at_their_layer_have_the_numbers_of_whole_rows(name: str) -> None:
    followed = follow(open_checkpoint(BUNDLED / name), "A dog sees the cat.")
    found, measured = silence_each_head(followed), Measured(followed)
    before = float(measured.measure(1, encode=False)[0])
    heads = all_heads(followed.model)
    with tracing(record=(), edits=silence_rows([(head,) for head in heads])):
        totals, places = (values.tolist() for values in measured.measure(len(heads), encode=True))
    for head, total, place in zip(heads, totals, places, strict=True):
        assert found.changes[head.kind][head.layer, head.head] == pytest.approx(total - before, abs=1e-4)
        assert found.positions[head.kind][head.layer, head.head] == place


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


def test_no_head_of_a_decisive_group_is_superfluous(toys: Callable[[str], Path]) -> None:
    """Without one head of a group, another one may be superfluous too."""
    checkpoint = load_checkpoint(toys("words"))
    for text in (f"The {who} plays in the garden." for who in ("woman", "man", "girl", "boy", "child", "teacher")):
        found = follow(checkpoint, text)
        group = decisive_heads(found)
        for fewer in {group - {head} for head in group} if len(group) > 1 else ():
            assert compute(checkpoint, Run(text=text, changes=Intervention(ablated=fewer))).text == found.result.text
