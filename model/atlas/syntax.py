"""Parts of speech and dependencies of the words of a text, from pipelines of spaCy that are installed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from threading import Lock
from typing import TYPE_CHECKING

from model.atlas.texts import Side, TextTokens
from model.config.section import ConfigError
from model.text.shown_bytes import whole_characters
from model.text.tokenizers import CONTINUES

if TYPE_CHECKING:  # most atlases do not wait for spaCy
    from spacy.language import Language
    from spacy.tokens import Doc

__all__ = ["NO_SYNTAX", "Pipeline", "Syntax", "installed_pipelines", "open_syntax", "parsed"]

PARTS_OF_SPEECH = {  # universal parts of speech (de Marneffe et al. 2021, table 1) → the set that counts them
    **dict.fromkeys(("NOUN", "PROPN"), "nouns"),
    "VERB": "verbs",
    **dict.fromkeys(("ADJ", "ADV"), "modifiers"),
    **dict.fromkeys(("ADP", "AUX", "CCONJ", "DET", "PART", "PRON", "SCONJ"), "function_words"),
}
PARTS = tuple(dict.fromkeys(PARTS_OF_SPEECH.values()))
UNUSED = ("ner", "lemmatizer")  # of a pipeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Pipeline:
    """A pipeline of spaCy. Threads share it and take turns."""

    name: str  # with its version
    nlp: "Language"
    lock: Lock = field(default_factory=Lock)

    def parse(self, sides: Sequence[Side]) -> list[Side]:
        """The sides with the part of speech of each token, and with the word that governs its word."""
        from spacy.tokens import Doc

        words = [words_of(side) for side in sides]
        with self.lock, self.nlp.memory_zone():  # its table of strings would grow with the corpus
            docs = self.nlp.pipe(Doc(self.nlp.vocab, words=[*one.values()]) for one in words)
            return [with_syntax(side, [*one], doc) for side, one, doc in zip(sides, words, docs, strict=True)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Syntax:
    """The pipelines for the texts that a model reads, and for those that a translator writes."""

    reads: Pipeline | None = None
    writes: Pipeline | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of both pipelines, or none at all; "" for a text without one."""
        both = tuple(one.name if one else "" for one in (self.reads, self.writes))
        return both if any(both) else ()


NO_SYNTAX = Syntax()


def installed_pipelines() -> tuple[str, ...]:
    """The names of the pipelines that are installed as packages."""
    import spacy

    return tuple(sorted(spacy.util.get_installed_models()))


def open_syntax(reads: str, writes: str = "") -> Syntax:
    """Load pipelines by the names of their packages; "" is none.

    Raises:
        ConfigError: one is not installed, or has no tagger or no parser.
    """
    reader = open_pipeline(reads) if reads else None
    return Syntax(reads=reader, writes=reader if writes == reads else open_pipeline(writes) if writes else None)


def open_pipeline(name: str) -> Pipeline:
    import spacy

    installed = installed_pipelines()
    if name not in installed:
        raise ConfigError(
            "There is no pipeline {name} of spaCy. Install it, for example with python -m spacy download {name}. "
            "Installed: {installed}.",
            name=name,
            installed=", ".join(installed) or "-",
        )
    try:
        nlp = spacy.load(name, exclude=UNUSED)
    except (OSError, ValueError) as error:
        raise ConfigError(
            "The pipeline {name} does not fit this version of spaCy: {problem}", name=name, problem=str(error)[:200]
        ) from error
    if "parser" not in nlp.pipe_names or not {"tagger", "morphologizer"} & {*nlp.pipe_names}:
        raise ConfigError("The pipeline {name} has no tagger or no parser. Choose another one.", name=name)
    return Pipeline(name=f"{name} {nlp.meta['version']}", nlp=nlp)


def parsed(texts: Sequence[TextTokens], syntax: Syntax) -> list[TextTokens]:
    """The texts with their syntax, where there is a pipeline for it."""
    if syntax.reads:
        for side in ("source", "read"):
            if side == "source" or not any(text.written for text in texts):
                texts = with_sides(texts, side, syntax.reads.parse([getattr(text, side) for text in texts]))
    if syntax.writes and any(text.written for text in texts):
        written = syntax.writes.parse([text.written for text in texts])
        texts = with_sides(texts, "written", written)
        texts = with_sides(texts, "read", map(shifted, (text.read for text in texts), written))
    return list(texts)


def with_sides(texts: Sequence[TextTokens], name: str, sides: Iterable[Side]) -> list[TextTokens]:
    return [TextTokens(**{**vars(text), name: side}) for text, side in zip(texts, sides, strict=True)]


def shifted(read: Side, written: Side) -> Side:
    """What a decoder reads is what it has written, one place later."""
    return replace(read, parts=(-1, *written.parts[:-1]), governors=(-1, *written.governors[:-1]))


def with_syntax(side: Side, numbers: Sequence[int], doc: "Doc") -> Side:
    """A side with the syntax of its words; `numbers` are those of the words of a document."""
    parts, governors = dict[int, int](), dict[int, int]()
    for number, word in zip(numbers, doc, strict=True):
        name = PARTS_OF_SPEECH.get(word.pos_)
        parts[number] = -1 if name is None else PARTS.index(name)
        governors[number] = -1 if word.head.i == word.i else numbers[word.head.i]
    return replace(
        side,
        parts=tuple(parts.get(word, -1) for word in side.words),
        governors=tuple(governors.get(word, -1) for word in side.words),
    )


def words_of(side: Side) -> dict[int, str]:
    """The text of each word, by its number."""
    pairs = zip(side.words, side.tokens, strict=True)
    joined = {
        word: whole_characters("".join(token.removeprefix(CONTINUES) for _, token in run)).strip(" ␣")
        for word, run in groupby(pairs, key=lambda pair: pair[0])
        if word >= 0
    }
    return {word: text or " " for word, text in joined.items()}
