"""Tokenizers of Hugging Face's `transformers` with the methods of our own: ids, readable tokens, and pairs of texts."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.tokenization_utils_sentencepiece import SentencePieceBackend

from model.config.section import ConfigError
from model.text.encoding import Encoding, TokenizerPanicError, panics_as_errors
from model.text.pair import find_separator
from model.text.shown_bytes import is_bytes, shown_bytes, whole_characters
from model.text.tokenizers import CONTINUES, byte_of_character, is_han
from model.text.words import short_parts

__all__ = ["ForeignTokenizer", "Pieces", "Segments", "frame", "segments_of", "separator_of"]

MAX_GROWTH = 20  # Unicode's compatibility forms write one character as up to 18
MAX_WORD = 500  # characters; the time of tokenizers in Python (CTRL) grows with the square of the word
END_OF_WORD = "</w>"  # in older byte-pair encodings
Reading = Callable[[str], tuple[str, bool]]  # token → its text, and whether it begins a word
PROBE = "a"  # a text whose tokens show where a template puts texts


class ForeignTokenizer:
    """The tokenizer of one side of a model of the library.

    Many of these tokenizers do not number the words, so the tokens themselves show where a word begins: at the mark of
    a space, at a character that is not a letter, or at a Chinese character.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, *, target: bool = False) -> None:
        """Wrap a tokenizer.

        Args:
            tokenizer: A tokenizer of the library. If the two sides differ, each needs its own.
            target: Use the target side of a tokenizer with two sides (Marian).
        """
        self._tokenizer: Any = tokenizer  # its types do not say when a method returns a list
        if target and hasattr(tokenizer, "_switch_to_target_mode"):
            tokenizer._switch_to_target_mode()
        self._special = {i: str(tokenizer.convert_ids_to_tokens(i)) for i in tokenizer.all_special_ids}
        self._read = reading(tokenizer.get_vocab())

    @property
    def size(self) -> int:
        return len(self._tokenizer)

    def encode(self, text: str) -> Encoding:
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        if backend is not None:  # the library's own method changes settings that all visitors share
            encoded = encoded_by(backend, text)
            ids, offsets = tuple(encoded.ids), tuple(encoded.offsets)
        else:
            pieces = [
                piece for _, part in short_parts(text, longest=MAX_WORD) for piece in self._tokenizer.tokenize(part)
            ]
            ids = tuple(self._tokenizer.convert_tokens_to_ids(pieces))
            offsets = find_offsets(text, [self._read(piece)[0] for piece in pieces])
        tokens = self.tokens(ids)
        # Some tokenizers have no space before the first word of a text.
        tokens = (*(token.removeprefix(CONTINUES) for token in tokens[:1]), *tokens[1:])
        return Encoding(ids=ids, tokens=tokens, offsets=offsets, words=self.words(ids))

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True)).strip()

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._shown(i) for i in ids)

    def words(self, ids: Sequence[int]) -> tuple[int, ...]:
        words, word, apart = [], -1, True
        for i in ids:
            text, begins = self._text(i)
            sign = not (text[:1].isalnum() or text.startswith("⟨")) or is_han(text[0])
            word += apart or begins or sign
            apart = i in self._special or (sign and bool(text)) or self._ends_word(i)
            words.append(word)
        return tuple(words)

    def _ends_word(self, i: int) -> bool:
        return (self._tokenizer.convert_ids_to_tokens(i) or "").endswith(END_OF_WORD)

    def _text(self, i: int) -> tuple[str, bool]:
        if i in self._special:
            return self._special[i], True
        # Models often have more embeddings than the tokenizer has tokens, to reach a round number.
        return self._read(self._tokenizer.convert_ids_to_tokens(i) or f"⟨{i}⟩")

    def _shown(self, i: int) -> str:
        text, begins = self._text(i)
        if begins or i in self._special:
            return text or "␣"
        return CONTINUES + text if text[:1].isalnum() and not is_han(text[0]) else text


class Pieces(SentencePieceBackend):
    """SentencePiece itself."""

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """As SentencePiece, which joins bytes to characters."""
        return str(self.sp_model.decode(list(tokens)))


def reading(vocabulary: Collection[str]) -> Reading:
    """How to read the tokens of a vocabulary: the most frequent mark decides."""
    if {piece for piece in vocabulary if len(piece) == 1} == {chr(byte) for byte in range(256)}:
        return single_byte
    marks = {"▁": marked_space, "Ġ": byte_level, "##": word_piece}
    counts = {mark: sum(piece.startswith(mark) and piece != mark for piece in vocabulary) for mark in marks}
    most = max(counts, key=lambda mark: counts[mark])
    return marks[most] if counts[most] else plain


def single_byte(piece: str) -> tuple[str, bool]:
    """ByT5 (Xue et al. 2022): the character with the number of a byte stands for this byte."""
    if len(piece) > 1:
        return piece, False
    return shown_bytes(piece.encode("latin-1")).removeprefix(" "), piece == " "


def plain(piece: str) -> tuple[str, bool]:
    """Other vocabularies. Some of them mark the end of a word."""
    return piece.removesuffix(END_OF_WORD), False


def marked_space(piece: str) -> tuple[str, bool]:
    """SentencePiece (Kudo and Richardson 2018): ▁ stands for a space, <0x..> for a byte."""
    if byte := re.fullmatch("<0x([0-9A-F]{2})>", piece):
        return shown_bytes(bytes.fromhex(byte[1])), False
    return piece.lstrip("▁").replace("▁", " "), piece.startswith("▁")


def byte_level(piece: str) -> tuple[str, bool]:
    """GPT-2: each byte is written as a printable character."""
    values = byte_of_character()
    if any(character not in values for character in piece):
        return piece, False
    text = shown_bytes(bytes(values[character] for character in piece))
    return text.removeprefix(" "), text.startswith(" ")


def word_piece(piece: str) -> tuple[str, bool]:
    """BERT: ## continues a word."""
    return piece.removeprefix("##"), not piece.startswith("##")


def encoded_by(backend: Any, text: str) -> Any:
    """Raises ConfigError if a tokenizer fails on a text, or makes it many times as long."""
    try:
        with panics_as_errors():
            if backend.normalizer is not None:
                length = len(backend.normalizer.normalize_str(text))
                if length > MAX_GROWTH * (len(text) + 100):
                    raise ConfigError(
                        "The tokenizer turns the text of {text} characters into {length}. Change the text.",
                        text=f"{len(text):,}",
                        length=f"{length:,}",
                    )
            return backend.encode(text, add_special_tokens=False)
    except TokenizerPanicError as error:
        raise ConfigError("The tokenizer failed on this text: {error}", error=str(error)[:200]) from None


def find_offsets(text: str, pieces: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Start and end of each piece in a text. A piece that the tokenizer has changed gets no width."""
    found: list[tuple[int, int]] = []
    position, part = 0, ""
    for number, piece in enumerate(pieces, start=1):
        part = whole_characters(part + piece)
        if is_bytes(part) and number < len(pieces):
            continue  # the bytes of one character have one place
        start = text.find(part, position) if part else -1
        if start >= 0:
            position = start + len(part)
        found += [(start, position) if start >= 0 else (position, position)] * (number - len(found))
        part = ""
    return tuple(found)


def frame(tokenizer: PreTrainedTokenizerBase) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special tokens that the library adds before a text and after it."""
    text = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = next((i for i in range(len(whole)) if whole[i : i + len(text)] == text), 0)
    return tuple(whole[:start]), tuple(whole[start + len(text) :])


@dataclass(frozen=True, kw_only=True)
class Segments:
    """The segments of a template's parts: tuples for special tokens, and a number for all tokens of a text."""

    before: tuple[int, ...]
    first: int
    between: tuple[int, ...]
    second: int
    after: tuple[int, ...]  # of two texts
    after_one: tuple[int, ...]
    separator: tuple[int, ...]  # the token ids between two texts

    def of(self, ids: Sequence[int]) -> list[int]:
        """The segments of token ids without padding. What follows the first separator is the second text."""
        texts = ids[len(self.before) : len(ids) - len(self.after)]
        first = find_separator(texts, self.separator)
        if first < 0:
            return [*self.before, *[self.first] * len(texts), *self.after_one]
        second = len(texts) - first - len(self.separator)
        return [*self.before, *[self.first] * first, *self.between, *[self.second] * second, *self.after]


def separator_of(tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """The tokens between two texts; none where the tokenizer has no template that separates two."""
    (before, after), text = frame(tokenizer), tokenizer(PROBE, add_special_tokens=False)["input_ids"]
    ids = pair_of_probes(tokenizer).get("input_ids", [])
    between = ids[len(before) + len(text) : len(ids) - len(text) - len(after)]
    return tuple(between) if ids == [*before, *text, *between, *text, *after] else ()


def pair_of_probes(tokenizer: PreTrainedTokenizerBase) -> Mapping[str, list[int]]:
    """What the tokenizer makes of two texts; nothing where it refuses them."""
    try:
        return tokenizer(PROBE, PROBE)
    except Exception:  # the library's tokenizers raise many kinds
        return {}


def segments_of(tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel) -> Segments | None:
    """The segments that a model gets of its tokenizer; None where the tokenizer makes none or the model has none."""
    before, after = map(len, frame(tokenizer))
    one, two = (found.get("token_type_ids", []) for found in (tokenizer(PROBE), pair_of_probes(tokenizer)))
    text = len(one) - before - after  # tokens of a probe
    takes = "token_type_ids" in inspect.signature(model.forward).parameters
    if not takes or not two or text < 1:
        return None
    rows = getattr(model.config, "type_vocab_size", None)  # XLNet has no table: it compares segments
    if rows is not None and max(*one, *two) >= rows:
        return None
    return Segments(
        before=tuple(one[:before]),
        first=one[before],
        between=tuple(two[before + text : len(two) - after - text]),
        second=two[len(two) - after - text],
        after=tuple(two[len(two) - after :]),
        after_one=tuple(one[before + text :]),
        separator=separator_of(tokenizer),
    )
