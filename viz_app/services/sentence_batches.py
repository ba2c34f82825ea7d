"""Sentences that heads are measured on, and how many of them go through a model at once."""

__all__ = ["Pairs", "in_batches"]

Pairs = tuple[tuple[str, str], ...]  # (sentence, translation or nothing)
BATCH = 16


def in_batches(pairs: Pairs) -> list[Pairs]:
    """The sentences, sixteen and what is left at a time."""
    return [pairs[start : start + BATCH] for start in range(0, len(pairs), BATCH)]
