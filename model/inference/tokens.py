"""The tokens of a text as a person is shown them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from model.decoding.search import Hypothesis, Step
from model.inference.searching import written_ids
from model.text.encoding import Encoding, Tokenizer
from model.text.tokenizers import TokenizerPair

__all__ = ["Candidate", "Token", "mark", "source_tokens", "with_candidates", "written_tokens"]


@dataclass(frozen=True)
class Candidate:
    """A token that the decoder considered, with the model's own probability of it."""

    token: str
    probability: float
    id: int


@dataclass(frozen=True, kw_only=True)
class Token:
    """A token as shown to a person. `word` numbers the words of the text, −1 for special tokens."""

    text: str
    id: int
    word: int
    unknown: bool = False  # stands for what is not in the vocabulary
    probability: float = math.nan  # of written tokens only
    candidates: tuple[Candidate, ...] = ()  # the best that could have been written instead, best first
    entropy: float = math.nan  # of the distribution it was chosen from, in nats; of written tokens only

    @property
    def special(self) -> bool:
        return self.word < 0


def source_tokens(tokenizers: TokenizerPair, encoding: Encoding, ids: Sequence[int]) -> tuple[Token, ...]:
    """The tokens of a text that `source_ids` framed, and perhaps cut."""
    specials = tokenizers.specials
    filled = 0
    while specials.fill and ids[-1 - filled] == specials.fill[0]:
        filled += 1
    own = ids[len(specials.before) : len(ids) - len(specials.after) - filled]
    return (
        *(mark(tokenizers.source, i) for i in specials.before),
        *(
            Token(text=text, id=i, word=word, unknown=i == specials.unknown)
            for text, i, word in zip(encoding.tokens, own, encoding.words, strict=False)
        ),
        *(mark(tokenizers.source, i) for i in (*specials.after, *specials.fill[:filled])),
    )


def mark(tokenizer: Tokenizer, i: int) -> Token:
    """A token that stands for no text."""
    return Token(text=tokenizer.tokens([i])[0], id=i, word=-1)


def written_tokens(tokenizers: TokenizerPair, hypothesis: Hypothesis, steps: Sequence[Step]) -> tuple[Token, ...]:
    ids, specials = hypothesis.ids, tokenizers.specials
    texts, words = tokenizers.target.tokens(ids), tokenizers.target.words(written_ids(hypothesis))
    tokens = []
    for t, (step, row) in enumerate(zip(steps, hypothesis.rows, strict=False)):
        token = Token(
            text=texts[t],
            id=ids[t],
            word=words[t] if t < len(words) and ids[t] not in specials.marks else -1,
            unknown=ids[t] == specials.unknown,
            probability=math.exp(hypothesis.log_probs[t]),
        )
        tokens.append(with_candidates(token, tokenizers.target, step, row))
    return tuple(tokens)


def with_candidates(token: Token, tokenizer: Tokenizer, step: Step, row: int) -> Token:
    """The token beside what else could have stood in its place."""
    best = step.ids[row].tolist()
    offered = zip(tokenizer.tokens(best), step.log_probs[row].exp().tolist(), best, strict=True)
    return replace(token, candidates=tuple(Candidate(*offer) for offer in offered), entropy=float(step.entropy[row]))
