"""Text to token ids and back, two ways behind one protocol.

`BytePairTokenizer` cuts words into frequent pieces and knows every text; `WordTokenizer` keeps words whole, as the
classic Multi30k pipeline does, and maps rare ones to `<unk>`.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, Self

import spacy
import tokenizers
from torchtext.vocab import Vocab

from model.config import ConfigError, TokenizerConfig
from model.data.vocab import SPECIAL_TOKENS, UNK_ID

__all__ = [
    "CONTINUES",
    "BytePairTokenizer",
    "Encoding",
    "Tokenizer",
    "TokenizerPair",
    "WordTokenizer",
    "load_pair",
    "train_pair",
    "train_single",
]


HAN = r"\p{Han}"
CONTINUES = "·"  # stands before a piece that continues a word, in what a person is shown


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """A tokenized text, without special tokens; all tuples have one entry a token."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]  # as shown to a person
    offsets: tuple[tuple[int, int], ...]  # start and end character in the text
    words: tuple[int, ...]  # which word the token is a part of, counted from 0


class Tokenizer(Protocol):
    """One language of a checkpoint."""

    @property
    def size(self) -> int:
        """How many ids there are, special tokens included."""
        ...

    def encode(self, text: str) -> Encoding: ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text that a person reads; special tokens are left out."""
        ...

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Each id as shown to a person."""
        ...

    def words(self, ids: Sequence[int]) -> tuple[int, ...]:
        """For each id, which word it is a part of, counted from 0."""
        ...

    def sampling(self, dropout: float) -> "Tokenizer":
        """A copy whose `encode` cuts a text differently each time, where its kind can."""
        ...

    def to_json(self) -> str: ...

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError, KeyError or TypeError where the text is not what `to_json` wrote."""
        ...


def spaced(text: str) -> str:
    """A leading space makes a word the same token at the start of a text as inside it; Chinese needs none."""
    return text if not text or is_han(text[0]) else " " + text


def is_han(character: str) -> bool:
    return unicodedata.name(character, "").startswith("CJK UNIFIED")


@cache
def byte_of_character() -> dict[str, int]:
    """The printable stand-ins that byte-level BPE uses for the 256 bytes (Radford et al. 2019, released encoder)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}


class BytePairTokenizer:
    """Byte-level BPE (Sennrich et al. 2016): every text has ids, and `decode(encode(text).ids)` gives it back."""

    def __init__(self, bpe: tokenizers.Tokenizer) -> None:
        self._bpe = bpe
        # Special tokens are ids that the model gives, never text that a person types: `</s>` in a sentence is four
        # ordinary characters.
        bpe.encode_special_tokens = True
        self._bytes = [self._token_bytes(i) for i in range(bpe.get_vocab_size())]

    @classmethod
    def train(cls, texts: Iterable[str], *, vocab_size: int) -> Self:
        bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
        # Chinese has no spaces: each character stands alone, or whole clauses would become tokens.
        one_character = tokenizers.pre_tokenizers.Split(tokenizers.Regex(HAN), behavior="isolated")
        byte_level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        bpe.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([one_character, byte_level])
        bpe.decoder = tokenizers.decoders.ByteLevel()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=list(SPECIAL_TOKENS),
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        bpe.train_from_iterator(map(spaced, texts), trainer)
        return cls(bpe)

    @property
    def size(self) -> int:
        return len(self._bytes)

    def encode(self, text: str) -> Encoding:
        encoded = self._bpe.encode(spaced(text), add_special_tokens=False)
        added = len(spaced(text)) - len(text)
        offsets = tuple((max(start - added, 0), max(end - added, 0)) for start, end in encoded.offsets)
        ids = tuple(encoded.ids)
        return Encoding(ids=ids, tokens=self.tokens(ids), offsets=offsets, words=self.words(ids))

    def decode(self, ids: Sequence[int]) -> str:
        text = b"".join(self._bytes[i] for i in ids).decode("utf-8", errors="replace")
        return text.removeprefix(" ")

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._shown(i) for i in ids)

    def words(self, ids: Sequence[int]) -> tuple[int, ...]:
        raw = b"".join(self._bytes[i] for i in ids).decode("utf-8", errors="replace")
        starts, position = set(), 0
        for _, (start, end) in self._bpe.pre_tokenizer.pre_tokenize_str(raw):
            starts.add(position)
            position += len(raw[start:end].encode())
        words, word, position = [], -1, 0
        for i in ids:
            word += i < len(SPECIAL_TOKENS) or position in starts or word < 0
            words.append(word)
            position += len(self._bytes[i])
        return tuple(words)

    def sampling(self, dropout: float) -> Self:
        """BPE-dropout (Provilkov et al. 2020): each merge is left out with this probability.

        The draws are the library's own and cannot be seeded.
        """
        copy = self.from_json(self.to_json())
        copy._bpe.model.dropout = dropout
        return copy

    def to_json(self) -> str:
        return str(self._bpe.to_str())

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            return cls(tokenizers.Tokenizer.from_str(text))
        except Exception as error:  # the library raises bare Exception
            raise ValueError(f"not a tokenizer: {error}") from error

    def _token_bytes(self, i: int) -> bytes:
        if i < len(SPECIAL_TOKENS):
            return b""
        return bytes(byte_of_character()[character] for character in self._bpe.id_to_token(i) or "")

    def _shown(self, i: int) -> str:
        if i < len(SPECIAL_TOKENS):
            return SPECIAL_TOKENS[i]
        try:
            text = self._bytes[i].decode("utf-8")
        except UnicodeDecodeError:
            return "⟨" + self._bytes[i].hex(" ").upper() + "⟩"
        if text.startswith(" "):
            return text[1:] or "␣"
        return CONTINUES + text if text[0].isalnum() and not is_han(text[0]) else text


class WordTokenizer:
    """Words by spaCy's rules for the language, numbered by a torchtext `Vocab`; rare words are `<unk>`.

    Detokenizing follows what was seen in training: a token that mostly stood without a space before it (or after it)
    is joined again, so `n't`, commas and the hyphen of `t-shirt` need no rules of their own.
    """

    def __init__(
        self, *, language: str, lowercase: bool, vocab: Vocab, joins_left: Iterable[str], joins_right: Iterable[str]
    ) -> None:
        self.language = language
        self.lowercase = lowercase
        self.vocab = vocab
        self.joins_left = frozenset(joins_left)
        self.joins_right = frozenset(joins_right)
        self._nlp = spacy.blank(language)

    @classmethod
    def train(cls, texts: Iterable[str], *, language: str, lowercase: bool, min_freq: int) -> Self:
        nlp = spacy.blank(language)
        seen: Counter[str] = Counter()
        inner: Counter[tuple[str, str]] = Counter()
        joined: Counter[tuple[str, str]] = Counter()
        for text in texts:
            doc = nlp(text.lower() if lowercase else text)
            words = [(token.text, bool(token.whitespace_)) for token in doc if not token.is_space]
            seen.update(word for word, _ in words)
            for (left, spaced), (right, _) in pairwise(words):
                for key in ((left, "right"), (right, "left")):
                    inner[key] += 1
                    joined[key] += not spaced
        vocab = Vocab(seen, min_freq=min_freq, specials=list(SPECIAL_TOKENS))

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
        spans = [(t.text, t.idx, t.idx + len(t.text)) for t in self._nlp(text) if not t.is_space]
        keys = [word.lower() if self.lowercase else word for word, _, _ in spans]
        return Encoding(
            ids=tuple(self._id(key) for key in keys),
            tokens=tuple(keys),
            offsets=tuple((start, end) for _, start, end in spans),
            words=tuple(range(len(spans))),
        )

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

    def sampling(self, dropout: float) -> Self:
        """Words have one way to be cut."""
        return self

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
        # Falling counts make torchtext keep the saved order.
        counts = Counter({word: len(words) - i for i, word in enumerate(words)})
        return cls(vocab=Vocab(counts, specials=list(SPECIAL_TOKENS)), **state)

    def _id(self, word: str) -> int:
        index: int = self.vocab.stoi.get(word, UNK_ID)
        return index if index >= len(SPECIAL_TOKENS) else UNK_ID


@dataclass(frozen=True, kw_only=True)
class TokenizerPair:
    """The tokenizers of a checkpoint; a joint vocabulary is the same object twice."""

    source: Tokenizer
    target: Tokenizer

    @property
    def joint(self) -> bool:
        return self.source is self.target

    def sampling(self, dropout: float) -> "TokenizerPair":
        """Both sides cut texts differently each time, see `BytePairTokenizer.sampling`."""
        source = self.source.sampling(dropout)
        return TokenizerPair(source=source, target=source if self.joint else self.target.sampling(dropout))

    def files(self) -> dict[str, str]:
        """Name → content of the files in a checkpoint's folder that `load_pair` reads."""
        if self.joint:
            return {"tokenizer.json": self.source.to_json()}
        return {"source_tokenizer.json": self.source.to_json(), "target_tokenizer.json": self.target.to_json()}


def shared(tokenizer: Tokenizer) -> TokenizerPair:
    return TokenizerPair(source=tokenizer, target=tokenizer)


def train_single(config: TokenizerConfig, texts: Sequence[str]) -> TokenizerPair:
    """Learn the vocabulary of texts that are not translated; both sides of the result are the same."""
    if config.kind == "bpe":
        return shared(BytePairTokenizer.train(texts, vocab_size=config.vocab_size))
    language, lowercase = config.source_language, config.lowercase
    return shared(WordTokenizer.train(texts, language=language, lowercase=lowercase, min_freq=config.min_freq))


def train_pair(config: TokenizerConfig, pairs: Sequence[tuple[str, str]]) -> TokenizerPair:
    """Learn the vocabularies from the training sentences."""
    if config.kind == "bpe":
        return shared(BytePairTokenizer.train((text for pair in pairs for text in pair), vocab_size=config.vocab_size))
    languages = (config.source_language, config.target_language)
    source, target = (
        WordTokenizer.train(
            (pair[side] for pair in pairs), language=language, lowercase=config.lowercase, min_freq=config.min_freq
        )
        for side, language in enumerate(languages)
    )
    return TokenizerPair(source=source, target=target)


def load_pair(config: TokenizerConfig, folder: Path) -> TokenizerPair:
    """Read the files of `TokenizerPair.files`.

    Raises:
        ConfigError: a file is missing or not a tokenizer of this kind.
    """

    def load(kind: type[BytePairTokenizer] | type[WordTokenizer], name: str) -> Tokenizer:
        try:
            return kind.from_json((folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ConfigError(f"{folder.name} has no {name}.") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{name} in {folder.name} is not a {config.kind} tokenizer: {error}") from error

    kind = BytePairTokenizer if config.kind == "bpe" else WordTokenizer
    if config.kind == "bpe" or not config.target_language:
        return shared(load(kind, "tokenizer.json"))
    return TokenizerPair(source=load(kind, "source_tokenizer.json"), target=load(kind, "target_tokenizer.json"))
