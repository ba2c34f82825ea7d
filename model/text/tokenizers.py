"""The tokenizers of a checkpoint: learned from its training texts, saved in its folder and loaded again."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from model.config.section import ConfigError
from model.config.tokenizer import TokenizerConfig
from model.messages import N_
from model.safety.errors import first_line
from model.safety.json_files import MAX_VOCABULARY_BYTES, read_text
from model.text.byte_pair import BytePairTokenizer
from model.text.encoding import Encoding, LearnedTokenizer, Tokenizer
from model.text.pair import Text, TextPair, after, find_separator, joined, paired, split
from model.text.vocab import OURS, Specials
from model.text.words import WordTokenizer

__all__ = ["LearnedPair", "TokenizerPair", "load_pair", "train_pair"]

NO_PAIRS = N_("This model reads single texts: its tokenizer has no template for two. Leave the second text out.")
TWO_SEPARATORS = N_("The first text contains {separator}, which separates the two texts. Remove it.")


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
        encoding, specials = self.encode(text, max_length), self.specials
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
