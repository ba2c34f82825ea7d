from contextlib import nullcontext

import pytest
import torch
from torch import nn

from model.network.attention import MultiHeadAttention, attention_weights, mask_scores
from model.network.cache import KeyValue
from model.network.masks import causal_mask
from model.network.positional import RotaryPositions
from model.network.scores import additive_scores, scaled_dot_product_scores
from model.trace import name_hook_points, tracing


def copy_to_torch(ours: MultiHeadAttention, d_model: int, heads: int) -> nn.MultiheadAttention:
    theirs = nn.MultiheadAttention(d_model, heads, batch_first=True)
    projections = (ours.query_projection, ours.key_projection, ours.value_projection)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.load_state_dict(ours.output_projection.state_dict())
    return theirs.eval()


@pytest.fixture
def attention() -> MultiHeadAttention:
    torch.manual_seed(0)
    layer = MultiHeadAttention(d_model=24, num_heads=3, dropout=0.2).eval()
    name_hook_points(layer)
    return layer


@pytest.mark.parametrize("crossing", [False, True])
def test_output_and_every_map_equal_torch_multihead_attention(attention: MultiHeadAttention, crossing: bool) -> None:
    theirs = copy_to_torch(attention, 24, 3)
    x, memory = torch.randn(2, 5, 24), torch.randn(2, 7, 24)
    looked_at = memory if crossing else x
    mask = None if crossing else causal_mask(5)
    with tracing() as trace:
        written_out = attention(x, memory if crossing else None, mask=mask)
    fused = attention(x, memory if crossing else None, mask=mask)
    expected, maps = theirs(
        x, looked_at, looked_at, attn_mask=None if mask is None else ~mask[0, 0], average_attn_weights=False
    )
    torch.testing.assert_close(written_out, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(fused, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(trace.passes("weights")[0], maps, atol=1e-5, rtol=0)


def test_rows_sum_to_one_and_masked_keys_have_weight_zero() -> None:
    scores = 30 * torch.randn(2, 3, 6, 6)
    weights = attention_weights(mask_scores(scores, causal_mask(6)))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 6))
    assert weights.masked_select(~causal_mask(6)).eq(0).all()


# Two sentences of seven tokens; the second has only padding, so its queries may attend to no key.
NOTHING_TO_SEE = torch.tensor([[True] * 7, [False] * 7])[:, None, None]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("training", [False, True])
def test_a_query_without_allowed_keys_has_output_zero_on_every_path(
    attention: MultiHeadAttention, dtype: torch.dtype, training: bool
) -> None:
    attention.to(dtype).train(training)
    attention.dropout.rate = 0.1 if training else 0.0
    x, memory = torch.randn(2, 5, 24, dtype=dtype), torch.randn(2, 7, 24, dtype=dtype, requires_grad=True)
    nothing = attention.output_projection.bias.detach().expand(5, -1)
    fused = attention(x, memory, mask=NOTHING_TO_SEE)
    with tracing() as trace:
        written_out = attention(x, memory, mask=NOTHING_TO_SEE)
    for output in (fused, written_out):
        torch.testing.assert_close(output[1].detach(), nothing)
        (gradient,) = torch.autograd.grad(output.float().sum(), memory)
        assert gradient[0].abs().sum() > 0
        assert gradient[1].eq(0).all()
    weights = trace.passes("weights")[0]
    assert weights[1].eq(0).all()
    rounding = 2e-2 if dtype == torch.bfloat16 else 1e-6  # of the weights; what is recorded has single precision
    torch.testing.assert_close(weights[0].sum(-1), torch.ones(3, 5), atol=rounding, rtol=0)


def test_scores_are_scaled_dot_products() -> None:
    query, keys = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]]), torch.tensor([[[[1.0, 0, 0, 0], [0, 0, 0, 2.0]]]])
    assert scaled_dot_product_scores(query, keys).tolist() == [[[[0.5, 4.0]]]]


def test_additive_scores_follow_bahdanau() -> None:
    torch.manual_seed(0)
    queries, keys, vector = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 6, 5), torch.randn(3, 5)
    scores = additive_scores(queries, keys, vector)
    assert scores.shape == (2, 3, 4, 6)
    expected = sum(vector[1, i] * torch.tanh(queries[1, 1, 2, i] + keys[1, 1, 3, i]) for i in range(5))
    torch.testing.assert_close(scores[1, 1, 2, 3], expected)


def test_additive_attention_is_recorded_and_masked_like_dot_products() -> None:
    layer = MultiHeadAttention(d_model=24, num_heads=3, dropout=0.0, kind="additive").eval()
    name_hook_points(layer)
    x = torch.randn(2, 5, 24)
    with tracing() as trace:
        output = layer(x, mask=causal_mask(5))
    torch.testing.assert_close(layer(x, mask=causal_mask(5)), output)
    queries, keys = trace.passes("queries")[0], trace.passes("keys")[0]
    torch.testing.assert_close(trace.passes("scores")[0], additive_scores(queries, keys, layer.score_vector).detach())
    weights = trace.passes("weights")[0]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 5))
    assert weights.masked_select(~causal_mask(5)).eq(0).all()


def test_maps_are_recorded_before_dropout(attention: MultiHeadAttention) -> None:
    attention.train()
    with tracing(record=["weights"]) as trace:
        attention(torch.randn(2, 5, 24))
    torch.testing.assert_close(trace.passes("weights")[0].sum(-1), torch.ones(2, 3, 5))


def test_weights_are_dropped_only_in_training_with_and_without_a_trace(attention: MultiHeadAttention) -> None:
    x = torch.randn(2, 5, 24)
    for observed in (nullcontext, tracing):
        with observed():
            attention.train()
            assert not torch.allclose(attention(x), attention(x), atol=1e-3)
            attention.eval()
            torch.testing.assert_close(attention(x), attention(x))


def test_with_a_cache_self_attention_grows_and_cross_attention_reads_its_memory_once(
    attention: MultiHeadAttention,
) -> None:
    x, memory = torch.randn(2, 3, 24), torch.randn(2, 7, 24)
    own, other = KeyValue(), KeyValue()
    for t in range(3):
        newest = attention(x[:, t : t + 1], cache=own)
        read = attention(x[:, t : t + 1], memory if t == 0 else torch.empty(2, 0, 24), cache=other)
    torch.testing.assert_close(newest[:, 0], attention(x)[:, 2], atol=1e-5, rtol=0)
    torch.testing.assert_close(read[:, 0], attention(x, memory)[:, 2], atol=1e-5, rtol=0)


def test_rotary_positions_behind_a_cache_are_those_of_the_whole_text() -> None:
    torch.manual_seed(0)
    positions = RotaryPositions(max_length=12, width=8)
    attention = MultiHeadAttention(d_model=24, num_heads=3, dropout=0.0, positions=positions).eval()
    x, cache = torch.randn(2, 9, 24), KeyValue()
    whole = attention(x, mask=causal_mask(9))
    # The first four tokens in one pass, the others one by one.
    parts = [attention(x[:, :4], mask=causal_mask(4), cache=cache)]
    parts += [attention(x[:, t : t + 1], cache=cache) for t in range(4, 9)]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=0)


def test_sizes_that_do_not_divide_are_named() -> None:
    with pytest.raises(ValueError, match=r"d_model \(24\) must be divisible by num_heads \(5\)"):
        MultiHeadAttention(d_model=24, num_heads=5, dropout=0.0)
