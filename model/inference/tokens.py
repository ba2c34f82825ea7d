"""The tokens of a text as a page shows them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from model.decoding.search import Hypothesis, Step
from model.inference.searching import written_ids
from model.text.encoding import Encoding, Tokenizer
from model.text.tokenizers import TokenizerPair

__all__ = [
    "Candidate",
    "Token",
    "labelled",
    "mark",
    "parts_of",
    "source_tokens",
    "with_candidates",
    "written_tokens",
]


@dataclass(frozen=True)
class Candidate:
    """A token that the model could have written, with its probability."""

    token: str
    probability: float
    id: int


@dataclass(frozen=True, kw_only=True)
class Token:
    """One token of a text."""

    text: str
    id: int
    word: int  # the index of its word in the text; −1 for a special token
    part: str = ""  # "A" in the first text of a pair, "B" in the second one; "" elsewhere
    unknown: bool = False  # it replaces a word that is not in the vocabulary
    probability: float = math.nan  # for written tokens only
    candidates: tuple[Candidate, ...] = ()  # the most probable tokens at its position, best first
    entropy: float = math.nan  # of the distribution at its position, in nats; for written tokens only

    @property
    def special(self) -> bool:
        """It belongs to no word, like `</s>`."""
        return self.word < 0

    @property
    def label(self) -> str:
        """The text, with the name of its part of a pair."""
        return labelled(self.text, self.part)


def source_tokens(tokenizers: TokenizerPair, encoding: Encoding, ids: Sequence[int]) -> tuple[Token, ...]:
    """The tokens of a source, from the ids of `source_ids`.

    Args:
        tokenizers: Of the model.
        encoding: Of the whole text.
        ids: With special tokens, cut to the positions of the model.
    """
    specials = tokenizers.specials
    filled = 0
    while specials.fill and ids[-1 - filled] == specials.fill[0]:
        filled += 1
    own = ids[len(specials.before) : len(ids) - len(specials.after) - filled]
    if not encoding.tokens:
        own = ()  # an empty text may have a start token among its ids, which is no token of the text
    tokens = (
        *(mark(tokenizers.source, i) for i in specials.before),
        *(
            Token(text=text, id=i, word=word, unknown=i == specials.unknown)
            for text, i, word in zip(encoding.tokens[: len(own)], own, encoding.words[: len(own)], strict=True)
        ),
        *(mark(tokenizers.source, i) for i in (*specials.after, *specials.fill[:filled])),
    )
    parts = parts_of(tokenizers, encoding, len(tokens))
    return tuple(replace(token, part=part) for token, part in zip(tokens, parts, strict=True))


def parts_of(tokenizers: TokenizerPair, encoding: Encoding, length: int) -> list[str]:
    """The part of a pair that each token of a source is in, "A" or "B"; "" around the texts and in a single text."""
    specials, start = tokenizers.specials, encoding.second_start
    if not start:
        return [""] * length
    between, second = len(specials.separator), len(encoding.ids) - start
    parts = [*[""] * len(specials.before), *["A"] * (start - between), *[""] * between, *["B"] * second]
    return [*parts, *[""] * (length - len(parts))]


def labelled(text: str, part: str) -> str:
    """A token of a pair as pictures name it."""
    return f"{part}: {text}" if part else text


def mark(tokenizer: Tokenizer, i: int) -> Token:
    """A special token, which belongs to no word."""
    return Token(text=tokenizer.tokens([i])[0], id=i, word=-1)


def written_tokens(tokenizers: TokenizerPair, hypothesis: Hypothesis, steps: Sequence[Step]) -> tuple[Token, ...]:
    """The tokens of a hypothesis, each with its probability, candidates and entropy.

    Args:
        tokenizers: Of the model.
        hypothesis: The result of a search.
        steps: The steps of the search, one for each written token.
    """
    ids, marks = hypothesis.ids, tokenizers.specials.target
    texts, words = tokenizers.target.tokens(ids), tokenizers.target.words(written_ids(hypothesis))
    tokens = []
    for t, (step, row) in enumerate(zip(steps[: len(ids)], hypothesis.rows, strict=True)):
        token = Token(
            text=texts[t],
            id=ids[t],
            word=words[t] if t < len(words) and ids[t] not in marks.special else -1,
            unknown=ids[t] == marks.unknown,
            probability=math.exp(hypothesis.log_probs[t]),
        )
        tokens.append(with_candidates(token, tokenizers.target, step, row))
    return tuple(tokens)


def with_candidates(token: Token, tokenizer: Tokenizer, step: Step, row: int) -> Token:
    """The token with the candidates at its position and the entropy of their distribution."""
    best = step.ids[row].tolist()
    candidates = zip(tokenizer.tokens(best), step.log_probs[row].double().exp().tolist(), best, strict=True)
    return replace(
        token,
        candidates=tuple(Candidate(*candidate) for candidate in candidates),
        entropy=float(step.entropy[row]),
    )
