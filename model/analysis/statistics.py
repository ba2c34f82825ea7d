"""Statistics of attention maps, from arrays to arrays."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from model.analysis.followed import Followed
from model.config.kinds import KINDS

__all__ = [
    "METRICS",
    "cosine_similarity",
    "entropy",
    "head_metrics",
    "mean_over_queries",
    "merge_tokens",
    "metrics_of_run",
    "moved_weight",
    "rank_agreement",
    "rollout",
    "strongest",
    "suggested_role",
    "translation_rollout",
]

FloatArray = NDArray[np.float32]


def merge_tokens(maps: FloatArray, query_groups: Sequence[int], key_groups: Sequence[int]) -> FloatArray:
    """Merge the tokens of each word: sum their weights as keys, and average their rows as queries.

    The sum of a row stays the same (Clark et al. 2019, "What Does BERT Look At?", section 4.1).

    Args:
        maps: (…, T, S).
        query_groups: For each of the T queries, the index of its word, 0 … T' − 1 in order.
        key_groups: For each of the S keys, the index of its word, 0 … S' − 1 in order.

    Returns:
        (…, T', S').
    """
    queries = _membership(query_groups)  # (T', T)
    keys = _membership(key_groups)  # (S', S)
    mean = queries / queries.sum(axis=1, keepdims=True)
    return np.asarray(mean @ maps @ keys.T, dtype=np.float32)


def _membership(groups: Sequence[int]) -> NDArray[np.float64]:
    """A matrix (groups, members) with 1 where a member belongs to a group."""
    index = np.asarray(groups, dtype=np.int64)
    return np.asarray(np.arange(index.max() + 1)[:, None] == index[None, :], dtype=np.float64)


def cosine_similarity(vectors: FloatArray) -> FloatArray:
    """The cosine similarity of every two rows.

    Args:
        vectors: (N, D).

    Returns:
        (N, N): 1 for the same direction; 0 for a row of zeros, even with itself.
    """
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, length, out=np.zeros_like(vectors), where=length != 0)
    return np.asarray(unit @ unit.T, dtype=np.float32)


def entropy(weights: FloatArray) -> FloatArray:
    """The entropy of each row, (…, T, S) → (…, T), in nats: 0 for one key, ln S for all keys equally."""
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return np.asarray(-(weights * logs).sum(axis=-1), dtype=np.float32)


def strongest(weights: FloatArray, count: int) -> list[tuple[int, int, float]]:
    """The `count` largest cells of a map (T, S) as (query, key, weight), largest first, without NaN."""
    order = np.argsort(weights, axis=None, kind="stable")[::-1]
    order = order[np.isfinite(weights.ravel()[order])][:count]
    places = zip(*np.unravel_index(order, weights.shape), strict=True)
    return [(int(t), int(s), float(weights[t, s])) for t, s in places]


def moved_weight(maps: FloatArray, others: FloatArray) -> FloatArray:
    """How much of its weight each head has on other keys in two maps of the same text, (L, H, T, S) → (L, H).

    For two rows that sum to 1, this is half the sum of their absolute differences (the total variation distance). For a
    silenced head it is the sum of its row before: 1, or less with an attention sink. The result is a mean over rows.
    """
    whole = np.maximum(maps.sum(axis=-1), others.sum(axis=-1))
    return np.asarray((whole - np.minimum(maps, others).sum(axis=-1)).mean(axis=-1), dtype=np.float32)


def rollout(maps: FloatArray) -> FloatArray:
    """Attention rollout: the share of each input token in each position (Abnar and Zuidema 2020, section 3).

    It averages the heads, and assumes that half of each layer's output comes through its residual connection.

    Args:
        maps: Of self-attention, (L, H, S, S); rows sum to 1, or to less with an attention sink.

    Returns:
        (L, S, S): after each layer, the share of each input token (column) in each position (row). Rows sum to 1, or to
            less with a sink, which has no value.
    """
    mixed = np.eye(maps.shape[-1], dtype=np.float32)
    layers = []
    for weights in maps.mean(axis=1):  # (S, S)
        mixed = (weights @ mixed + mixed) / 2
        layers.append(mixed)
    return np.stack(layers).astype(np.float32)


def translation_rollout(encoder: FloatArray, decoder: FloatArray, cross: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rollout through encoder and decoder. Each decoder layer mixes the target tokens, then the encoder's output.

    It applies the rule of `rollout` to the whole model, with cross-attention.

    Args:
        encoder: (L, H, S, S).
        decoder: (L', H, T, T).
        cross: (L', H, T, S).

    Returns:
        After each decoder layer, the shares of the target tokens (L', T, T) and of the source tokens (L', T, S) in each
        decoder position. The two rows of a position together sum to 1.
    """
    memory = rollout(encoder)[-1]  # (S, S)
    length = decoder.shape[-1]
    mixed = np.concatenate([np.eye(length), np.zeros((length, len(memory)))], axis=1)  # (T, T + S)
    layers = []
    for self_weights, cross_weights in zip(decoder.mean(axis=1), cross.mean(axis=1), strict=True):
        mixed = (self_weights @ mixed + mixed) / 2
        from_source = np.concatenate([np.zeros((length, length)), cross_weights @ memory], axis=1)
        mixed = (mixed + from_source) / 2
        layers.append(mixed)
    whole = np.stack(layers).astype(np.float32)
    return whole[..., :length], whole[..., length:]


METRICS = (
    "entropy",  # of the weights of a row, in nats
    "confidence",  # the largest weight of a row
    "distance",  # the mean distance from query to key, in tokens
    "previous",  # the weight on the token before, 0 to 1
    "same",  # on the same position
    "next",  # on the token after
    "end",  # on the special token: </s> of the source, <s> of the target
)

PLACES = ("previous", "same", "next", "end")


def head_metrics(maps: FloatArray, *, aligned: bool, special_key: int) -> dict[str, FloatArray]:
    """Compute the `METRICS` of each row of each map of one sentence.

    Args:
        maps: (L, H, T, S); rows sum to 1, or to less with an attention sink. Then entropy and distance are those of
            the weights divided by their sum.
        aligned: Query t and key t are the same position, as in self-attention. Otherwise distances have no meaning.
        special_key: The index of the key that ends the source or begins the target.

    Returns:
        Metric → (L, H, T); NaN where a metric has no meaning, infinite where the weights are not numbers.
    """
    *_, queries, keys = maps.shape
    offset = np.arange(keys)[None, :] - np.arange(queries)[:, None]  # (T, S)

    def share(at: int) -> FloatArray:
        cells = offset == at
        weight = np.where(cells, maps, 0).sum(axis=-1)
        return np.where(cells.any(axis=-1) & aligned, known(weight), np.nan).astype(np.float32)

    sums = maps.sum(axis=-1, keepdims=True)
    shares = np.divide(maps, sums, out=np.zeros_like(maps), where=sums != 0)
    distance = known((shares * np.abs(offset)).sum(axis=-1))
    return {
        "entropy": known(entropy(shares)),
        "confidence": known(maps.max(axis=-1)),
        "distance": np.where(aligned, distance, np.nan).astype(np.float32),
        "previous": share(-1),
        "same": share(0),
        "next": share(1),
        "end": known(maps[..., special_key]),
    }


def metrics_of_run(text: Followed) -> dict[str, dict[str, FloatArray]]:
    """Kind → `head_metrics` of the maps of a run."""
    return {
        kind: head_metrics(maps, aligned=KINDS[kind].aligned, special_key=0 if kind == "decoder" else -1)
        for kind, maps in text.maps.items()
    }


def known(values: FloatArray) -> FloatArray:
    """Numbers with infinity in place of NaN, because NaN stands for a metric without a meaning."""
    return np.where(np.isfinite(values), values, np.float32("inf")).astype(np.float32)


def mean_over_queries(sentences: Sequence[Mapping[str, FloatArray]]) -> dict[str, FloatArray]:
    """Average the metrics of several sentences over all queries.

    Args:
        sentences: The results of `head_metrics`.

    Returns:
        Metric → (L, H); NaN where no query has a value.
    """
    means = {}
    for metric in sentences[0]:
        values = np.concatenate([sentence[metric] for sentence in sentences], axis=-1)  # (L, H, ΣT)
        has_meaning = ~np.isnan(values)
        total = np.where(has_meaning, values, 0).sum(axis=-1)
        count = has_meaning.sum(axis=-1)
        means[metric] = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return means


def suggested_role(metrics: Mapping[str, float]) -> str:
    """The one of the `PLACES` that gets most of a head's weight, or "".

    Voita et al. (2019, "Analyzing Multi-Head Self-Attention", section 5.1) call a head positional if its largest weight
    is almost always at the same offset. Here the condition is more than half of the weight.

    Args:
        metrics: Metric → its mean over the queries of one head.
    """
    shares = {metric: float(np.nan_to_num(metrics[metric], nan=-1.0, posinf=-1.0)) for metric in PLACES}
    best = max(shares, key=lambda metric: shares[metric])
    return best if shares[best] > 0.5 else ""


def rank_agreement(first: FloatArray, second: FloatArray, *, resamples: int = 1000) -> tuple[float, float, float]:
    """How similarly two measurements rank the same heads, by their means over sentences.

    Args:
        first: (N, M), for N sentences and M heads.
        second: The other measurement, (N, M).
        resamples: How many bootstrap samples of the sentences are drawn for the interval (Efron 1979).

    Returns:
        Spearman's rank correlation of the two means, which is 1 for the same order; and the lower and upper end of its
        95 % bootstrap interval.
    """

    def correlation(draws: NDArray[np.int64]) -> NDArray[np.float64]:  # (R, N) → (R,)
        means = (values[draws].mean(axis=1) for values in (first, second))  # (R, M) each
        ranks = [pd.DataFrame(mean).rank(axis=1).to_numpy() for mean in means]  # ties share their mean rank
        x, y = (rank - rank.mean(axis=-1, keepdims=True) for rank in ranks)
        spread = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
        return np.divide((x * y).sum(axis=-1), spread, out=np.full(len(draws), np.nan), where=spread > 0)

    sentences = len(first)
    drawn = correlation(np.random.default_rng(0).integers(sentences, size=(resamples, sentences)))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(correlation(np.arange(sentences)[None])[0]), float(low), float(high)
