"""From a recipe to a checkpoint and its evaluation."""

__all__ = ["DivergedError"]


class DivergedError(ArithmeticError):
    """The loss or its gradient is not finite. The message says when, what is kept and what to change."""
