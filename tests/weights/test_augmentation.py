import random
import re
from collections import Counter
from pathlib import Path

import pytest

from model.corpora.corpora import read_pairs, write_pairs
from model.corpora.phrasebook import CHINESE, GERMAN, LANGUAGES, SUMS, Phrasebook, numeral
from weights.__main__ import main as write_corpus
from weights.vary import (
    LETTERS,
    VARIANTS,
    bare,
    filled,
    recounted,
    renamed,
    renumbered,
    respelled,
    smiling,
    varied,
)

PAIRS = [("Tom has 3 dogs.", "Tom hat 3 Hunde."), ("We saw two cats!", "Wir sahen zwei Katzen!"), ("Stop", "Halt")]


@pytest.fixture
def draw() -> random.Random:
    return random.Random(1)


def test_a_variety_is_the_same_for_the_same_seed() -> None:
    one, same, other = (list(varied(PAIRS * 50, words=GERMAN, source="en", seed=seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert list(filled(50, words=GERMAN, seed=1)) == list(filled(50, words=GERMAN, seed=1))
    assert list(filled(50, words=GERMAN, seed=1)) != list(filled(50, words=GERMAN, seed=2))


def test_the_letters_of_what_is_read_vary_and_those_of_what_is_written_do_not() -> None:
    pairs = PAIRS[1:2] * 300
    for source, read, written in (("en", 0, 1), ("de", 1, 0)):
        found = set(varied(pairs, words=GERMAN, source=source, seed=1))
        assert {pair[read].rstrip("!") for pair in found} > {pairs[0][read][:-1].lower(), pairs[0][read][:-1].upper()}
        assert not any(pair[written].islower() or pair[written].isupper() for pair in found)


def test_chinese_names_change_on_both_sides_and_chinese_may_be_read_in_traditional_characters() -> None:
    pairs = [("Tom's dog likes Mary.", "汤姆的狗喜欢玛丽。")] * 200
    names = dict(pair for row in ("man", "woman", "other script") for pair in CHINESE.names[row])
    found = set(varied(pairs, words=CHINESE, source="zh", seed=1))
    whole = [pair for pair in found if pair[0].endswith(".") and pair[1].endswith("。") and "湯" not in pair[1]]
    assert len(whole) > 20
    for source, target in whole:
        owner, liked = source.removesuffix(".").split("'s dog likes ")
        assert target == f"{names[owner]}的狗喜欢{names[liked]}。"
    assert ("Tom's dog likes Mary.", "湯姆的狗喜歡瑪麗。") in found
    assert not any("湯姆" in target for _, target in varied(pairs, words=CHINESE, source="en", seed=1))


def test_every_name_is_looked_for_in_one_row_and_stands_for_one_name() -> None:
    for drawn in (GERMAN, CHINESE):
        looked_for = [pair for row in ("man", "woman", "surname", "city") for pair in drawn.names[row]]
        assert len(looked_for) == len(drawn.row_of) == len(drawn.english_of)


def test_every_template_can_be_filled() -> None:
    for drawn in (GERMAN, CHINESE):
        found = list(filled(3000, words=drawn, seed=1))
        assert not any(set("{}_=;") & set("".join(pair).replace(";)", "")) for pair in found)
        assert len(set(found)) > 1500


BOOKS = pytest.mark.parametrize("book", LANGUAGES.values(), ids=list(LANGUAGES))


@BOOKS
def test_a_phrasebook_is_whole_and_its_slots_are_the_same_in_both_languages(book: Phrasebook) -> None:
    slots = [[sorted(re.findall("{(.*?)}", side)) for side in pair] for pair in book.phrases]
    assert all(english == other for english, other in slots)
    rows = {re.sub(r" \d$", "", slot) for english, _ in slots for slot in english}
    assert rows - set(book.names) - {"hour", "minute", "phone", "year", "small"} <= set(book.rows)
    assert set(book.rows) <= rows
    for pair in [*book.phrases, *(pair for row in book.rows.values() for pair in row)]:
        assert all(pair)
        assert "=" not in "".join(pair)
    assert all(len(set(row)) == len(row) for name, row in book.rows.items() if name != "sum")
    # A pair that appears twice is drawn twice as often. This is useful with many pairs.
    assert all("{" in english for (english, _), count in Counter(book.phrases).items() if count > 1)


@BOOKS
def test_sentences_of_a_phrasebook_begin_with_a_capital(book: Phrasebook) -> None:
    found = [pair for pair in filled(3000, words=book, seed=1) if pair[0].endswith((".", "!", "?"))]
    assert len(found) > 1500
    assert not any(side[:1].islower() for pair in found for side in pair)
    assert all(side[-1] in ".!?。！？" for pair in found for side in pair)


def test_two_entries_of_a_row_are_drawn_separately() -> None:
    pets = dict(CHINESE.rows["pet"])
    found = [re.fullmatch("I have (.+) and (.+)\\.", pair[0]) for pair in filled(20000, words=CHINESE, seed=1)]
    both = [match.groups() for match in found if match and set(match.groups()) <= set(pets)]
    assert any(one != other for one, other in both)


def test_letters_and_full_stops(draw: random.Random) -> None:
    assert bare(PAIRS[0], draw, GERMAN) == ("Tom has 3 dogs", "Tom hat 3 Hunde")
    assert bare(PAIRS[2], draw, GERMAN) is None
    assert {respelled(str.lower)(PAIRS[1], draw, GERMAN) for _ in range(50)} == {
        ("we saw two cats!", "Wir sahen zwei Katzen!"),
        ("we saw two cats", "Wir sahen zwei Katzen"),
    }
    assert respelled(str.upper)(PAIRS[2], draw, GERMAN) == ("STOP", "Halt")


def test_a_name_is_replaced_on_both_sides(draw: random.Random) -> None:
    for _ in range(50):
        found = renamed(("Tom's dog likes Mary, not Tom.", "Toms Hund mag Mary, nicht Tom."), draw, GERMAN)
        assert found
        match = re.fullmatch(r"(.+)'s dog likes (.+), not (.+)\.", found[0])
        assert match
        owner, liked, other = match.groups()
        assert owner == other
        assert found[1] == f"{owner}s Hund mag {liked}, nicht {owner}."
        names = {row: {name for name, _ in GERMAN.names[row]} for row in ("man", "woman", "other script")}
        assert owner in names["man"] | names["other script"]
        assert liked in names["woman"] | names["other script"]
    assert renamed(("Tom sleeps.", "Er schläft."), draw, GERMAN) is None


def test_numbers_are_replaced_if_both_sides_agree(draw: random.Random) -> None:
    found = [renumbered(("At 9:45 on the 9th.", "Am 9. um 9.45 Uhr."), draw, GERMAN) for _ in range(50)]
    for pair in found:
        assert pair
        first, second, third = re.findall(r"\d+", pair[0])
        assert pair[1] == f"Am {third}. um {first}.{second} Uhr."
        assert (first, 2 <= int(first) <= 12, 2 <= int(second) <= 59) == (third, True, True)
    assert len(set(found)) > 10
    assert renumbered(("Call 555 2376.", "Ruf an."), draw, GERMAN) is None
    counted = {recounted(PAIRS[1], draw, GERMAN) for _ in range(200)}
    words = zip(*GERMAN.number_words, strict=True)
    assert counted <= {(f"We saw {en} cats!", f"Wir sahen {de} Katzen!") for en, de in words}
    assert recounted(("Two of us.", "Drei von uns."), draw, GERMAN) is None


def test_an_emoji_is_copied(draw: random.Random) -> None:
    source, target = smiling(PAIRS[2], draw, GERMAN)
    assert source.removeprefix("Stop") == target.removeprefix("Halt") != ""


def test_no_variant_has_an_empty_side(draw: random.Random) -> None:
    for variant in [*LETTERS, *VARIANTS]:
        for pair in [*PAIRS, ("!", "!")]:
            found = variant(pair, draw, GERMAN)
            assert found is None or all(side.strip() for side in found)


def test_the_corpus_is_written_beside_without_twins_of_the_validation_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [name for row in ("man", "other script") for name, _ in GERMAN.names[row]]
    val = [(f"{name} sleeps.", f"{name} schläft.") for name in names[::2] if name != "Tom"]
    train = [("Tom sleeps.", "Tom schläft.")] * 300
    write_pairs(tmp_path / "tiny", {"train": train, "val": val}, ("en", "de"))
    assert write_corpus(["vary", "tiny", "--own", "20", "--data-dir", str(tmp_path)]) == 0
    found = read_pairs(tmp_path, "tiny-varied-en", "train", "en", "de")
    assert {re.sub(" sleeps.*", "", source) for source, _ in found} & set(names[1::2])
    assert not set(found) & set(val)
    assert write_corpus(["vary", "tiny", "--data-dir", str(tmp_path)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert write_corpus(["vary", "tiny", "--target", "fr", "--data-dir", str(tmp_path)]) == 1
    assert "en to fr cannot be varied" in capsys.readouterr().err
    assert write_corpus(["vary", "tiny+tiny", "--data-dir", str(tmp_path)]) == 1
    assert "Vary them one by one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "english", "chinese"),
    [
        (1, "one", "一"),
        (10, "ten", "十"),
        (12, "twelve", "十二"),
        (20, "twenty", "二十"),
        (47, "forty-seven", "四十七"),
    ],
)
def test_numerals(number: int, english: str, chinese: str) -> None:
    assert numeral(number) == (english, chinese)


def test_generated_sums_are_correct() -> None:
    values = {numeral(number)[0]: number for number in range(1, 100)}
    signs = {"plus": int.__add__, "minus": int.__sub__, "times": int.__mul__}
    for english, _ in SUMS:
        left, sign, right, _, result = english.lower().split()
        assert signs[sign](values[left], values[right]) == values[result]
