"""The mistakes of the bug lab, explained: what a visitor reads about each of `BUGS`."""

from collections.abc import Mapping
from dataclasses import dataclass

from viz_app.content.translation import N_

__all__ = ["MISTAKES", "Mistake"]


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One mistake with a mask."""

    title: str
    code: str  # the wrong line
    explanation: str  # Markdown


MISTAKES: Mapping[str, Mistake] = {
    "fill": Mistake(
        title=N_("Filled with 1e-12"),
        code="scores.masked_fill(~mask, 1e-12)",
        explanation=N_(
            "1e-12 is not a small score, because e to the power of 1e-12 is 1. So masked keys get weight like all "
            "other keys. The fill value must be minus infinity."
        ),
    ),
    "inverted": Mistake(
        title=N_("Causal mask inverted"),
        code="causal = torch.triu(torch.ones(T, T))  # 1 = may attend",
        explanation=N_(
            "The upper triangle is the future. Each position now attends only to itself and to later positions. While "
            "the model writes, there are no later positions."
        ),
    ),
    "after": Mistake(
        title=N_("Mask after the softmax"),
        code="weights = scores.softmax(-1) * mask",
        explanation=N_(
            "Masked keys get no weight, but the sum in the softmax still contains them. So the rows no longer sum to "
            "1, and masked tokens still change the result."
        ),
    ),
    "padding": Mistake(
        title=N_("No padding mask"),
        code="scores  # the padding mask is not applied",
        explanation=N_(
            "Queries attend to padding. So the result for a sentence depends on the longest sentence of its batch."
        ),
    ),
    "queries": Mistake(
        title=N_("Mask on queries instead of keys"),
        code="mask[:, None, :, None]  # instead of mask[:, None, None, :]",
        explanation=N_(
            "The rows of padding are masked, although nothing reads them. The columns of padding are not masked, so "
            "all queries attend to them."
        ),
    ),
}
