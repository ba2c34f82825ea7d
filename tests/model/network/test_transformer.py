import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from model.network.attention import MultiHeadAttention
from model.network.cache import DecoderCache
from model.network.positional import sinusoidal_table
from model.network.transformer import Transformer
from model.trace import tracing
from tests.conftest import make_model
from tests.model.network.test_attention import copy_to_torch


def copy_layers(ours: nn.ModuleList, theirs: nn.ModuleList, *, decoder: bool) -> None:
    """Copy our layers into PyTorch's."""
    for mine, other in zip(ours, theirs, strict=True):
        other.self_attn = copy_to_torch(mine.self_attention, 32, 4)
        other.linear1.load_state_dict(mine.feed_forward.expand.state_dict())
        other.linear2.load_state_dict(mine.feed_forward.contract.state_dict())
        norms = [mine.self_attention_residual.norm, mine.feed_forward_residual.norm]
        if decoder:
            other.multihead_attn = copy_to_torch(mine.cross_attention, 32, 4)
            norms.insert(1, mine.cross_attention_residual.norm)
        for i, norm in enumerate(norms, 1):
            getattr(other, f"norm{i}").load_state_dict(norm.state_dict())


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_logits_equal_torch_transformer_with_the_same_weights(norm: str, source: Tensor, target: Tensor) -> None:
    ours = make_model(norm=norm)
    sizes = {"d_model": 32, "nhead": 4, "dim_feedforward": 64, "batch_first": True, "norm_first": norm == "pre"}
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**sizes),
        2,
        norm=ours.encoder.norm if norm == "pre" else None,
        enable_nested_tensor=False,
    ).eval()
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(**sizes), 3, norm=ours.decoder.norm if norm == "pre" else None
    ).eval()
    copy_layers(ours.encoder.layers, encoder.layers, decoder=False)
    copy_layers(ours.decoder.layers, decoder.layers, decoder=True)
    padded = source == 0
    memory = encoder(ours.encoder.embedding(source), src_key_padding_mask=padded)
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    states = decoder(
        ours.decoder.embedding(target),
        memory,
        tgt_mask=future,
        tgt_key_padding_mask=target == 0,
        memory_key_padding_mask=padded,
    )
    expected = states @ ours.output_projection.weight.T
    torch.testing.assert_close(ours(source, target), expected, atol=1e-5, rtol=0)


def test_the_input_is_the_scaled_token_vector_plus_its_position(source: Tensor) -> None:
    """See "Attention Is All You Need", sections 3.4 and 3.5."""
    model = make_model()
    with tracing(record=["encoder.embedding.sum"]) as trace:
        model.encode(source)
    vectors = model.encoder.embedding.tokens.weight[source]
    torch.testing.assert_close(trace.passes("encoder.embedding.sum")[0], vectors * 32**0.5 + sinusoidal_table(7, 32))


def test_an_untrained_model_prefers_no_token(model: Transformer, source: Tensor, target: Tensor) -> None:
    """Logits of unit variance cost half a nat more than ln V; those of wilder weights cost several."""
    log_probs = model(source, target).log_softmax(-1)
    assert -log_probs.mean().item() == pytest.approx(math.log(50) + 0.5, abs=0.4)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_feed_forward_follows_equation_2_with_the_chosen_activation(activation: str) -> None:
    layer = make_model(activation=activation).encoder.layers[0].feed_forward
    x = torch.randn(2, 5, 32)
    hidden = getattr(torch.nn.functional, activation)(layer.expand(x))
    torch.testing.assert_close(layer(x), layer.contract(hidden))
    assert (hidden < 0).any() == (activation == "gelu")


def test_in_training_a_share_of_what_each_sublayer_adds_is_dropped(source: Tensor, target: Tensor) -> None:
    model = make_model(norm="pre", dropout=0.5).train()
    with tracing(record=["*.stream"]) as trace:
        model(source, target)
    for stack, sublayers in (("encoder", 2 * 2), ("decoder", 3 * 3)):
        streams = [trace.passes(name)[0] for name in trace.names if name.startswith(stack)]
        assert len(streams) == sublayers
        for before, after in pairwise(streams):
            # Half of some 600 numbers, give or take three standard deviations.
            assert (after == before).float().mean().item() == pytest.approx(0.5, abs=0.07)


def test_in_training_a_share_of_the_hidden_units_is_dropped() -> None:
    layer = make_model(d_model=32, d_ff=32, dropout=0.5).encoder.layers[0].feed_forward.train()
    with torch.no_grad():
        for parameter, value in zip(layer.parameters(), (0.0, 1.0, 0.0, 0.0), strict=True):
            parameter.fill_(value)  # every hidden unit is 1 …
        layer.contract.weight.copy_(torch.eye(32))  # … and is what comes out
    assert layer(torch.zeros(9, 32)).unique().tolist() == [0.0, 2.0]
    assert layer.eval()(torch.zeros(9, 32)).unique().tolist() == [1.0]


def test_fused_and_written_out_attention_agree(model: Transformer, source: Tensor, target: Tensor) -> None:
    with tracing():
        written_out = model(source, target)
    torch.testing.assert_close(model(source, target), written_out, atol=1e-5, rtol=0)


def test_a_later_target_token_changes_nothing_earlier(model: Transformer, source: Tensor, target: Tensor) -> None:
    changed = target.clone()
    changed[1, 4] = 5 + (changed[1, 4] - 4) % 40
    before, after = model(source, target), model(source, changed)
    # Not to the bit: where a tensor happens to lie in memory decides how a kernel sums.
    torch.testing.assert_close(after[1, :4], before[1, :4], atol=1e-5, rtol=0)
    assert (after[1, 4:] - before[1, 4:]).abs().max() > 1e-3


def test_teacher_forcing_from_a_start_token_that_is_the_padding(source: Tensor, target: Tensor) -> None:
    model = make_model()
    begun = torch.cat([torch.zeros(3, 1, dtype=torch.long), target.clamp_min(4)], dim=1)
    with torch.inference_mode():
        memory, mask = model.encode(source)
        cache = DecoderCache(3)
        steps = [model.decode(begun[:, t : t + 1], memory, mask, cache=cache) for t in range(7)]
        torch.testing.assert_close(model(source, begun), torch.cat(steps, dim=1), atol=1e-5, rtol=0)


def test_a_sentence_alone_and_padded_in_a_batch_are_the_same(
    model: Transformer, source: Tensor, target: Tensor
) -> None:
    with tracing(record=["*.weights"]) as together:
        batch = model(source, target)
    for row, (s, t) in enumerate([(7, 5), (4, 6), (5, 3)]):
        with tracing(record=["*.weights"]) as alone:
            single = model(source[row : row + 1, :s], target[row : row + 1, :t])
        torch.testing.assert_close(batch[row, :t], single[0], atol=1e-5, rtol=0)
        for name in alone.names:
            maps = alone.passes(name)[0][0]
            queries, keys = maps.shape[1:]
            torch.testing.assert_close(together.passes(name)[0][row, :, :queries, :keys], maps, atol=1e-5, rtol=0)


def test_every_map_has_rows_that_sum_to_one_or_less_with_sinks_and_nothing_on_padding(
    model: Transformer, source: Tensor, target: Tensor
) -> None:
    with tracing(record=["*.weights"]) as trace:
        model(source, target)
    assert len(trace.names) == 2 + 3 + 3
    for name in trace.names:
        weights = trace.passes(name)[0]
        sums = weights.sum(-1)
        if model.config.attention_sinks:
            assert sums.min() > 0
            assert sums.max() < 1
        else:
            torch.testing.assert_close(sums, torch.ones_like(sums))
        keys = target if name.startswith("decoder") and "self_attention" in name else source
        assert weights.masked_select((keys == 0)[:, None, None, :]).eq(0).all()


def test_word_order_matters_only_through_positions(source: Tensor) -> None:
    """Without positions an encoder cannot tell the order: shuffled input gives shuffled output."""
    model = make_model()
    order = torch.randperm(7)
    ids = source[:1]
    shuffled, _ = model.encode(ids[:, order])
    straight, _ = model.encode(ids)
    assert (shuffled - straight[:, order]).abs().max() > 1e-2
    model.encoder.embedding.positions.table.zero_()
    shuffled, _ = model.encode(ids[:, order])
    straight, _ = model.encode(ids)
    torch.testing.assert_close(shuffled, straight[:, order], atol=1e-5, rtol=0)


@pytest.mark.parametrize(("tie", "matrices"), [("none", 3), ("target", 2), ("all", 1)])
def test_tied_embeddings_are_one_matrix(tie: str, matrices: int) -> None:
    parameters = dict(make_model(tie_embeddings=tie).named_parameters())
    assert sum(p.shape == (50, 32) for p in parameters.values()) == matrices


def test_hook_names_lead_to_their_attention_layers() -> None:
    model = make_model()
    assert isinstance(model.get_submodule("decoder.layers.2.cross_attention"), MultiHeadAttention)
    assert (
        model.get_submodule("decoder.layers.2.cross_attention.weights").name
        == "decoder.layers.2.cross_attention.weights"
    )
