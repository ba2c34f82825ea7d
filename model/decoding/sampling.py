"""Sampling: each token is drawn at random, from a distribution that may be sharpened and cut."""

import torch
from torch import Tensor

from model.config.search import SearchConfig
from model.decoding.search import DecoderState, Search, SearchInput, write_one_by_one
from model.network.protocols import Writes

__all__ = ["filter_log_probs", "sample"]


def filter_log_probs(log_probs: Tensor, *, temperature: float, top_k: int, top_p: float) -> Tensor:
    """Keep only the tokens that sampling may choose; all others become minus infinity.

    Args:
        log_probs: (R, V); they need not be normalized.
        temperature: Above 0. Below 1 it sharpens the distribution, above 1 it flattens it.
        top_k: Keep the k most probable tokens; 0 keeps all.
        top_p: Keep the smallest set of most probable tokens that reaches this probability (nucleus sampling, Holtzman
            et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1); 1 keeps all.

    Returns:
        (R, V), normalized.
    """
    kept = (log_probs / temperature).log_softmax(dim=-1)
    if top_k:
        worst = kept.topk(min(top_k, kept.size(-1))).values[:, -1:]
        kept = kept.masked_fill(kept < worst, float("-inf")).log_softmax(dim=-1)
    if top_p >= 1:  # rounding may bring the sum to 1 before the last tokens, which would then be lost
        return kept
    ordered, order = kept.sort(dim=-1, descending=True)
    before = ordered.exp().cumsum(dim=-1) - ordered.exp()  # the probability of all better tokens; 0 for the best
    outside = torch.zeros_like(kept, dtype=torch.bool).scatter(-1, order, before >= top_p)
    return kept.masked_fill(outside, float("-inf")).log_softmax(dim=-1)


@torch.inference_mode()
def sample(model: Writes, start: SearchInput, search: SearchConfig) -> Search:
    """Draw each token at random.

    The same seed draws the same translation, whatever other sentences are in the batch.

    Args:
        model: In evaluation mode.
        start: The input of the search.
        search: The seed of the random numbers, and the settings of `filter_log_probs`.

    Returns:
        One hypothesis per sentence. Its log-probabilities are the model's own, before rules, temperature and filters.
    """
    generators = [torch.Generator().manual_seed(search.seed) for _ in start.sources]

    def draw(scores: Tensor) -> list[int]:
        kept = filter_log_probs(scores, temperature=search.temperature, top_k=search.top_k, top_p=search.top_p)
        return [
            int(torch.multinomial(row, 1, generator=generator))
            for row, generator in zip(kept.exp().cpu(), generators, strict=True)
        ]

    return (yield from write_one_by_one(DecoderState(model, start), draw))
