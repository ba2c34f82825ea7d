import gzip
import re
from pathlib import Path

import pytest

from model.corpora.corpora import SPLITS, TATOEBA, CorpusError, data_dir, read_pairs, write_pairs
from model.corpora.overlap import sides
from model.text.cleaning import clean


def write(root: Path, name: str, content: bytes) -> None:
    path = root / "tiny" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_plain_and_gzip_files_are_read_alike(tmp_path: Path) -> None:
    write(tmp_path, "train.en", "One\u0085two.\nThree.\n".encode())
    write(tmp_path, "raw/train.de.gz", gzip.compress(b"Eins zwei.\r\nDrei.\r\n", mtime=0))
    assert read_pairs(tmp_path, "tiny", "train", "en", "de") == [
        ("One\u0085two.", "Eins zwei."),
        ("Three.", "Drei."),
    ]


def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no train\.en .* --data-dir, or run: python -m model download tiny"):
        read_pairs(tmp_path, "tiny", "train", "en", "de")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.de", b"", r"train\.de is empty"),
        ("train.de", b"\n\n", r"train\.de is empty"),
        ("train.de", b"Gut\nSchlecht \xff\n", r"train\.de, line 2 is not UTF-8 text\. Save it as UTF-8"),
        ("train.de", "Eins\nZwei\n".encode("utf-16"), r"train\.de, line 1 is UTF-16 text\. Save it as UTF-8"),
        ("train.de", "Eins\nZwei\n".encode("utf-16-le"), r"train\.de, line 1 is UTF-16 text"),
        ("train.de", b"Eins\n", r"misaligned: 2 lines of en, 1 lines of de"),
        ("train.de.gz", gzip.compress(b"Eins\nZwei\n", mtime=0)[:-6], r"train\.de\.gz cannot be read as gzip"),
        ("train.de.gz", b"Eins\nZwei\n", r"train\.de\.gz cannot be read as gzip"),
    ],
)
def test_unusable_files_get_a_message(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    write(tmp_path, "train.en", b"One\nTwo\n")
    write(tmp_path, name, content)
    with pytest.raises(CorpusError, match=message):
        read_pairs(tmp_path, "tiny", "train", "en", "de")


def test_the_folder_comes_from_the_option_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADLIGHT_DATA", raising=False)
    assert data_dir() == Path("data")
    monkeypatch.setenv("HEADLIGHT_DATA", "/corpora")
    assert data_dir() == Path("/corpora")
    assert data_dir("/mine") == Path("/mine")


def write_tatoeba(root: Path) -> list[str]:
    """As many made-up lines as the splits number; the English of two and the Chinese of three are twins."""
    count = 1 + max(int(i) for name in ("val", "test") for i in (SPLITS / f"cmn-eng.{name}.txt").read_text().split())
    english = ("I'm word {}!", "i am word {}.")
    lines = [
        f"{english[i % 2].format(i // 2)}\t字\u200b{i // 3}\u202f号{'。' * (i % 3)}\tCC-BY #{i}" for i in range(count)
    ]
    write(root, "../cmn-eng/cmn.txt", "\n".join(lines).encode())
    return lines


def test_the_training_part_holds_no_twin_of_a_test_sentence_in_either_language(tmp_path: Path) -> None:
    lines = write_tatoeba(tmp_path)
    splits = {name: read_pairs(tmp_path, "cmn-eng", name, "en", "zh") for name in ("train", "val", "test")}
    assert len(splits["test"]) == len(splits["val"]) == 1000
    first_test = int((SPLITS / "cmn-eng.test.txt").read_text().split()[0])
    assert splits["test"][0] == (lines[first_test].split("\t")[0], clean(lines[first_test].split("\t")[1]))
    assert len(splits["train"]) > 1000
    assert not sides(splits["train"]) & sides(splits["val"] + splits["test"])
    assert read_pairs(tmp_path, "cmn-eng", "val", "zh", "en") == [(zh, en) for en, zh in splits["val"]]


def test_the_newer_edition_is_read_in_simplified_characters_alone(tmp_path: Path) -> None:
    count = 1 + max(int(i) for split in ("val", "test") for i in corpus_lines("cmn-eng-2026", split))
    lines = [f"It's number {i}.\t這是 {i} 號，我頭髮乾淨。\tCC-BY" for i in range(count)]
    write(tmp_path, "../cmn-eng-2026/cmn.txt", "\n".join(lines).encode())
    for split in ("train", "val", "test"):
        pairs = read_pairs(tmp_path, "cmn-eng-2026", split, "en", "zh")
        assert {re.sub(r"\d+", "", target) for _, target in pairs} == {"这是  号，我头发干净。"}


def corpus_lines(corpus: str, split: str) -> list[str]:
    return (SPLITS / f"{corpus}.{split}.txt").read_text().split()


def test_the_unseen_split_has_no_target_of_an_earlier_training_part(tmp_path: Path) -> None:
    write_tatoeba(tmp_path)
    test, unseen = (read_pairs(tmp_path, "cmn-eng", split, "en", "zh") for split in ("test", "unseen"))
    held_out = {int(i) for name in ("val", "test") for i in (SPLITS / f"cmn-eng.{name}.txt").read_text().split()}
    # "I'm" and "I am" were different to the earlier split, so a pair was seen if another line of its three was free.
    chosen = [int(i) for i in (SPLITS / "cmn-eng.test.txt").read_text().split()]
    free = [all(j in held_out for j in range(i // 3 * 3, i // 3 * 3 + 3)) for i in chosen]
    assert unseen == [pair for pair, alone in zip(test, free, strict=True) if alone]
    # Read the other way round, English is what a model writes: none of it is left when "I am" counts as seen.
    assert len(read_pairs(tmp_path, "cmn-eng", "unseen", "zh", "en")) < 1000


def test_the_class_list_is_not_in_the_training_part(tmp_path: Path) -> None:
    for split in ("train", "test"):
        write(tmp_path, f"{split}.en", b"hello anna\nA heron swims.\n")
        write(tmp_path, f"{split}.de", b"Servus Anna\nEin Reiher schwimmt.\n")
    assert read_pairs(tmp_path, "tiny", "train", "en", "de") == [("A heron swims.", "Ein Reiher schwimmt.")]
    assert len(read_pairs(tmp_path, "tiny", "test", "en", "de")) == 2


def test_a_varied_corpus_is_validated_on_its_original(tmp_path: Path) -> None:
    write(tmp_path, "val.en", b"One.\n")
    write(tmp_path, "val.de", b"Eins.\n")
    write_pairs(tmp_path / "tiny-varied-de", {"train": [("ONE", "Eins")]}, ("en", "de"))
    assert read_pairs(tmp_path, "tiny+tiny-varied-de", "val", "en", "de") == [("One.", "Eins.")]
    assert read_pairs(tmp_path, "tiny-varied-de", "train", "en", "de") == [("ONE", "Eins")]


def test_a_corpus_without_a_pair_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="would have no pair"):
        write_pairs(tmp_path / "none-varied-en", {"train": []}, ("en", "de"))
    assert list(tmp_path.iterdir()) == []


def test_the_split_lists_are_of_a_thousand_different_lines_each() -> None:
    for corpus in TATOEBA:
        val, test = (
            [int(i) for i in (SPLITS / f"{corpus}.{name}.txt").read_text().split()] for name in ("val", "test")
        )
        assert len(set(val)) == len(set(test)) == 1000
        assert not set(val) & set(test)


def test_several_corpora_are_read_together_and_one_may_count_twice(tmp_path: Path) -> None:
    for split in ("train", "val"):
        write(tmp_path, f"{split}.en", b"One.\n")
        write(tmp_path, f"{split}.zh", "一。\n".encode())
    write_tatoeba(tmp_path)
    alone = {name: read_pairs(tmp_path, "cmn-eng", name, "en", "zh") for name in ("train", "val")}
    assert read_pairs(tmp_path, "tiny+tiny+cmn-eng", "train", "en", "zh") == [("One.", "一。")] * 2 + alone["train"]
    assert read_pairs(tmp_path, "tiny+tiny+cmn-eng", "val", "en", "zh") == [("One.", "一。"), *alone["val"]]


def test_a_tatoeba_file_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no cmn\*\.txt .*The readme names its source"):
        read_pairs(tmp_path, "cmn-eng", "test", "en", "zh")
    write(tmp_path, "../cmn-eng/cmn.txt", "Hi.\t嗨。\n".encode())
    with pytest.raises(CorpusError, match="does not match its splits"):
        read_pairs(tmp_path, "cmn-eng", "test", "en", "zh")
    with pytest.raises(CorpusError, match="has no split 'test_2016_flickr'"):
        read_pairs(tmp_path, "cmn-eng", "test_2016_flickr", "en", "zh")
    with pytest.raises(CorpusError, match="has the languages en and zh, not en and de"):
        read_pairs(tmp_path, "cmn-eng", "test", "en", "de")
