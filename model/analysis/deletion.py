"""Which words decide the class of a text: how its probability changes when one word is deleted (leave-one-out)."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch

from model.checkpoints.checkpoint import ClassifierCheckpoint
from model.corpora.examples import shortened
from model.inference.classify import classify, probabilities_of
from model.inference.passes import padded_for
from model.inference.run import labelled
from model.text.pair import Text, paired, texts_of

__all__ = ["Deletion", "count_words", "delete_each_word", "word_spans"]

MAX_TOKENS = 8_192  # in one batch
MAX_DELETED, MOST_WORK = 200, 1e11  # words; words × tokens × parameters: two seconds on one core
# The first words of the Unicode names of letters that are written without spaces between words.
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A text without one of its words."""

    word: str
    part: str  # see `Token.part`
    change: float  # of the probability of the whole text's class; below 0, it falls
    label: str  # the class without the word

    @property
    def name(self) -> str:
        """The word, with the name of its part of a pair."""
        return labelled(self.word, self.part)


def count_words(text: Text) -> int:
    """How many words `delete_each_word` can delete."""
    return sum(len(word_spans(one)) for one in texts_of(text))


def word_spans(text: str) -> list[tuple[int, int]]:
    """The start and end of each word; of each character where no spaces separate words, as in Chinese."""
    whole = len(text.split()) == 1 and any(unicodedata.name(character, "").startswith(UNSPACED) for character in text)
    return [match.span() for match in re.finditer(r"\S" if whole else r"\S+", text)]


def without_each_word(text: Text) -> Iterator[tuple[str, str, Text]]:
    """Each word, its part, and the text or the pair without it. All of them together are large for a long text."""
    first, second = texts_of(text)
    parts = ("A", "B") if second else ("", "")
    yield from ((word, parts[0], paired(rest, second)) for word, rest in shortened_texts(first))
    yield from ((word, parts[1], paired(first, rest)) for word, rest in shortened_texts(second))


def shortened_texts(text: str) -> Iterator[tuple[str, str]]:
    return ((text[start:end], text[:start] + text[end:].lstrip()) for start, end in word_spans(text))


@torch.inference_mode()
def delete_each_word(checkpoint: ClassifierCheckpoint, text: Text) -> tuple[Deletion, ...]:
    """Classify a text without its first word, without its second word and so on, for about two seconds.

    Args:
        checkpoint: A classifier; never changed.
        text: Any text, or a pair of texts.

    Returns:
        One deletion per word, from the start of the text; none where the text has a single word.
    """
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    whole = classify(checkpoint, text)
    labels = list(whole.probabilities)
    if count_words(text) < 2:  # nothing would be left
        return ()
    limit = model.config.max_length
    deletions = list(islice(without_each_word(text), words_in_time(checkpoint, text)))
    ids = [shortened(tokenizers.encode(rest, limit).ids, limit, tokenizers.specials) for *_, rest in deletions]
    size = max(1, MAX_TOKENS // max(map(len, ids), default=1))
    rows: list[Sequence[float]] = []
    for start in range(0, len(ids), size):
        logits = model(padded_for(model, ids[start : start + size]))
        rows += probabilities_of(model, logits).tolist()
    own = labels.index(whole.label)
    return tuple(
        Deletion(
            word=word,
            part=part,
            change=row[own] - whole.probabilities[whole.label],
            label=labels[max(range(len(labels)), key=row.__getitem__)],
        )
        for (word, part, _), row in zip(deletions, rows, strict=True)
    )


def words_in_time(checkpoint: ClassifierCheckpoint, text: Text) -> int:
    """How many words can be deleted in about two seconds."""
    # The embeddings are looked up, so they cost no time.
    used = sum(weight.numel() for name, weight in checkpoint.model.named_parameters() if "embedding" not in name)
    tokens = len(checkpoint.tokenizers.encode(text, checkpoint.model.config.max_length).ids)
    return int(min(MAX_DELETED, MOST_WORK / (used * max(tokens, 1))))
