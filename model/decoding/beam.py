"""Beam search: several prefixes of a translation grow side by side, and every one that was weighed is reported."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from model.decoding.decode import NOTHING_FORCED, Branch, DecoderState, Fate, Hypothesis, Search, Step
from model.network.translator import Translator
from model.text.vocab import Specials

__all__ = ["beam"]


@torch.inference_mode()
def beam(
    model: Translator,
    source: Tensor,
    *,
    specials: Specials,
    size: int,
    length_penalty: float = 1.0,
    forced: Mapping[int, int] = NOTHING_FORCED,
    limit: int | None = None,
    prompt_length: int = 0,
) -> Search:
    """Keep the `size` most probable prefixes of each sentence until as many have ended.

    Args:
        model: In evaluation mode.
        source: Token ids (B, S), padded.
        specials: Where to begin, where to end, what never to write.
        size: Width of the beam; 1 is greedy search.
        length_penalty: See `Hypothesis.score`.
        forced: See `greedy`.
        limit: See `greedy`.
        prompt_length: See `greedy`.

    Returns:
        The hypothesis of each sentence with the best score, whether it ended or the limit cut it.
    """
    decoder = DecoderState(model, source, specials, forced, limit, prompt_length)
    done: list[list[Hypothesis]] = [[] for _ in range(source.size(0))]
    # Sentence → its prefixes that still grow. The rows of the next pass follow this order.
    growing = {sentence: [decoder.start] for sentence in range(source.size(0))}
    while growing:
        newest = [h.ids[-1] if h.ids else specials.bos for prefixes in growing.values() for h in prefixes]
        log_probs, step = decoder.advance(newest)
        branches: list[Branch] = []
        kept: dict[int, list[Hypothesis]] = {}
        first_row = 0
        for sentence, prefixes in growing.items():
            weighed = continuations(prefixes, first_row, log_probs, size, decoder.ends)
            first_row += len(prefixes)
            fates = fates_of(weighed, size=size, done=len(done[sentence]), limit=decoder.limits[sentence])
            judged = list(zip(weighed, fates, strict=True))
            branches += [branch_of(sentence, hypothesis, fate) for hypothesis, fate in judged]
            done[sentence] += [hypothesis for hypothesis, fate in judged if fate in ("ended", "cut")]
            kept[sentence] = [hypothesis for hypothesis, fate in judged if fate == "kept"]
        yield Step(distribution=step.distribution, branches=tuple(branches))
        before, growing = growing, {sentence: prefixes for sentence, prefixes in kept.items() if prefixes}
        if growing:
            rows = [hypothesis.rows[-1] for prefixes in growing.values() for hypothesis in prefixes]
            decoder.select(rows, same_source=sentences_of_rows(growing) == sentences_of_rows(before))
    return [max(ended, key=lambda h: h.score(length_penalty)) for ended in done]


def continuations(
    prefixes: Sequence[Hypothesis], first_row: int, log_probs: Tensor, size: int, ends: Callable[[int], bool]
) -> list[Hypothesis]:
    """The best continuations of one sentence's prefixes, best first: enough that `size` of them go on.

    Args:
        prefixes: In the order of their rows.
        first_row: Of the batch, that of the first prefix.
        log_probs: Of all rows, (R, V).
        size: Width of the beam.
        ends: Whether a token ends a text.
    """
    rows = log_probs[first_row : first_row + len(prefixes)]  # (P, V)
    totals = torch.tensor([prefix.log_prob for prefix in prefixes], device=rows.device)[:, None] + rows  # (P, V)
    best = totals.flatten().topk(min(2 * size, totals.numel()))
    longer = []
    for total, index in zip(best.values.tolist(), best.indices.tolist(), strict=True):
        if total == float("-inf"):
            break  # only what is not allowed is left
        which, token = divmod(index, totals.size(-1))
        log_prob, finished = float(rows[which, token]), ends(token)
        longer.append(
            prefixes[which].extended(token=token, log_prob=log_prob, row=first_row + which, finished=finished)
        )
    return longer


def fates_of(weighed: Sequence[Hypothesis], *, size: int, done: int, limit: int) -> list[Fate]:
    """What becomes of the continuations of one sentence.

    Args:
        weighed: Best first.
        size: Width of the beam: an ending counts among the `size` best, and the `size` best of the others go on.
        done: How many hypotheses of this sentence have ended before.
        limit: How many tokens a hypothesis may have.
    """
    ended = sum(hypothesis.finished for hypothesis in weighed[:size])
    others: Fate = "cut" if len(weighed[0].ids) >= limit else "pruned" if done + ended >= size else "kept"
    fates: list[Fate] = []
    room = size
    for rank, hypothesis in enumerate(weighed):
        if hypothesis.finished:
            fates.append("ended" if rank < size else "pruned")
        else:
            fates.append(others if room else "pruned")
            room = max(room - 1, 0)
    return fates


def branch_of(sentence: int, hypothesis: Hypothesis, fate: Fate) -> Branch:
    row, token = hypothesis.rows[-1], hypothesis.ids[-1]
    return Branch(sentence=sentence, row=row, token=token, log_prob=hypothesis.log_prob, fate=fate)


def sentences_of_rows(prefixes: Mapping[int, Sequence[Hypothesis]]) -> list[int]:
    return [sentence for sentence, of_sentence in prefixes.items() for _ in of_sentence]
