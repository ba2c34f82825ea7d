"""What each head does for a translation is measured in batches of a bounded size."""

import pytest

from model.analysis.silencing import MAX_LOG_PROBS, MAX_TOKENS, rows_per_batch


@pytest.mark.parametrize("vocabulary", [100, 10_000, 250_000])
@pytest.mark.parametrize("tokens", [1, 12, 200])
def test_a_batch_is_bounded_in_tokens_and_in_probabilities(tokens: int, vocabulary: int) -> None:
    rows = rows_per_batch(2 * tokens, tokens * vocabulary)
    assert rows >= 1
    assert rows == 1 or rows * tokens * vocabulary <= MAX_LOG_PROBS
    assert rows == 1 or rows * 2 * tokens <= MAX_TOKENS
