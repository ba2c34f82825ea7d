"""Each variant of our attention computes what the module of the same kind in `transformers` computes."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import LlamaConfig, T5Config
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward as attend_like_gemma
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward as attend_like_gpt_oss
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding
from transformers.models.t5.modeling_t5 import T5Attention

from model.config.model import ModelConfig
from model.files import load_weights, save_weights
from model.network.attention import MultiHeadAttention
from model.network.cache import KeyValue
from model.network.distance_bias import BucketedBias, LinearBias, alibi_slopes
from model.network.masks import causal_mask
from model.network.positional import RotaryPositions
from model.network.transformer import Transformer
from model.trace import name_hook_points, tracing
from tests.conftest import ATTENTION_VARIANTS, make_model

D, HEADS, GROUPS, LENGTH = 32, 4, 2, 9
WIDTH = D // HEADS


def layer(**settings: Any) -> MultiHeadAttention:
    torch.manual_seed(0)
    made = MultiHeadAttention(d_model=D, num_heads=HEADS, dropout=0.0, **settings).eval()
    if made.sinks is not None:
        nn.init.normal_(made.sinks)
    name_hook_points(made)
    return made


VARIANTS: dict[str, dict[str, Any]] = {
    "grouped, rotary": {"num_kv_heads": GROUPS, "positions": RotaryPositions(max_length=LENGTH, width=WIDTH)},
    "ALiBi": {"positions": LinearBias(num_heads=HEADS)},
    "relative": {"positions": BucketedBias(num_heads=HEADS, d_model=1, both_sides=False)},
    "relative, additive": {
        "positions": BucketedBias(num_heads=HEADS, d_model=1, both_sides=False),
        "kind": "additive",
    },
    "grouped, with a limit and sinks": {"num_kv_heads": GROUPS, "score_cap": 0.3, "sinks": True},
}


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> MultiHeadAttention:
    return layer(**VARIANTS[request.param])


def halves(weight: Tensor) -> Tensor:
    """Rows for a library that rotates dimension i with i + K / 2, where ours rotates 2i with 2i + 1."""
    return weight.view(-1, WIDTH // 2, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


@torch.no_grad()
def test_grouped_rotary_attention_is_that_of_llama() -> None:
    ours = layer(**VARIANTS["grouped, rotary"])
    config = LlamaConfig(
        hidden_size=D,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        attention_bias=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        attn_implementation="eager",
    )
    theirs = LlamaAttention(config, layer_idx=0).eval()
    for name, part in (("q", ours.query_projection), ("k", ours.key_projection)):
        getattr(theirs, f"{name}_proj").load_state_dict({"weight": halves(part.weight), "bias": halves(part.bias)})
    theirs.v_proj.load_state_dict(ours.value_projection.state_dict())
    theirs.o_proj.load_state_dict(ours.output_projection.state_dict())
    x = torch.randn(2, LENGTH, D)
    waves = LlamaRotaryEmbedding(config)(x, torch.arange(LENGTH)[None])
    mask = torch.zeros(1, 1, LENGTH, LENGTH).masked_fill(~causal_mask(LENGTH), float("-inf"))
    expected, maps = theirs(x, position_embeddings=waves, attention_mask=mask)
    with tracing() as trace:
        written_out = ours(x, mask=causal_mask(LENGTH))
    torch.testing.assert_close(written_out, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(trace.passes("weights")[0], maps, atol=1e-6, rtol=0)


@pytest.mark.parametrize("decoder", [False, True])
@torch.no_grad()
def test_the_relative_bias_is_that_of_t5(decoder: bool) -> None:
    ours = BucketedBias(num_heads=HEADS, d_model=D, both_sides=not decoder)
    theirs = T5Attention(T5Config(num_heads=HEADS, is_decoder=decoder), has_relative_attention_bias=True, layer_idx=0)
    theirs.relative_attention_bias.weight.copy_(ours.table)
    assert torch.equal(ours.bias(300, 300), theirs.compute_bias(300, 300))
    assert torch.equal(ours.bias(1, 200, offset=199), ours.bias(200, 200)[:, :, -1:])  # after a cache


@pytest.mark.parametrize("heads", [4, 6, 12])
def test_the_slopes_of_alibi_are_those_of_bloom(heads: int) -> None:
    built = build_alibi_tensor(torch.ones(1, LENGTH), heads, torch.float32).view(heads, LENGTH)  # slope · key
    torch.testing.assert_close(alibi_slopes(heads), built[:, 1])
    bias = LinearBias(num_heads=heads).bias(LENGTH, LENGTH)[0]  # (H, T, S)
    masked = built[:, None].expand(-1, LENGTH, -1).masked_fill(~causal_mask(LENGTH)[0], -torch.inf)
    # BLOOM counts from the first token and not from the query: the same for every key, so the softmax is the same.
    torch.testing.assert_close(bias.masked_fill(~causal_mask(LENGTH)[0], -torch.inf).softmax(-1), masked.softmax(-1))
    torch.testing.assert_close(bias, bias.transpose(1, 2))  # in an encoder both sides count alike


def unequal(module: MultiHeadAttention, x: Tensor) -> tuple[Tensor, ...]:
    """Queries (B, H, T, K), and keys and values (B, G, S, K) as the library expects them."""
    parts = (module.query_projection, module.key_projection, module.value_projection)
    return tuple(module.split_heads(part(x)) for part in parts)


@torch.no_grad()
def test_capped_scores_are_those_of_gemma() -> None:
    ours, x = layer(num_kv_heads=GROUPS, score_cap=0.3), torch.randn(2, LENGTH, D)
    queries, keys, values = unequal(ours, x)
    mask = torch.zeros(1, 1, LENGTH, LENGTH).masked_fill(~causal_mask(LENGTH), float("-inf"))
    around = SimpleNamespace(head_dim=WIDTH, num_key_value_groups=HEADS // GROUPS, training=False)
    heads, maps = attend_like_gemma(around, queries, keys, values, mask, softcap=0.3)  # type: ignore[arg-type]
    with tracing() as trace:
        output = ours(x, mask=causal_mask(LENGTH))
    assert trace.passes("scores")[0].abs().max() < 0.3
    torch.testing.assert_close(trace.passes("weights")[0], maps, atol=1e-6, rtol=0)
    torch.testing.assert_close(output, ours.output_projection(heads.flatten(2)), atol=1e-6, rtol=0)


@torch.no_grad()
def test_sinks_are_those_of_gpt_oss() -> None:
    ours, x = layer(num_kv_heads=GROUPS, sinks=True), torch.randn(2, LENGTH, D)
    queries, keys, values = unequal(ours, x)
    mask = torch.zeros(1, 1, LENGTH, LENGTH).masked_fill(~causal_mask(LENGTH), float("-inf"))
    around = SimpleNamespace(num_key_value_groups=HEADS // GROUPS, training=False, sinks=ours.sinks)
    heads, maps = attend_like_gpt_oss(around, queries, keys, values, mask, scaling=WIDTH**-0.5)  # type: ignore[arg-type]
    with tracing() as trace:
        output = ours(x, mask=causal_mask(LENGTH))
    torch.testing.assert_close(trace.passes("weights")[0], maps, atol=1e-6, rtol=0)
    torch.testing.assert_close(output, ours.output_projection(heads.flatten(2)), atol=1e-6, rtol=0)
    assert (trace.passes("weights")[0].sum(-1) < 1).all()


def test_a_query_without_any_key_gives_its_sink_everything() -> None:
    ours, x = layer(sinks=True), torch.randn(2, 3, D)
    with tracing() as trace:
        output = ours(x, mask=torch.zeros(1, 1, 3, 3, dtype=torch.bool))
    assert trace.passes("weights")[0].eq(0).all()
    torch.testing.assert_close(output, ours.output_projection.bias.expand_as(output))


def outputs(module: MultiHeadAttention, x: Tensor, mask: Tensor) -> Iterator[Tensor]:
    """The output of every path with gradients: written out, fused, and the path of a training step on a CPU."""
    with tracing():
        yield module(x, mask=mask)
    yield module(x, mask=mask)
    module.train()
    module.dropout.rate = 1e-9  # it drops nothing
    yield module(x, mask=mask)


def test_every_path_computes_the_same_with_the_same_gradients(variant: MultiHeadAttention) -> None:
    x, direction = torch.randn(2, LENGTH, D), torch.randn(2, LENGTH, D)
    expected: list[Tensor] = []
    for output in outputs(variant, x, causal_mask(LENGTH)):
        variant.zero_grad()
        (output * direction).sum().backward()
        found = [output.detach(), *(parameter.grad for parameter in variant.parameters())]
        assert all(one is not None and one.abs().sum() > 0 for one in found)
        expected = expected or [one.clone() for one in found]
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_token_by_token_is_the_whole_text_whichever_steps_are_traced(variant: MultiHeadAttention) -> None:
    x, cache = torch.randn(2, LENGTH, D), KeyValue()
    steps = [variant(x[:, :4], mask=causal_mask(4), cache=cache)]
    for t in range(4, LENGTH):
        with tracing() if t in (5, 7) else nullcontext():
            steps.append(variant(x[:, t : t + 1], cache=cache))
    torch.testing.assert_close(torch.cat(steps, dim=1), variant(x, mask=causal_mask(LENGTH)), atol=1e-5, rtol=0)


def test_heads_that_share_keys_keep_them_once() -> None:
    ours, cache = layer(num_kv_heads=GROUPS), KeyValue()
    ours(torch.randn(1, 3, D), cache=cache)
    keys, values = cache.append(*(torch.zeros(1, GROUPS, 1, WIDTH),) * 2)
    assert keys.shape == values.shape == (1, GROUPS, 4, WIDTH)
    with tracing() as trace:
        ours(torch.randn(1, 3, D))
    shown = trace.passes("keys")[0][0]
    assert torch.equal(shown[0], shown[1])
    assert not torch.equal(shown[1], shown[2])


def test_numbers_of_heads_that_do_not_divide_are_named() -> None:
    with pytest.raises(ValueError, match=r"num_heads \(4\) must be divisible by num_kv_heads \(3\)"):
        layer(num_kv_heads=3)


@pytest.mark.parametrize("changes", ATTENTION_VARIANTS, ids=str)
def test_a_trained_model_of_each_variant_comes_back_from_its_files(changes: dict[str, object], tmp_path: Path) -> None:
    model = make_model(**changes, dropout=0.0).train()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    source, target = torch.randint(4, 50, (4, 7)), torch.randint(4, 50, (4, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(source, target[:, :-1]).flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[1] < losses[0]
    unchanged = {name for name, parameter in model.named_parameters() if torch.equal(parameter, before[name])}
    assert all(name.endswith("key_projection.bias") for name in unchanged)  # may raise all scores of a row alike
    save_weights(tmp_path / "model.safetensors", dict(model.named_parameters()))
    sizes = ModelConfig.from_dict(json.loads(json.dumps(model.config.to_dict())))
    other = Transformer(sizes).eval()
    load_weights(tmp_path / "model.safetensors", other)
    assert sizes == model.config
    with torch.inference_mode():  # the file has half precision
        torch.testing.assert_close(other(source, target), model.eval()(source, target), atol=2e-2, rtol=0)


def test_files_without_the_new_settings_are_those_of_plain_attention() -> None:
    new = {"num_kv_heads", "score_cap", "attention_sinks"}
    sizes = make_model().config
    assert ModelConfig.from_dict({name: v for name, v in sizes.to_dict().items() if name not in new}) == sizes
    assert not any("sinks" in name or "table" in name for name, _ in make_model().named_parameters())
