"""All that we take from torchtext 0.6.0: its vocabulary.

No other file imports torchtext. It is pure Python, works with any torch, and is no longer developed.
"""

from collections import Counter

from torchtext.vocab import Vocab

from model.text.vocab import SPECIAL_TOKENS

__all__ = ["Vocab", "word_vocabulary"]


def word_vocabulary(counts: Counter[str], *, min_freq: int = 1) -> Vocab:
    """Number the words: first the special tokens, then the words from frequent to rare.

    Args:
        counts: How often each word occurs.
        min_freq: Words that occur less often are left out.
    """
    return Vocab(counts, min_freq=min_freq, specials=list(SPECIAL_TOKENS))
