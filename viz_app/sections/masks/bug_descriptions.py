"""The mistakes of the bug lab in words: what a person reads of each of `BUGS`."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["MISTAKES", "Mistake"]


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One mistake with a mask."""

    title: str
    code: str  # the line that makes it
    explanation: str


MISTAKES: Mapping[str, Mistake] = {
    "fill": Mistake(
        title="Filled with 1e-12",
        code="scores.masked_fill(~mask, 1e-12)",
        explanation="A tiny number is not a small score: e to the 1e-12 is 1, so masked keys get weight like any "
        "other. The fill value must be minus infinity.",
    ),
    "inverted": Mistake(
        title="Causal mask inverted",
        code="causal = torch.triu(torch.ones(T, T))  # 1 = may attend",
        explanation="The upper triangle is the future. Each position now sees only itself and what is still to come, "
        "which is nothing while the model writes.",
    ),
    "after": Mistake(
        title="Mask after the softmax",
        code="weights = scores.softmax(-1) * mask",
        explanation="Masked keys have no weight, but they had their share in the sum that the softmax divided by: rows "
        "no longer sum to 1, and forbidden tokens still change the outcome.",
    ),
    "padding": Mistake(
        title="No padding mask",
        code="scores  # only the decoder's causal mask is applied",
        explanation="Queries look at <pad>: what a sentence becomes depends on the longest sentence beside it.",
    ),
    "queries": Mistake(
        title="Mask on queries instead of keys",
        code="mask[:, None, :, None]  # instead of mask[:, None, None, :]",
        explanation="The rows of <pad> are masked, which nobody reads, and its columns are open to everyone.",
    ),
}
