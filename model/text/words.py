"""Whole words, as in the classic Multi30k pipeline: spaCy splits the text, torchtext numbers the words."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from model.config.section import ConfigError
from model.messages import Message
from model.text.cleaning import clean
from model.text.encoding import Encoding
from model.text.vocab import SPECIAL_TOKENS, UNK_ID

if TYPE_CHECKING:  # a program that reads only subwords does not wait for spaCy and torchtext
    from spacy.language import Language

    from model.text.torchtext_parts import Vocab

__all__ = ["WordTokenizer", "short_parts"]


@lru_cache(maxsize=8)  # a few megabytes each, and a quarter of a second to build
def spacy_rules(language: str) -> "Language":
    """The rules by which spaCy splits a language into words. They need no download.

    Raises:
        ConfigError: spaCy has no rules for this language.
    """
    import spacy

    try:
        return spacy.blank(language)
    except ImportError as error:
        raise ConfigError(
            "spaCy has no rules for the language {language}; use a code such as en or de.", language=repr(language)
        ) from error


def numbered(counts: Counter[str], *, min_freq: int = 1) -> "Vocab":
    from model.text.torchtext_parts import word_vocabulary

    return word_vocabulary(counts, min_freq=min_freq)


def short_parts(text: str, *, longest: int = 100) -> Iterator[tuple[int, str]]:
    """Parts of a text that a tokenizer splits quickly, each with the position of its first character.

    spaCy removes punctuation from a word sign by sign and reads the whole rest each time: 20,000 brackets take 33
    seconds. So a word without spaces is divided after every `longest` characters.
    """
    ends = [match.end() for match in re.finditer(rf"\S{{{longest}}}(?=\S)", text)]
    for start, end in pairwise((0, *ends, len(text))):
        yield start, text[start:end]


class WordTokenizer:
    """Words by spaCy's rules for the language, numbered by a torchtext `Vocab`. Rare words become `<unk>`.

    `decode` repeats what the training texts show: a token that mostly had no space before it (or after it) is joined
    again. So `n't`, commas and the hyphen of `t-shirt` need no rules of their own.
    """

    def __init__(
        self, *, language: str, lowercase: bool, vocab: "Vocab", joins_left: Iterable[str], joins_right: Iterable[str]
    ) -> None:
        self.language = language
        self.lowercase = lowercase
        self.vocab = vocab
        self.joins_left = frozenset(joins_left)
        self.joins_right = frozenset(joins_right)
        self._nlp = spacy_rules(language)

    @classmethod
    def train(cls, texts: Iterable[str], *, language: str, lowercase: bool, min_freq: int) -> Self:
        nlp = spacy_rules(language)
        counts: Counter[str] = Counter()
        beside: Counter[tuple[str, str]] = Counter()  # how often a word has a neighbour on a side
        joined: Counter[tuple[str, str]] = Counter()  # and how often without a space
        for text in texts:
            words = [
                (token.text.lower() if lowercase else token.text, bool(token.whitespace_))
                for token in nlp(clean(text))
                if not token.is_space
            ]
            counts.update(word for word, _ in words)
            for (left, spaced), (right, _) in pairwise(words):
                for key in ((left, "right"), (right, "left")):
                    beside[key] += 1
                    joined[key] += not spaced
        vocab = numbered(counts, min_freq=min_freq)

        def joining(side: str) -> list[str]:
            # A word before a full stop has no space after it either. Only a token that nearly always joins is a joiner.
            often = (w for w in vocab.itos if beside[w, side] and joined[w, side] > 0.7 * beside[w, side])
            return [w for w in often if is_punctuation_or_clitic(w)]

        return cls(
            language=language,
            lowercase=lowercase,
            vocab=vocab,
            joins_left=joining("left"),
            joins_right=joining("right"),
        )

    @property
    def size(self) -> int:
        return len(self.vocab.itos)

    def encode(self, text: str) -> Encoding:
        words = self._words(text)
        return Encoding(
            ids=tuple(self._id(word) for word, _, _ in words),
            tokens=tuple(word for word, _, _ in words),
            offsets=tuple((start, end) for _, start, end in words),
            words=tuple(range(len(words))),
        )

    def encode_batch(self, texts: Sequence[str]) -> list[Sequence[int]]:
        return [[self._id(word) for word, _, _ in self._words(text)] for text in texts]

    def _words(self, text: str) -> list[tuple[str, int, int]]:
        """Each word, the position of its first character, and the position after its last character."""
        words: list[tuple[str, int, int]] = []
        for first, token in ((first, token) for first, part in short_parts(clean(text)) for token in self._nlp(part)):
            start, end = first + token.idx, first + token.idx + len(token.text)
            if token.is_space:
                continue
            word = token.text.lower() if self.lowercase else token.text
            # spaCy keeps I'M and U.S. whole, but splits i'm and u.s. into words that are in the vocabulary.
            if word != token.text and len(word) == end - start and self._id(word) == UNK_ID:
                words += [(t.text, start + t.idx, start + t.idx + len(t.text)) for t in self._nlp(word)]
            else:
                words.append((word, start, end))
        return words

    def decode(self, ids: Sequence[int]) -> str:
        text, glue, quoted = "", True, False
        for word in (self.vocab.itos[i] for i in ids if i >= len(SPECIAL_TOKENS) or i == UNK_ID):
            if word == '"':
                left, right = quoted, not quoted
                quoted = not quoted
            else:
                left, right = word in self.joins_left, word in self.joins_right
            text += word if glue or left else " " + word
            glue = right
        return text

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.vocab.itos[i] for i in ids)

    def words(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(range(len(ids)))

    def resegment(self, ids: Sequence[int], *, dropout: float, draws: random.Random) -> Sequence[int]:
        """Whole words have only one segmentation."""
        return ids

    def to_json(self) -> str:
        state = {
            "language": self.language,
            "lowercase": self.lowercase,
            "joins_left": sorted(self.joins_left),
            "joins_right": sorted(self.joins_right),
            "words": self.vocab.itos[len(SPECIAL_TOKENS) :],
        }
        return json.dumps(state, ensure_ascii=False, indent=0)

    @classmethod
    def from_json(cls, text: str) -> Self:
        state: dict[str, Any] = json.loads(text)
        words = state.pop("words")
        texts = [*words, *state["joins_left"], *state["joins_right"], state["language"]]
        if not all(isinstance(word, str) for word in texts) or not state["language"].isalpha():
            raise ValueError(Message("its words and its language must be text"))
        # torchtext sorts by count, so decreasing counts keep the saved order.
        counts = Counter({word: len(words) - i for i, word in enumerate(words)})
        return cls(vocab=numbered(counts), **state)

    def _id(self, word: str) -> int:
        index: int = self.vocab.stoi.get(word, UNK_ID)
        return index if index >= len(SPECIAL_TOKENS) else UNK_ID


def is_punctuation_or_clitic(word: str) -> bool:
    """Clitics are short parts such as 's, n't and na, which spaCy separates from a word."""
    return not word.isalpha() or len(word) <= 2
