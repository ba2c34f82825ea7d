"""The outcomes of a result: what a model of each task predicted, and its rivals."""

import math
from dataclasses import replace

import pytest

from model.config.section import ConfigError
from model.inference.classify import Classification
from model.inference.opening import open_checkpoint
from model.inference.run import Run
from model.inference.translate import compute
from tests.conftest import BUNDLED


def test_each_written_token_is_an_outcome_and_a_fixed_first_one_was_not_chosen() -> None:
    found = compute(open_checkpoint(BUNDLED / "everyday-en-de"), Run(text="The dog sleeps."))
    assert [one.id for one in found.outcomes] == [token.id for token in found.written]
    first, rival = found.outcome_at(0), found.written[0].candidates[1]
    ratio = found.written[0].probability / rival.probability
    assert first.logits[first.id] - first.logits[rival.id] == pytest.approx(math.log(ratio))
    fixed = replace(found, first_token_fixed=True)
    with pytest.raises(ConfigError, match="did not choose"):
        fixed.outcome_at(0)
    assert fixed.outcome_at(1).id == found.written[1].id


def test_only_a_gap_is_an_outcome_of_a_reader() -> None:
    found = compute(open_checkpoint(BUNDLED / "tiny-bert-en"), Run(text="The cat sat on the [MASK]."))
    (gap,) = found.outcomes
    assert (gap.stack, gap.position, found.source[6].text) == ("encoder", 6, "[MASK]")
    assert gap.text in found.text
    with pytest.raises(ConfigError, match="did not choose"):
        found.outcome_at(1)


def test_the_label_is_the_outcome_of_a_classifier_at_every_position() -> None:
    found = compute(open_checkpoint(BUNDLED / "imdb-sentiment"), Run(text="A moving film."))
    assert isinstance(found, Classification)
    outcome = found.outcome_at(3)
    assert (outcome.text, outcome.position) == (found.label, None)
    assert {one.token: one.probability for one in outcome.candidates} == found.probabilities
