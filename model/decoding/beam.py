"""Beam search: several hypotheses of a translation grow side by side. Each step reports all that were compared."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from model.decoding.decoder_state import NOTHING_FORCED, DecoderState
from model.decoding.search import Branch, Fate, Hypothesis, Search, Step
from model.network.protocols import Writes
from model.text.vocab import Specials

__all__ = ["beam"]


@torch.inference_mode()
def beam(
    model: Writes,
    source: Tensor,
    *,
    specials: Specials,
    size: int,
    length_penalty: float = 1.0,
    forced: Mapping[int, int] = NOTHING_FORCED,
    limit: int | None = None,
    prompt_length: int = 0,
) -> Search:
    """Keep the `size` most probable hypotheses of each sentence until as many have ended.

    Args:
        model: In evaluation mode.
        source: Token ids (B, S), padded.
        specials: The ids that start, end or never appear.
        size: Width of the beam; 1 is greedy search.
        length_penalty: See `Hypothesis.score`.
        forced: See `greedy`.
        limit: See `greedy`.
        prompt_length: See `greedy`.

    Returns:
        For each sentence, the hypothesis with the best score. It has ended, or the limit has cut it.
    """
    decoder = DecoderState(model, source, specials=specials, forced=forced, limit=limit, prompt_length=prompt_length)
    done: list[list[Hypothesis]] = [[] for _ in range(source.size(0))]
    # Sentence → its hypotheses that still grow. The rows of the next pass follow this order.
    growing = {sentence: [decoder.start] for sentence in range(source.size(0))}
    while growing:
        newest = [h.ids[-1] if h.ids else specials.bos for prefixes in growing.values() for h in prefixes]
        log_probs, step = decoder.advance(newest)
        branches: list[Branch] = []
        kept: dict[int, list[Hypothesis]] = {}
        first_row = 0
        for sentence, prefixes in growing.items():
            compared = continuations(prefixes, first_row, log_probs, size, decoder.ends)
            first_row += len(prefixes)
            fates = decide_fates(compared, size=size, done=len(done[sentence]), limit=decoder.limits[sentence])
            decided = list(zip(compared, fates, strict=True))
            branches += [make_branch(sentence, hypothesis, fate) for hypothesis, fate in decided]
            done[sentence] += [hypothesis for hypothesis, fate in decided if fate in ("ended", "cut")]
            kept[sentence] = [hypothesis for hypothesis, fate in decided if fate == "kept"]
        yield Step(distribution=step.distribution, branches=tuple(branches))
        before, growing = growing, {sentence: prefixes for sentence, prefixes in kept.items() if prefixes}
        if growing:
            rows = [hypothesis.rows[-1] for prefixes in growing.values() for hypothesis in prefixes]
            decoder.select(rows, same_source=sentence_per_row(growing) == sentence_per_row(before))
    return [max(ended, key=lambda h: h.score(length_penalty)) for ended in done]


def continuations(
    prefixes: Sequence[Hypothesis], first_row: int, log_probs: Tensor, size: int, ends: Callable[[int], bool]
) -> list[Hypothesis]:
    """The best continuations of one sentence's hypotheses, best first: enough that `size` of them can go on.

    Args:
        prefixes: The hypotheses, in the order of their rows.
        first_row: The batch row of the first one.
        log_probs: Of all rows, (R, V).
        size: Width of the beam.
        ends: Whether a token ends a text.
    """
    rows = log_probs[first_row : first_row + len(prefixes)]  # (P, V)
    totals = (
        torch.tensor([hypothesis.log_prob for hypothesis in prefixes], device=rows.device)[:, None] + rows
    )  # (P, V)
    best = totals.flatten().topk(min(2 * size, totals.numel()))
    longer = []
    for total, index in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        if total == float("-inf"):
            break  # the rest is masked
        prefix, token = divmod(index, totals.size(-1))
        log_prob, finished = float(rows[prefix, token]), ends(token)
        longer.append(
            prefixes[prefix].extended(token=token, log_prob=log_prob, row=first_row + prefix, finished=finished)
        )
    return longer


def decide_fates(compared: Sequence[Hypothesis], *, size: int, done: int, limit: int) -> list[Fate]:
    """Decide which continuations of one sentence end, go on, are cut or are pruned.

    A hypothesis that ends counts if it is among the `size` best. Of the others, the `size` best go on.

    Args:
        compared: The continuations, best first.
        size: Width of the beam.
        done: How many hypotheses of this sentence have ended before.
        limit: How many tokens a hypothesis may have.
    """
    ended = sum(hypothesis.finished for hypothesis in compared[:size])
    others: Fate = "cut" if len(compared[0].ids) >= limit else "pruned" if done + ended >= size else "kept"
    fates: list[Fate] = []
    places_left = size
    for rank, hypothesis in enumerate(compared):
        if hypothesis.finished:
            fates.append("ended" if rank < size else "pruned")
        else:
            fates.append(others if places_left else "pruned")
            places_left = max(places_left - 1, 0)
    return fates


def make_branch(sentence: int, hypothesis: Hypothesis, fate: Fate) -> Branch:
    """The newest token of a hypothesis as a branch of the search."""
    row, token = hypothesis.rows[-1], hypothesis.ids[-1]
    return Branch(sentence=sentence, row=row, token=token, log_prob=hypothesis.log_prob, fate=fate)


def sentence_per_row(growing: Mapping[int, Sequence[Hypothesis]]) -> list[int]:
    """The sentence of each batch row."""
    return [sentence for sentence, prefixes in growing.items() for _ in prefixes]
