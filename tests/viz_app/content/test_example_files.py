"""The data files of examples and demonstrations: a sentence for each mistake."""

import pytest

from model.config.section import ConfigError
from viz_app.content.examples import (
    CAPTIONS,
    DEMONSTRATIONS,
    EVERYDAY,
    MORE,
    PURPOSES,
    REVIEWS,
    SHORT_REVIEWS,
    STORY_BEGINNINGS,
    STORY_MASKED,
    Demonstration,
    lists,
)


def test_all_lists_of_a_language_have_the_same_length() -> None:
    for table in (CAPTIONS, EVERYDAY, MORE, PURPOSES):
        assert len({len(one) for one in table.values()}) == 1


def test_every_list_is_a_list_of_texts() -> None:
    tables = (
        table for name in ("captions", "everyday", "more", "batches", "story_batches") for table in lists(name).values()
    )
    for one in (REVIEWS, SHORT_REVIEWS, STORY_BEGINNINGS, STORY_MASKED, *tables):
        assert all(isinstance(text, str) and len(text) > 2 for text in one), one


def test_a_demonstration_has_only_the_sentences_that_pages_use() -> None:
    assert DEMONSTRATIONS["everyday-en-de"].donor == "Where is the school?"
    with pytest.raises(ConfigError, match="Demonstration has no setting order_"):
        Demonstration.from_dict({"heads": "One.", "compared": "Two.", "order_": "Three."})
    with pytest.raises(ConfigError, match="heads is 3"):
        Demonstration.from_dict({"heads": 3, "compared": "Two."})
