"""Stories are drawn from scenes: complete sentences in which verbs, pronouns and articles agree."""

import random
import re
from collections import Counter

import pytest

from weights.stories.draw import (
    SCENES,
    Words,
    draw_line,
    draw_name,
    draw_row,
    draw_stories,
    is_held_out,
    third_person,
)

STORIES = [" ".join(lines) for lines in draw_stories(600, seed=5)]
NAME = re.compile(r"\b[A-Z][a-z]+\b")


def test_the_same_seed_draws_the_same_stories() -> None:
    assert [" ".join(lines) for lines in draw_stories(50, seed=5)] == STORIES[:50]
    assert len({*STORIES}) > 590


def test_every_line_of_every_scene_becomes_sentences() -> None:
    draw = random.Random(1)
    for scene in SCENES:
        words = Words(draw)
        for line in scene:
            text = draw_line(line.removeprefix("?"), words)
            assert not re.search(r"[{}\[\]|]|  |\b[Aa] [aeiou]", text), text
            assert re.match(r'"?[A-Z]', text), text
            assert re.search(r'[.!?]"?$', text), text


def test_a_verb_agrees_with_its_group_and_not_with_the_noun_in_between() -> None:
    counts = Counter[str]()
    for seed in range(200):
        words = Words(random.Random(seed))
        text = draw_line("The {group} near the [{thing}|{thing.many}] {group.is} {state} and {group:run}.", words)
        group = words.row("group")
        many = group["number"] == "many"
        assert f" {'are' if many else 'is'} " in text
        assert text.endswith(" and run." if many else " and runs.")
        counts["many" if many else "one"] += 1
    assert min(counts.values()) > 70


def test_a_person_keeps_a_pronoun_in_the_whole_story() -> None:
    words = Words(random.Random(3))
    found = {draw_line("{name.he} {name.his} {name.child}", words) for _ in range(20)}
    words.next_scene()
    assert {draw_line("{name.he} {name.his} {name.child}", words)} == found
    assert found <= {"She her girl", "He his boy"}


def test_two_words_of_a_category_differ() -> None:
    for seed in range(100):
        words = Words(random.Random(seed))
        chosen = draw_line("{color} {color 2} {color 3} {color 4}", words).lower().split()
        assert len({*chosen}) == 4


@pytest.mark.parametrize(
    ("verb", "with_s"),
    [("run", "runs"), ("watch", "watches"), ("cry", "cries"), ("play", "plays"), ("do", "does"), ("have", "has")],
)
def test_the_third_person(verb: str, with_s: str) -> None:
    assert third_person(verb) == with_s


def test_a_training_story_has_no_name_that_is_kept_for_tests() -> None:
    draw = random.Random(2)
    kept = {draw_name("she", draw, invented=1, held_out=True)["word"] for _ in range(300)}
    assert all(map(is_held_out, kept))
    assert len(kept) > 200
    read = {name for text in STORIES for name in NAME.findall(text)}
    assert not kept & read
    tested = " ".join(" ".join(lines) for lines in draw_stories(20, seed=1, invented=1, held_out=True))
    assert any(is_held_out(name) for name in NAME.findall(tested))


def test_an_unknown_category_is_an_error() -> None:
    with pytest.raises(KeyError):
        draw_row("planet", random.Random(1))
