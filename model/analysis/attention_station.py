"""Attention as a station: from the vector that asks to what the heads found, every step computed again."""

import numpy as np

from model.analysis.source_code import code_of
from model.analysis.station import Station, Step, at, length, numbers, off, single
from model.analysis.streams import FloatArray, head_matrices
from model.inference.translation import Recording, Translation
from model.network.attention import (
    MultiHeadAttention,
    additive_scores,
    attention_weights,
    mask_scores,
    scaled_dot_product_scores,
)
from model.network.transformer import Transformer
from model.trace import hook_name

__all__ = ["attended"]


def attended(
    model: Transformer,
    recording: Recording,
    translation: Translation,
    kind: str,
    layer: int,
    place: int,
    x: FloatArray,
    name: str,
) -> Station:
    """What a token finds, `x` being what asks, (D,)."""
    attention = model.get_submodule(hook_name(kind, layer, "output").removesuffix(".output"))
    assert isinstance(attention, MultiHeadAttention)

    def own(hook: str) -> FloatArray:
        return at(recording, hook_name(kind, layer, hook), place)

    keys, values = (
        recording.array(hook_name(kind, layer, hook)).astype(np.float64) for hook in ("keys", "values")
    )  # (H, S, K)
    projection = attention.query_projection
    query = (numbers(projection.weight) @ x + numbers(projection.bias)).reshape(len(keys), -1)  # (H, K)
    vector = attention.score_vector
    if vector is None:
        scores = np.einsum("hk,hsk->hs", query, keys) / np.sqrt(query.shape[1])
    else:
        scores = np.einsum("hsk,hk->hs", np.tanh(query[:, None] + keys), numbers(vector))
    forbidden = np.isneginf(own("masked_scores"))  # (H, S)
    masked = np.where(forbidden, -np.inf, scores)
    exponentials = np.exp(masked - masked.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)  # (H, S)
    heads = np.einsum("hs,hsk->hk", weights, values)
    matrices, bias = head_matrices(model, kind, layer)
    output = np.einsum("hk,hkd->d", heads, matrices) + bias
    # What distinguishes cross-attention: its keys and values are made of the encoder's output.
    read, reads = (r"^{\mathrm{enc}}", "of the encoder's output") if kind == "cross" else ("", "of the same stack")
    labels = [token.text for token in translation.tokens_of(kind)[1]]
    looks = [f"{labels[int(row.argmax())]} {row.max():.2f}" for row in weights]
    by_head = "heads"
    score = "vᵀ tanh(q + k)" if vector is not None else "q kᵀ / √dₖ"
    return Station(
        name=name,
        formula=r"o = \left[\,\mathrm{softmax}\!\left("
        + (rf"\tfrac{{q_h K_h{read}{{}}^\top}}{{\sqrt{{d_k}}}}" if vector is None else rf"v^\top\tanh(q_h + K_h{read})")
        + rf" + \mathrm{{mask}}\right) V_h{read}\,\right]_{{h}} W_O + b_O",
        vector=single(output),
        difference=max(
            off(query, own("queries")),
            off(scores, own("scores")),
            off(weights, translation.maps[kind][layer][:, place].astype(np.float64)),
            off(heads, own("head_outputs")),
            off(output, own("output")),
        ),
        steps=(
            Step(
                name="query",
                formula="q = x W_Q + b_Q",
                numbers=single(query),
                rows=by_head,
                facts=(("numbers a head", str(query.shape[1])),),
            ),
            Step(
                name="scores",
                formula=score,
                numbers=single(scores),
                rows=by_head,
                facts=(("keys and values", reads), ("from", f"{scores.min():.2f}"), ("to", f"{scores.max():.2f}")),
            ),
            Step(
                name="mask",
                formula="−∞ where forbidden",
                numbers=single(np.where(forbidden, np.nan, scores)),
                rows=by_head,
                facts=(("tokens that may not be seen", f"{int(forbidden[0].sum())} of {forbidden.shape[1]}"),),
            ),
            Step(
                name="weights",
                formula="α = softmax(…)",
                numbers=single(weights),
                rows=by_head,
                shares=True,
                facts=tuple((f"head {head + 1} looks most at", look) for head, look in enumerate(looks)),
            ),
            Step(name="weighted sum", formula="z = α V", numbers=single(heads), rows=by_head),
            Step(
                name="projection",
                formula="o = [z₁ … z_h] W_O + b_O",
                numbers=single(output)[None],
                facts=(("length", length(output)),),
            ),
        ),
        code=tuple(
            map(
                code_of,
                (
                    MultiHeadAttention.forward,
                    MultiHeadAttention.written_out,
                    scaled_dot_product_scores if vector is None else additive_scores,
                    mask_scores,
                    attention_weights,
                ),
            )
        ),
    )
