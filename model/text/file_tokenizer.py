"""The tokenizer in a `tokenizer.json` of Hugging Face's `tokenizers`, without the library `transformers`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from model.config.section import ConfigError
from model.safety.errors import first_line
from model.safety.json_files import MAX_VOCABULARY_BYTES, read_json
from model.text.bounded_tokenizer import require_bounded
from model.text.encoding import Encoding
from model.text.panic import panics_as_errors

__all__ = ["FileTokenizer", "read_file_tokenizer"]


class FileTokenizer:
    """Splits a text as the file says: its normalizer, its pre-tokenizer and its model."""

    def __init__(self, tokenizer: Any, marks: frozenset[int] = frozenset()) -> None:
        """Args:
        tokenizer: A `tokenizers.Tokenizer`.
        marks: Ids of special tokens, which have no text.
        """
        self._tokenizer, self._marks = tokenizer, marks
        self.vocabulary: Mapping[str, int] = tokenizer.get_vocab(with_added_tokens=True)
        self._tokens = {i: token for token, i in self.vocabulary.items()}

    def with_marks(self, marks: frozenset[int]) -> "FileTokenizer":
        return FileTokenizer(self._tokenizer, marks)

    @property
    def size(self) -> int:
        return max(self._tokens) + 1

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

    def encode_batch(self, texts: Sequence[str]) -> list[Sequence[int]]:
        return [self.encode(text).ids for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode([i for i in ids if i not in self._marks]))

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._tokens.get(i, f"⟨{i}⟩") for i in ids)

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
