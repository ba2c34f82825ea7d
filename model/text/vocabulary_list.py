"""A tokenizer for a given list of tokens: characters, or words between spaces."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from model.config.section import ConfigError
from model.safety.json_files import MAX_VOCABULARY_BYTES, read_json, read_text
from model.safety.plain_pickle import read_plain_pickle
from model.text.encoding import Encoding

__all__ = ["ListedTokenizer", "read_vocabulary"]

READERS = {".json": read_json, ".pkl": read_plain_pickle}  # of other files than plain text


class ListedTokenizer:
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
        self._ids = vocabulary
        self._tokens = {i: token for token, i in vocabulary.items()}
        self._pattern = re.compile("." if kind == "characters" else r"\S+", re.DOTALL)
        self._between = "" if kind == "characters" else " "
        self._unknown, self._marks = unknown, marks

    @property
    def size(self) -> int:
        return max(self._tokens) + 1

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

    def encode_batch(self, texts: Sequence[str]) -> list[Sequence[int]]:
        return [self.encode(text).ids for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return self._between.join(self._tokens.get(i, "") for i in ids if i not in self._marks)

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._tokens.get(i, f"⟨{i}⟩") for i in ids)

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
        i = self._ids.get(piece, self._unknown)
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
