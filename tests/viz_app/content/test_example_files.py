"""The data files of examples and demonstrations: a sentence for each mistake."""

import pytest

from model.config.section import ConfigError
from viz_app.content.demonstrations import DEMONSTRATIONS, Demonstration
from viz_app.content.examples import CAPTIONS, EVERYDAY, MORE, texts
from viz_app.content.purposes import PURPOSES


def test_all_lists_of_a_language_have_the_same_length() -> None:
    for table in (CAPTIONS, EVERYDAY, MORE, PURPOSES):
        assert len({len(one) for one in table.values()}) == 1


@pytest.mark.parametrize("value", ["A dog runs.", [], ["A dog runs.", 3]])
def test_a_list_that_is_none_is_named(value: object) -> None:
    with pytest.raises(ValueError, match=r"in examples\.toml is not a"):
        texts(value)


def test_a_demonstration_has_only_the_sentences_that_pages_use() -> None:
    assert DEMONSTRATIONS["everyday-en-de"].donor == "Where is the school?"
    with pytest.raises(ConfigError, match="Demonstration has no setting order_"):
        Demonstration.from_dict({"heads": "One.", "compared": "Two.", "order_": "Three."})
    with pytest.raises(ConfigError, match="heads is 3"):
        Demonstration.from_dict({"heads": 3, "compared": "Two."})
