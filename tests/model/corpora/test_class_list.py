from pathlib import Path

import pytest

from model.config.section import ConfigError
from model.corpora.class_list import ClassSentence, class_sentences, read_class_list
from model.corpora.overlap import canonical


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "en-de.tsv").write_text(
        "# Mood\nAre you tired?\t[Bist du/Sind Sie] [sehr/] müde?\tMüde\n", encoding="utf-8"
    )
    return tmp_path


def test_brackets_stand_for_each_of_their_words(folder: Path) -> None:
    answers = {"Bist du sehr müde", "Bist du müde", "Sind Sie sehr müde", "Sind Sie müde", "Müde"}
    assert read_class_list("en", "de", folder=folder) == [
        ClassSentence(source="Are you tired?", answers=frozenset(answers))
    ]


def test_only_spaces_and_final_punctuation_are_ignored(folder: Path) -> None:
    [sentence] = read_class_list("en", "de", folder=folder)
    assert all(sentence.accepts(text) for text in ("Bist du müde?", " Bist  du müde", "Bist du müde..."))
    assert not any(sentence.accepts(text) for text in ("bist du müde?", "Bist du, müde?", "Bist du", ""))


def test_a_direction_without_a_list_is_named(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"from de to en\. These lists exist: en-de"):
        read_class_list("de", "en", folder=folder)


@pytest.mark.parametrize("languages", [("en", "de"), ("de", "en"), ("en", "zh"), ("zh", "en")])
def test_our_own_lists_are_a_hundred_and_fifty_different_sentences(languages: tuple[str, str]) -> None:
    sentences = read_class_list(*languages)
    canonical_sources = {canonical(sentence.source) for sentence in sentences}
    assert len(sentences) == len(canonical_sources) == 150
    assert canonical_sources <= class_sentences()
    answers = [answer for sentence in sentences for answer in sentence.answers]
    assert all(sentence.answers for sentence in sentences)
    assert all(answer and not set("[]|\t") & set(answer) for answer in answers)


def test_punctuation_and_kind_of_characters_are_ignored_in_chinese() -> None:
    sentence = next(one for one in read_class_list("en", "zh") if one.source == "I like chocolate.")
    assert all(map(sentence.accepts, ("我喜欢巧克力。", "我喜歡巧克力", "我 喜欢 巧克力！")))
    assert not sentence.accepts("我不喜欢巧克力。")
