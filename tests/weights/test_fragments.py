import pytest

from weights.vary import association, fragments, links, phrases, phrases_of

NOUNS = {"dog": "Hund", "cat": "Kater", "car": "Wagen", "tree": "Baum"}
COLOURS = {"red": "roter", "green": "grüner", "old": "alter"}
PAIRS = [
    (f"A {colour} {noun} stands near a house.", f"Ein {farbe} {nomen} steht bei einem Haus.")
    for noun, nomen in NOUNS.items()
    for colour, farbe in COLOURS.items()
] + [
    (f"The {noun} is {colour}.", f"Der {nomen} ist {farbe[:-2]}.")
    for noun, nomen in NOUNS.items()
    for colour, farbe in COLOURS.items()
]


def test_words_that_translate_each_other_are_linked() -> None:
    weights = association(PAIRS)
    assert weights["dog", "hund"] == pytest.approx(1.0)
    assert weights["dog", "hund"] > 2 * weights.get(("dog", "steht"), 0.0)


def test_links_follow_the_words_not_their_order() -> None:
    weights = association(PAIRS)
    assert links(["red", "dog"], ["Hund", "roter"], weights) == {0: 1, 1: 0}
    assert links(["unknown"], ["Hund"], weights) == {}


def test_phrases_are_cut_where_their_words_are_linked() -> None:
    found = fragments(PAIRS)
    assert found["the dog", "der Hund"] == 3
    assert found["near a house", "bei einem Haus"] == 12
    assert all(target.split()[-1][0].isupper() for _, target in found)
    assert not [source for source, _ in found if "stands" in source or "is" in source.split()]
    assert fragments(PAIRS[:2]) == {}


def test_a_phrase_is_written_in_one_of_its_forms() -> None:
    made = [
        pair
        for seed in range(30)
        for pair in phrases(PAIRS, seed=seed)
        if "cat" in pair[0].lower() and "the" in pair[0].lower()
    ]
    assert set(made) == {("the cat", "der Kater"), ("The cat", "Der Kater"), ("The cat.", "Der Kater.")}
    assert list(phrases(PAIRS, seed=1)) == list(phrases(PAIRS, seed=1))


def test_a_phrase_has_no_gap_on_the_other_side() -> None:
    weights = {("in", "im"): 1.0, ("summer", "sommer"): 1.0}
    assert list(phrases_of(("In summer.", "Hier im Sommer."), weights)) == [("in summer", "im Sommer")]
    assert list(phrases_of(("In summer.", "Hier im heißen Sommer."), weights)) == []
