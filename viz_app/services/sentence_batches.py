"""Batches of the sentences on which heads are measured."""

__all__ = ["Pairs", "in_batches"]

Pairs = tuple[tuple[str, str], ...]  # (sentence, its translation or its second text, or "")
BATCH = 16


def in_batches(pairs: Pairs) -> list[Pairs]:
    """The sentences in batches of 16; the last one may be smaller."""
    return [pairs[start : start + BATCH] for start in range(0, len(pairs), BATCH)]
