"""Tokenizers in files: a list of tokens, or a `tokenizer.json` of the library `tokenizers`, without `transformers`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from model.config.section import ConfigError
from model.messages import first_line
from model.safety.json_files import MAX_VOCABULARY_BYTES, read_json, read_text
from model.safety.pickles import read_plain_pickle
from model.text.bounded_tokenizer import require_bounded
from model.text.encoding import Encoding, TokenTable, panics_as_errors

__all__ = ["FileTokenizer", "ListedTokenizer", "read_file_tokenizer", "read_vocabulary"]

READERS = {".json": read_json, ".pkl": read_plain_pickle}  # of other files than plain text


class ListedTokenizer(TokenTable):
    """Each character or word of a text is a token of the list, or the unknown token."""

    def __init__(
        self,
        vocabulary: Mapping[str, int],
        *,
        kind: Literal["characters", "words"],
        unknown: int | None,
        marks: frozenset[int],
    ) -> None:
        """
        Args:
            vocabulary: Token → id.
            kind: What a token is. Words are separated by spaces.
            unknown: The id of text that is not in the list. Without it such text is left out.
            marks: Ids of special tokens, which have no text.
        """
        super().__init__(vocabulary, marks)
        self._pattern = re.compile("." if kind == "characters" else r"\S+", re.DOTALL)
        self._between = "" if kind == "characters" else " "
        self._unknown = unknown

    def encode(self, text: str) -> Encoding:
        found = [(self._id(match[0]), match) for match in self._pattern.finditer(text)]
        known = [(i, match) for i, match in found if i is not None]
        ids = tuple(i for i, _ in known)
        # The typed text is shown, also where its id is that of the unknown token.
        tokens = tuple(match[0] for _, match in known)
        return Encoding(
            ids=ids,
            tokens=tokens,
            offsets=tuple(match.span() for _, match in known),
            words=self.words(ids),
            left_out=tuple(dict.fromkeys(match[0] for i, match in found if i is None)),
        )

    def decode(self, ids: Sequence[int]) -> str:
        return self._between.join(self._tokens.get(i, "") for i in ids if i not in self._marks)

    def words(self, ids: Sequence[int]) -> tuple[int, ...]:
        if self._between:
            return tuple(range(len(ids)))
        words, word, inside = [], -1, False
        for i in ids:
            letter = self._tokens.get(i, "").isalnum()
            word += not (letter and inside)
            inside = letter
            words.append(word)
        return tuple(words)

    def _id(self, piece: str) -> int | None:
        i = self.vocabulary.get(piece, self._unknown)
        return self._unknown if i in self._marks else i  # `</s>` that a person types is text


def read_vocabulary(path: Path) -> dict[str, int]:
    """Read token → id from a JSON object or list, a text file with one token per line, or `meta.pkl`.

    Raises:
        ConfigError: the file is missing, or has another form.
    """
    try:
        read = READERS.get(path.suffix, read_text)
        values = read(path, max_bytes=MAX_VOCABULARY_BYTES)
    except (OSError, ValueError) as error:
        raise ConfigError("{path} cannot be read as a vocabulary: {error}", path=path.name, error=error) from error
    found = values.split("\n") if isinstance(values, str) else values
    if isinstance(found, dict) and isinstance(found.get("stoi"), dict):  # nanoGPT's meta.pkl
        found = found["stoi"]
    if isinstance(found, list) and all(isinstance(token, str) for token in found):
        found = {token: i for i, token in enumerate(found) if token != ""}
    if not found or not isinstance(found, dict) or not all(type(i) is int and i >= 0 for i in found.values()):
        raise ConfigError(
            "{path} is not a vocabulary. It must be a JSON object from tokens to ids, or a list of tokens.",
            path=path.name,
        )
    return found


class FileTokenizer(TokenTable):
    """Splits a text as the file says: its normalizer, its pre-tokenizer and its model."""

    def __init__(self, tokenizer: Any, marks: frozenset[int] = frozenset()) -> None:
        """
        Args:
            tokenizer: A `tokenizers.Tokenizer`.
            marks: Ids of special tokens, which have no text.
        """
        super().__init__(tokenizer.get_vocab(with_added_tokens=True), marks)
        self._tokenizer = tokenizer

    def with_marks(self, marks: frozenset[int]) -> "FileTokenizer":
        return FileTokenizer(self._tokenizer, marks)

    def encode(self, text: str) -> Encoding:
        """Raises ConfigError if the tokenizer fails on the text."""
        try:
            with panics_as_errors():
                found = self._tokenizer.encode(text, add_special_tokens=False)
        except Exception as error:
            raise ConfigError("The tokenizer failed on this text: {error}", error=first_line(error)) from None
        # `[EOS]` that a person types is no mark: it would end the text. So it is left out.
        kept = [index for index, i in enumerate(found.ids) if i not in self._marks]
        ids, offsets = (tuple(values[index] for index in kept) for values in (found.ids, found.offsets))
        tokens = tuple(text[start:end] or self._tokens[i] for i, (start, end) in zip(ids, offsets, strict=True))
        return Encoding(ids=ids, tokens=tokens, offsets=offsets, words=words_at(text, offsets))

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode([i for i in ids if i not in self._marks]))

    def words(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Each token is a word, unless it continues one as in WordPiece."""
        words, word = [], -1
        for token in self.tokens(ids):
            word += not token.startswith("##")
            words.append(max(word, 0))
        return tuple(words)


def words_at(text: str, offsets: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The word of each token: a token begins a word where a space stands before it."""
    words, word, end = [], -1, -1
    for start, stop in offsets:
        word += start != end or text[start : start + 1].isspace()
        words.append(word)
        end = stop
    return tuple(words)


def read_file_tokenizer(path: Path) -> FileTokenizer | None:
    """The tokenizer in a file, or None if the file is only a vocabulary.

    Raises:
        ConfigError: the file is damaged, or a part of the tokenizer has no known limit on time and length.
    """
    if path.suffix != ".json":
        return None
    try:
        values = read_json(path, max_bytes=MAX_VOCABULARY_BYTES)
        if not isinstance(values, dict) or not isinstance(values.get("model"), dict):
            return None
        require_bounded(values)
        from tokenizers import Tokenizer

        with panics_as_errors():
            return FileTokenizer(Tokenizer.from_file(str(path)))
    except Exception as error:  # the library raises many kinds
        raise ConfigError(
            "{path} cannot be read as a tokenizer: {error}", path=path.name, error=first_line(error)
        ) from error
