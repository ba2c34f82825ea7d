"""The tokenizers of a checkpoint: learned from its training texts, saved in its folder and loaded again.

Most of them are byte-level byte pairs: words are split into frequent subwords, so every text has ids. `words.py` has
the others, which keep words whole.
"""

import json
import random
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Self

import tokenizers

from model.config.section import ConfigError
from model.config.tokenizer import TokenizerConfig
from model.messages import N_, Message, first_line
from model.safety.json_files import MAX_VOCABULARY_BYTES, read_text
from model.text.cleaning import clean
from model.text.encoding import Encoding, LearnedTokenizer, Tokenizer, panics_as_errors
from model.text.pair import Text, TextPair, after, find_separator, joined, paired, split
from model.text.vocab import OURS, SPECIAL_TOKENS, Specials
from model.text.words import WordTokenizer

__all__ = ["CONTINUES", "BytePairTokenizer", "LearnedPair", "TokenizerPair", "load_pair", "train_pair"]

NO_PAIRS = N_("This model reads single texts: its tokenizer has no template for two. Leave the second text out.")
TWO_SEPARATORS = N_("The first text contains {separator}, which separates the two texts. Remove it.")
HAN = r"\p{Han}"
CONTINUES = "·"  # shown before a subword that continues a word


@dataclass(frozen=True, kw_only=True)
class TokenizerPair:
    """The tokenizers of a checkpoint. With a joint vocabulary, both are the same object."""

    source: Tokenizer
    target: Tokenizer
    specials: Specials = OURS

    def encode(self, text: Text, max_length: int) -> Encoding:
        """Encode a source, without the special tokens around it. Only a pair of texts is cut to `max_length` tokens.

        Where a text contains the separator of this tokenizer, what follows is the second text.

        Raises:
            ConfigError: the model reads no pairs, or the first text of a pair contains the separator.
        """
        ids, specials = self.specials.separator, self.specials
        first, second = self.parts(text, ids) if isinstance(text, TextPair) else split(self.source.encode(text), ids)
        if not second.ids:
            return first
        nowhere = ((0, 0),) * len(ids)
        separator = Encoding(ids=ids, tokens=self.source.tokens(ids), offsets=nowhere, words=(-1,) * len(ids))
        return joined(first, separator, second, most=max_length - len(specials.before) - len(specials.after))

    def source_ids(self, text: Text, max_length: int) -> tuple[list[int], int]:
        """Encode a source with its special tokens, cut to the positions of the model.

        Returns:
            The ids, and how many tokens of the text were cut off.
        """
        return self.framed(self.encode(text, max_length), max_length)

    def framed(self, encoding: Encoding, max_length: int) -> tuple[list[int], int]:
        """`source_ids` of a text that is already encoded."""
        specials = self.specials
        kept = encoding.ids[: max_length - len(specials.before) - len(specials.after)]
        whole = [*specials.before, *kept, *specials.after]
        # Without special tokens, an empty text would have no ids.
        ids = [*whole, *specials.fill[len(whole) :]] or [specials.bos]
        return ids, encoding.dropped + len(encoding.ids) - len(kept)

    def parts(self, pair: TextPair, separator: tuple[int, ...]) -> tuple[Encoding, Encoding]:
        """The two texts of a pair. The second one continues to count the characters and words of the first one."""
        if not separator:
            raise ConfigError(NO_PAIRS)
        first, second = map(self.source.encode, pair)
        if find_separator((*first.ids, *separator, *second.ids), separator) not in (-1, len(first.ids)):
            raise ConfigError(TWO_SEPARATORS, separator="".join(self.source.tokens(separator)))
        return first, after(first, second, len(pair.text))

    def sources(self, lines: Iterable[tuple[str, str]]) -> list[Text]:
        """What the model reads of lines with two texts: both if it reads pairs; else the second is a translation."""
        return [paired(*line) if self.specials.separator else line[0] for line in lines]


@dataclass(frozen=True, kw_only=True)
class LearnedPair(TokenizerPair):
    """The tokenizers of a checkpoint that Headlight trained."""

    source: LearnedTokenizer
    target: LearnedTokenizer

    @property
    def joint(self) -> bool:
        return self.source is self.target

    def files(self) -> dict[str, str]:
        """Name → content of the files that `load_pair` reads."""
        if self.joint:
            return {"tokenizer.json": self.source.to_json()}
        return {"source_tokenizer.json": self.source.to_json(), "target_tokenizer.json": self.target.to_json()}


def spaced(text: str) -> str:
    """Add a leading space, so that a word is the same token at the start of a text and inside it; not for Chinese."""
    return text if not text or is_han(text[0]) else " " + text


def is_han(character: str) -> bool:
    return unicodedata.name(character, "").startswith("CJK UNIFIED")


@cache
def byte_of_character() -> dict[str, int]:
    """The printable character that byte-level BPE writes for each byte (Radford et al. 2019, released encoder)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}


def with_pipeline(bpe: tokenizers.models.BPE) -> tokenizers.Tokenizer:
    """A tokenizer with our steps before and after the merges."""
    tokenizer = tokenizers.Tokenizer(bpe)
    # Chinese has no spaces. Without this split, whole clauses would become tokens.
    one_character = tokenizers.pre_tokenizers.Split(tokenizers.Regex(HAN), behavior="isolated")
    byte_level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([one_character, byte_level])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


class BytePairTokenizer:
    """Byte-level BPE (Sennrich et al. 2016): every text has ids, and `decode(encode(text).ids)` is `clean(text)`."""

    def __init__(self, bpe: tokenizers.Tokenizer) -> None:
        self._bpe = bpe
        # Only the model writes special tokens. A person who types `</s>` types four ordinary characters.
        bpe.encode_special_tokens = True
        self._bytes = [self._token_bytes(i) for i in range(bpe.get_vocab_size())]

    @classmethod
    def train(cls, texts: Iterable[str], *, vocab_size: int) -> Self:
        bpe = with_pipeline(tokenizers.models.BPE())
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=list(SPECIAL_TOKENS),
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        bpe.train_from_iterator((spaced(clean(text)) for text in texts), trainer)
        return cls(bpe)

    @property
    def size(self) -> int:
        return len(self._bytes)

    def encode(self, text: str) -> Encoding:
        text = clean(text)
        encoded = self._bpe.encode(spaced(text), add_special_tokens=False)
        added = len(spaced(text)) - len(text)
        offsets = tuple((max(start - added, 0), max(end - added, 0)) for start, end in encoded.offsets)
        ids = tuple(encoded.ids)
        return Encoding(ids=ids, tokens=self.tokens(ids), offsets=offsets, words=self.words(ids))

    def encode_batch(self, texts: Sequence[str]) -> list[Sequence[int]]:
        encoded = self._bpe.encode_batch_fast([spaced(clean(text)) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

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

    def resegment(self, ids: Sequence[int], *, dropout: float, draws: random.Random) -> list[int]:
        """BPE-dropout (Provilkov et al. 2020, algorithm 1): at each step, each possible merge is left out at random.

        The library can do this too, but its random numbers cannot be seeded: a resumed run would see other subwords.
        """
        subwords: list[int] = []
        for _, word in groupby(zip(self.words(ids), ids, strict=True), key=lambda pair: pair[0]):
            symbols = [self._id_of_byte[byte] for _, i in word for byte in self._bytes[i]]
            while merges := [
                (rank, at, merged)
                for at, pair in enumerate(pairwise(symbols))
                for rank, merged in self._merges.get(pair, ())
                if draws.random() >= dropout
            ]:
                _, at, merged = min(merges)
                symbols[at : at + 2] = [merged]
            subwords += symbols
        return subwords

    @cached_property
    def _merges(self) -> dict[tuple[int, int], tuple[tuple[int, int]]]:
        """Two neighbours → the rank of their merge and the new id. Low ranks are merged first."""
        model = json.loads(self.to_json())["model"]
        vocab = model["vocab"]
        return {(vocab[a], vocab[b]): ((rank, vocab[a + b]),) for rank, (a, b) in enumerate(model["merges"])}

    @cached_property
    def _id_of_byte(self) -> dict[int, int]:
        vocab = self._bpe.get_vocab()
        return {byte: vocab[character] for character, byte in byte_of_character().items()}

    def to_json(self) -> str:
        return str(self._bpe.to_str())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Take the vocabulary and the merges. Every other part must be ours, so that its cost is known.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: the text is not a tokenizer of Headlight.
        """
        values = json.loads(text)
        bpe = values["model"]
        vocabulary, merges = bpe["vocab"], [tuple(pair) for pair in bpe["merges"]]
        if sorted(vocabulary.values()) != list(range(len(vocabulary))):
            raise ValueError(Message("the ids of its tokens are not 0, 1, 2 and so on"))
        try:
            with panics_as_errors():
                tokenizer = with_pipeline(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
                tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
        except Exception as error:  # the library raises bare Exception
            raise ValueError(Message("the library reports: {error}", error=error)) from None
        ours = json.loads(tokenizer.to_str())
        if different := [name for name in ours if name != "model" and values.get(name) != ours[name]]:
            raise ValueError(Message("these parts differ from those of Headlight: {parts}", parts=", ".join(different)))
        if different := [name for name, value in ours["model"].items() if bpe.get(name) != value]:
            raise ValueError(
                Message(
                    "these settings of its model differ from those of Headlight: {names}", names=", ".join(different)
                )
            )
        return cls(tokenizer)

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


def shared(tokenizer: LearnedTokenizer) -> LearnedPair:
    return LearnedPair(source=tokenizer, target=tokenizer)


def train_pair(config: TokenizerConfig, texts: Iterable[tuple[str, ...]]) -> LearnedPair:
    """Learn the vocabularies from the training sentences, which are read more than once.

    Args:
        config: How text becomes tokens.
        texts: Sentences with their translations, or alone if there is no target language. Then both sides of the result
            are the same object, as with byte pairs.

    Raises:
        ConfigError: spaCy does not know a language.
    """
    if config.kind == "bpe":
        return shared(BytePairTokenizer.train((text for one in texts for text in one), vocab_size=config.vocab_size))
    languages = filter(None, (config.source_language, config.target_language))
    learned = [
        WordTokenizer.train(
            (one[side] for one in texts), language=language, lowercase=config.lowercase, min_freq=config.min_freq
        )
        for side, language in enumerate(languages)
    ]
    return LearnedPair(source=learned[0], target=learned[-1])


def load_pair(config: TokenizerConfig, folder: Path) -> LearnedPair:
    """Read the files of `LearnedPair.files`.

    Raises:
        ConfigError: a file is missing, or is not a tokenizer of this kind.
    """

    def load(kind: type[BytePairTokenizer] | type[WordTokenizer], name: str) -> LearnedTokenizer:
        try:
            return kind.from_json(read_text(folder / name, max_bytes=MAX_VOCABULARY_BYTES))
        except FileNotFoundError as error:
            raise ConfigError("{folder} has no file {name}.", folder=folder.name, name=name) from error
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(
                "{name} in {folder} is not a {kind} tokenizer: {error}",
                name=name,
                folder=folder.name,
                kind=config.kind,
                error=first_line(error),
            ) from error

    kind = BytePairTokenizer if config.kind == "bpe" else WordTokenizer
    if config.kind == "bpe" or not config.target_language:
        return shared(load(kind, "tokenizer.json"))
    return LearnedPair(source=load(kind, "source_tokenizer.json"), target=load(kind, "target_tokenizer.json"))
