"""What a model predicts in a text: the next token, the token in a gap, or the label, each with its rivals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.inference.tokens import Candidate, Token
from model.network.residual_stream import StackName
from model.text.encoding import Tokenizer

__all__ = ["Outcome", "outcome_of_token"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a model predicted at one place."""

    stack: StackName  # the stack that makes the logits
    position: int | None  # of the state that is read, counted from 0; None for the pooled vector of a classifier
    id: int  # of the token that was written or guessed, or the number of the label
    text: str  # of this token or label
    probability: float
    candidates: Sequence[Candidate]  # the most probable tokens, best first; or all labels in their order
    logits: Mapping[int, float]  # id → logit, of the candidates and of `id`; up to a constant that all share
    fixed: bool = False  # the model did not choose it, such as a first token that names a language
    several: bool = False  # each label has its own probability; they do not sum to 1

    def names(self, tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
        """The tokens of a tokenizer with these ids, or the labels with these numbers."""
        if self.position is None:
            return tuple(self.candidates[i].token for i in ids)
        return tuple(tokenizer.tokens(ids))


def outcome_of_token(token: Token, position: int, *, written: bool, fixed: bool) -> Outcome:
    """The outcome at a written token, or at a masked token of a source, where the best candidate is the guess."""
    best = token.candidates[0]
    chosen = Candidate(token.text, token.probability, token.id) if written else best
    return Outcome(
        stack="decoder" if written else "encoder",
        position=position,
        id=chosen.id,
        text=chosen.token,
        probability=token.probability,
        candidates=token.candidates,
        logits={one.id: math.log(max(one.probability, 1e-300)) for one in (*token.candidates, chosen)},
        fixed=fixed,
    )
