"""Whole words, as the classic Multi30k pipeline has them: cut by spaCy, numbered by torchtext, rare ones `<unk>`."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from model.config.section import ConfigError
from model.text.encoding import Encoding
from model.text.vocab import SPECIAL_TOKENS, UNK_ID

if TYPE_CHECKING:  # what reads subwords need not wait for these two
    from spacy.language import Language
    from torchtext.vocab import Vocab

__all__ = ["WordTokenizer", "parts"]


@lru_cache(maxsize=8)  # a few megabytes each, and a quarter of a second to build
def rules(language: str) -> "Language":
    """The rules of spaCy for cutting a language into words; no download.

    Raises:
        ConfigError: it has none for this language.
    """
    import spacy

    try:
        return spacy.blank(language)
    except ImportError as error:
        raise ConfigError(f"spaCy has no rules for the language {language!r}; use a code such as en or de.") from error


def numbered(counts: Counter[str], *, min_freq: int = 1) -> "Vocab":
    """The words with their numbers, after the special tokens; the most frequent first."""
    from torchtext.vocab import Vocab

    return Vocab(counts, min_freq=min_freq, specials=list(SPECIAL_TOKENS))


def parts(text: str, *, longest: int = 100) -> Iterator[tuple[int, str]]:
    """The text in parts that tokenizers cut quickly, each with the place of its first character.

    spaCy takes signs off a word one by one and looks at the whole rest each time: 20,000 brackets take it 33 seconds.
    So what stands between two spaces is cut after every `longest` characters.
    """
    ends = [match.end() for match in re.finditer(rf"\S{{{longest}}}(?=\S)", text)]
    for start, end in pairwise((0, *ends, len(text))):
        yield start, text[start:end]


class WordTokenizer:
    """Words by spaCy's rules for the language, numbered by a torchtext `Vocab`; rare words are `<unk>`.

    Detokenizing follows what was seen in training: a token that mostly stood without a space before it (or after it)
    is joined again, so `n't`, commas and the hyphen of `t-shirt` need no rules of their own.
    """

    def __init__(
        self, *, language: str, lowercase: bool, vocab: "Vocab", joins_left: Iterable[str], joins_right: Iterable[str]
    ) -> None:
        self.language = language
        self.lowercase = lowercase
        self.vocab = vocab
        self.joins_left = frozenset(joins_left)
        self.joins_right = frozenset(joins_right)
        self._nlp = rules(language)

    @classmethod
    def train(cls, texts: Iterable[str], *, language: str, lowercase: bool, min_freq: int) -> Self:
        nlp = rules(language)
        seen: Counter[str] = Counter()
        inner: Counter[tuple[str, str]] = Counter()
        joined: Counter[tuple[str, str]] = Counter()
        for text in texts:
            words = [
                (token.text.lower() if lowercase else token.text, bool(token.whitespace_))
                for token in nlp(text)
                if not token.is_space
            ]
            seen.update(word for word, _ in words)
            for (left, spaced), (right, _) in pairwise(words):
                for key in ((left, "right"), (right, "left")):
                    inner[key] += 1
                    joined[key] += not spaced
        vocab = numbered(seen, min_freq=min_freq)

        def joining(side: str) -> list[str]:
            # Words before a full stop stand without a space too; only what joins nearly always is a joiner.
            return [w for w in vocab.itos if inner[w, side] and joined[w, side] > 0.7 * inner[w, side] and cls._thin(w)]

        return cls(
            language=language,
            lowercase=lowercase,
            vocab=vocab,
            joins_left=joining("left"),
            joins_right=joining("right"),
        )

    @staticmethod
    def _thin(word: str) -> bool:
        """Punctuation, or a clitic such as 's, n't and na that spaCy cut off."""
        return not word.isalpha() or len(word) <= 2

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
        """Each word with its first character in the text and the one after its last."""
        words: list[tuple[str, int, int]] = []
        for first, token in ((first, token) for first, part in parts(text) for token in self._nlp(part)):
            start, end = first + token.idx, first + token.idx + len(token.text)
            if token.is_space:
                continue
            word = token.text.lower() if self.lowercase else token.text
            # spaCy cuts capitals otherwise: I'M and U.S. whole, i'm and u.s. in pieces that are known.
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

    def cut_anew(self, ids: Sequence[int], *, dropout: float, draws: random.Random) -> Sequence[int]:
        """Words have one way to be cut."""
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
            raise ValueError("its words and its language are not all text")
        # Falling counts make torchtext keep the saved order.
        counts = Counter({word: len(words) - i for i, word in enumerate(words)})
        return cls(vocab=numbered(counts), **state)

    def _id(self, word: str) -> int:
        index: int = self.vocab.stoi.get(word, UNK_ID)
        return index if index >= len(SPECIAL_TOKENS) else UNK_ID
