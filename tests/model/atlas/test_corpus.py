from pathlib import Path

import pytest

from model.atlas.corpus import BLOCK, Line, open_corpus
from model.corpora.corpora import CorpusError


def test_lines_are_numbered_as_in_the_file_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_bytes("\ufeffOne.\r\n\n  \nTwo.\tZwei.\t#12 (CC BY)\n\tonly a second\nThree.".encode())
    corpus = open_corpus(path)
    assert (corpus.lines, corpus.texts, corpus.with_second) == (6, 4, 1)
    assert corpus.block(0) == (
        Line(number=1, text="One."),
        Line(number=4, text="Two.", second="Zwei."),
        Line(number=5, text="only a second"),
        Line(number=6, text="Three."),
    )


def test_blocks_are_lines_of_the_file_and_together_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("".join(f"Text {n}.\n" for n in range(1, 3 * BLOCK + 6)))
    corpus = open_corpus(path)
    assert corpus.blocks == 4
    assert [len(corpus.block(i)) for i in range(4)] == [BLOCK, BLOCK, BLOCK, 5]
    found = [line for i in (3, 1, 0, 2) for line in corpus.block(i)]
    assert {line.number: line.text for line in found} == {n: f"Text {n}." for n in range(1, 3 * BLOCK + 6)}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "has no text. An atlas needs a file with one text per line"),
        (b"\n \n\t\n", "has no text"),
        (b"A text.\n\x89PNG\r\n\x1a\n\x00\x00", "line 2 is not UTF-8 text"),
        (b"ELF\x01\x00\x00\x00\n", "is a binary file"),
        ("Text.".encode("utf-16"), "is UTF-16 text"),
        (b"word " * 2_000_000, "Line 1 of .* is longer than 1 MB. Write each text on its own line"),
    ],
    ids=["empty", "only spaces", "picture", "program", "UTF-16", "10 MB on one line"],
)
def test_a_file_that_is_no_corpus_gets_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "texts.txt"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=sentence):
        open_corpus(path)


def test_a_missing_file_and_a_folder_get_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.txt"):
        with pytest.raises(CorpusError, match="there is no file"):
            open_corpus(path)
