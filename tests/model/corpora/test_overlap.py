import pytest

from model.corpora.overlap import canonical, sides, without

TWINS = [
    ("I'm not Tom.", "i am not tom"),
    ("He isn't here!", "He\u2019s not here"),
    ("I can't swim.", "I cannot swim"),
    ("I can not swim.", "I can't swim."),
    ("We won't go.", "We will not go."),
    ("They'd seen it.", "They had seen it."),
    ("You've won", "YOU HAVE WON"),
    ("Don't!", "Do not."),
    ("Wie geht's dir?", "Wie geht es dir?"),
    ("Die Straße", "die STRASSE."),
    ("你好！", "你好。"),
]


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_twins_become_the_same(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(("one", "other"), [("I'm here.", "I was here."), ("He can.", "He can't."), ("你好", "您好")])
def test_different_sentences_stay_different(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


def test_a_pair_goes_if_either_side_is_held_out() -> None:
    held_out = sides([("I'm tired.", "Ich bin müde.")])
    pairs = [("I am tired", "Bin müde."), ("I feel tired.", "ich bin müde"), ("I'm awake.", "Ich bin wach.")]
    assert list(without(pairs, held_out)) == pairs[2:]
