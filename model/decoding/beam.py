"""Beam search: several prefixes of a translation grow side by side, and every one that was weighed is reported."""

from collections.abc import Mapping

import torch
from torch import Tensor

from model.decoding.decode import NOTHING_FORCED, Branch, Decoding, Fate, Hypothesis, Search, Specials, Step
from model.network.transformer import Transformer

__all__ = ["beam"]


@torch.inference_mode()
def beam(
    model: Transformer,
    source: Tensor,
    *,
    specials: Specials,
    size: int,
    length_penalty: float = 1.0,
    forced: Mapping[int, int] = NOTHING_FORCED,
) -> Search:
    """Keep the `size` most probable prefixes of each sentence until as many have ended.

    Args:
        model: In evaluation mode.
        source: Token ids (B, S), padded.
        specials: Where to begin, where to end, what never to write.
        size: Width of the beam; 1 is greedy search.
        length_penalty: See `Hypothesis.score`.
        forced: See `greedy`.

    Returns:
        The best hypothesis of each sentence, ended ones first.
    """
    decoder = Decoding(model, source, specials, forced)
    done: list[list[Hypothesis]] = [[] for _ in range(source.size(0))]
    # The prefixes that are still growing, of the sentences that are not done; batch rows follow this order.
    growing = {sentence: [Hypothesis()] for sentence in range(source.size(0))}
    while growing:
        newest = [h.ids[-1] if h.ids else specials.bos for prefixes in growing.values() for h in prefixes]
        log_probs, step = decoder.advance(newest)
        grown: dict[int, list[Hypothesis]] = {}
        branches: list[Branch] = []
        first_row = 0
        for sentence, prefixes in growing.items():
            rows = range(first_row, first_row + len(prefixes))
            first_row = rows.stop
            weighed = _extend(prefixes, rows, log_probs[rows.start : rows.stop], size, specials)
            ended = [h for rank, h in enumerate(weighed) if h.finished and rank < size]
            open_ = [h for h in weighed if not h.finished][:size]
            done[sentence] += ended
            over = len(done[sentence]) >= size
            cut = not over and bool(open_) and len(open_[0].ids) >= decoder.limits[sentence]
            if cut:
                done[sentence] += open_
            elif open_ and not over:
                grown[sentence] = open_
            rest: Fate = "cut" if cut else "pruned" if over else "kept"
            fates: dict[Hypothesis, Fate] = {**dict.fromkeys(open_, rest), **dict.fromkeys(ended, "ended")}
            branches += [_branch(sentence, h, fates.get(h, "pruned")) for h in weighed]
        yield Step(distribution=step.distribution, branches=tuple(branches))
        if grown:
            moved = [h.rows[-1] for kept in grown.values() for h in kept]
            decoder.select(moved, same_source=sentence_of_rows(grown) == sentence_of_rows(growing))
        growing = grown
    return [max(found, key=lambda h: (h.finished, h.score(length_penalty))) for found in done]


def _extend(
    prefixes: list[Hypothesis], rows: range, log_probs: Tensor, size: int, specials: Specials
) -> list[Hypothesis]:
    """The best continuations of one sentence's prefixes, best first: enough that `size` of them go on."""
    totals = torch.tensor([h.log_prob for h in prefixes], device=log_probs.device)[:, None] + log_probs  # (K, V)
    best = totals.flatten().topk(min(2 * size, totals.numel()))
    extended = []
    for total, index in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        if total == float("-inf"):
            break  # only what is not allowed is left
        which, token = divmod(index, totals.size(-1))
        log_prob = float(log_probs[which, token])
        finished = token == specials.eos
        extended.append(prefixes[which].extended(token=token, log_prob=log_prob, row=rows[which], finished=finished))
    return extended


def _branch(sentence: int, hypothesis: Hypothesis, fate: Fate) -> Branch:
    row, token = hypothesis.rows[-1], hypothesis.ids[-1]
    return Branch(sentence=sentence, row=row, token=token, log_prob=hypothesis.log_prob, fate=fate)


def sentence_of_rows(prefixes: dict[int, list[Hypothesis]]) -> list[int]:
    return [sentence for sentence, kept in prefixes.items() for _ in kept]
