"""The texts of a block as a model reads them: ids, and for each token its word and its class."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from model.atlas.corpus import Line
from model.atlas.token_classes import classes_of
from model.checkpoints.checkpoint import Loaded
from model.config.kinds import KINDS
from model.corpora.examples import shortened
from model.decoding.search import greedy_ids
from model.inference.run import Token, source_tokens
from model.network.protocols import Reads, Writes, classifies
from model.text.encoding import Encoding
from model.text.tokenizers import TokenizerPair

__all__ = ["LONGEST", "Side", "TextTokens", "longest_text", "read_texts", "sides_of"]

LONGEST = 1024  # tokens of a text that are measured, where a model has more positions


@dataclass(frozen=True, kw_only=True)
class Side:
    """The tokens that label the rows or the columns of the maps of one text; see `Result`."""

    ids: tuple[int, ...] = ()
    tokens: tuple[str, ...] = ()
    words: tuple[int, ...] = ()  # the word of each token; −1 for special tokens
    classes: tuple[int, ...] = ()  # see `CLASSES`
    # With a pipeline of spaCy, see `syntax.py`:
    parts: tuple[int, ...] = ()  # of speech; −1 for others
    governors: tuple[int, ...] = ()  # the word on which the word of each token depends; −1 without one

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, kw_only=True)
class TextTokens:
    """One text of a corpus as a model reads it."""

    line: int  # its number
    source: Side = Side()  # what the encoder reads
    read: Side = Side()  # what the decoder reads
    written: Side = Side()  # what a translator writes
    forced: int = 0  # how many of the first written tokens the model did not choose
    cut: int = 0  # tokens of the line that are left out

    @property
    def length(self) -> int:
        return max(len(self.source), len(self.read))


def sides_of(text: TextTokens, kind: str) -> tuple[Side, Side]:
    """The tokens of the rows and of the columns of a kind of attention; see "Rows and columns" of `Kind`."""
    sides = {"source": text.source, "read": text.read, "written": text.written}
    return sides[KINDS[kind].queries], sides[KINDS[kind].keys]


def longest_text(model: Reads) -> int:
    """The most tokens of a text that are measured."""
    return min(model.config.max_length, LONGEST)


def read_texts(checkpoint: Loaded, lines: Sequence[Line]) -> list[TextTokens]:
    """Encode the lines of a block; a translator without a reference translates them by greedy search.

    Args:
        checkpoint: Of any task; never changed.
        lines: With or without second texts. For a translator this is a reference, which it is forced to write; for a
            model that reads pairs, the second text; other models do not read it.
    """
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    limit = longest_text(model)
    texts = tokenizers.sources([(line.text, line.second) for line in lines])
    encodings = [tokenizers.encode(text, limit) for text in texts]
    if classifies(model):
        return [classified(tokenizers, line, encoding, limit) for line, encoding in zip(lines, encodings, strict=True)]
    framed = [tokenizers.framed(encoding, limit) for encoding in encodings]
    sources = [
        side_of(source_tokens(tokenizers, encoding, ids), tokenizers.specials.marks)
        for encoding, (ids, _) in zip(encodings, framed, strict=True)
    ]
    cuts = [cut for _, cut in framed]
    if not isinstance(model, Writes):
        return [TextTokens(line=o.number, source=s, cut=c) for o, s, c in zip(lines, sources, cuts, strict=True)]
    if model.task == "continuation":
        return [TextTokens(line=o.number, read=s, cut=c) for o, s, c in zip(lines, sources, cuts, strict=True)]
    return translated(checkpoint, model, lines, sources, cuts)


def classified(tokenizers: TokenizerPair, line: Line, encoding: Encoding, limit: int) -> TextTokens:
    """As `record_classification` reads a text."""
    ids, specials = shortened(encoding.ids, limit, tokenizers.specials), tokenizers.specials
    side = side_of_ids(tokenizers.source.tokens(ids), ids, tokenizers.source.words(ids), specials.marks)
    kept = len(ids) - len(specials.before) - len(specials.after)
    return TextTokens(line=line.number, source=side, cut=encoding.dropped + len(encoding.ids) - kept)


def translated(
    checkpoint: Loaded, model: Writes, lines: Sequence[Line], sources: Sequence[Side], cuts: Sequence[int]
) -> list[TextTokens]:
    """The texts of a translator, with their references or its own translations."""
    tokenizers, specials, limit = checkpoint.tokenizers, checkpoint.tokenizers.specials, longest_text(model)
    alone = [source.ids for line, source in zip(lines, sources, strict=True) if not line.second]
    own = iter(greedy_ids(model, alone, specials=specials))
    first = () if specials.first is None else (specials.first,)
    begin = side_of_ids(tokenizers.target.tokens([specials.bos]), [specials.bos], [-1], {specials.bos})
    found = []
    for line, source, cut in zip(lines, sources, cuts, strict=True):
        if line.second:
            reference = tokenizers.target.encode(line.second).ids
            room = limit - len(first) - 2
            ids, dropped = (*first, *reference[:room], specials.eos), max(len(reference) - room, 0)
        else:
            ids, dropped = next(own), 0
        written = side_of_ids(
            tokenizers.target.tokens(ids), ids, tokenizers.target.words(ids), {*specials.target.special, specials.eos}
        )
        found.append(
            TextTokens(
                line=line.number,
                source=source,
                read=Side(**{name: (*getattr(begin, name), *getattr(written, name)[:-1]) for name in PARTS}),
                written=written,
                forced=len(ids) if line.second else len(first),
                cut=cut + dropped,
            )
        )
    return found


PARTS = tuple(Side.__dataclass_fields__)


def side_of(tokens: Sequence[Token], marks: Collection[int]) -> Side:
    texts, ids, words = ([getattr(token, name) for token in tokens] for name in ("text", "id", "word"))
    return side_of_ids(texts, ids, words, marks)


def side_of_ids(tokens: Sequence[str], ids: Sequence[int], words: Sequence[int], marks: Collection[int]) -> Side:
    """Tokens with the words of their tokenizer; `marks` are the ids of special tokens."""
    own = tuple(-1 if i in marks else word for i, word in zip(ids, words, strict=True))
    return Side(ids=tuple(ids), tokens=tuple(tokens), words=own, classes=classes_of(tokens, own))
