"""Texts of our own for the comparison of the engine: sentences, captions, and lines that are hard to split."""

import itertools
import random
import re
from collections.abc import Iterator

from model.corpora.class_list import read_class_list
from model.corpora.phrasebook import CHINESE, GERMAN, Phrasebook

__all__ = ["class_sources", "hard_lines", "phrases"]

BOOKS = {"de": (GERMAN, 1), "en": (GERMAN, 0), "zh": (CHINESE, 1)}  # language → book, and its side of a pair
SLOT = re.compile(r"\{([^}]+)\}")
PARTS = (
    *("a", "The", "don't", "it's", "we'll", "I'M", "x've", "1", "2026", "3.14", "½", "Ⅷ", "²"),
    *("東京", "站", "车站", "、", "。", "？", "〇", "﨑", "\u2e80", "\U00020000", "々", "한국", "かな"),
    *("ß", "Ä", "straße", "é", "e\u0301", "n\u0303o", "ﬁ", "Ω", "ж", "ש", "ا"),
    *("🐕", "👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "…", "—", "“", "”", "-", "--", "!", "?!", ".", ",", "(", ")", "#"),
    *(
        "\u00ad",
        "\u034f",
        "\u061c",
        "\u200d",
        "\u202e",
        "\u2066",
        "\ufe0f",
        "\ud800",
        "\x7f",
        "\x0b",
        "\r",
        "\u1680",
        "ﾊﾞ",
        "Ａ",
    ),
    *("@x", "</s>", "<pad>", "·", "␣", "\x00", "\x1f"),
    *(" ", "  ", "   ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u0085", "\u200b", "\ufeff", "\u2028"),
)


def class_sources(source: str, target: str) -> list[str]:
    """The sentences of a class list."""
    return [sentence.source for sentence in read_class_list(source, target)]


def phrases(language: str, count: int) -> list[str]:
    """Sentences of our phrasebook with a word in each slot."""
    book, side = BOOKS[language]
    draws = random.Random(4)
    frames = draws.sample(list(book.phrases), count)
    return [filled(frame[side], book, side, draws) for frame in frames]


def filled(frame: str, book: Phrasebook, side: int, draws: random.Random) -> str:
    return SLOT.sub(lambda slot: draws.choice(book.rows[slot[1]])[side] if slot[1] in book.rows else slot[1], frame)


def hard_lines(count: int) -> Iterator[str]:
    """Random lines of words, spaces, emoji, Chinese and combining characters, and of our own sentences."""
    draws = random.Random(7)
    sentences = [sentence for language in BOOKS for sentence in phrases(language, 200)]
    yield from itertools.chain(("", " ", "\n", " 好", "好 "), PARTS)
    for _ in range(count):
        parts = draws.choices((*PARTS, *" " * 20), k=draws.randint(1, 14))
        words = draws.choice(sentences).split(" ")
        yield "".join(parts[: len(parts) // 2] + words[: draws.randint(0, 4)] + parts[len(parts) // 2 :])
