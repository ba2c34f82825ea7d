"""The error of a run whose loss is no longer a number. It has a file of its own, so that it needs no other library."""

__all__ = ["DivergedError"]


class DivergedError(ArithmeticError):
    """The loss or its gradient is not finite. The message says when, what is kept and what to change."""
