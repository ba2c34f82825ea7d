"""The one attention function in every family of models that have one stack: weights, outputs and silenced heads."""

from collections.abc import Callable

import pytest
import torch
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GptOssConfig,
    GptOssForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    RobertaConfig,
    RobertaModel,
)

from model.foreign.attention import find_direct, place_hooks
from model.trace import ablate_heads, hook_name, tracing

WORDS, LAYERS, HEADS = 60, 2, 4
CLOSE = {"atol": 1e-5, "rtol": 1e-5}  # the same sums in another order, in single precision
SIZES = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
GROUPED = {**SIZES, "num_key_value_heads": 2, "head_dim": 8}
MAKERS: dict[str, tuple[str, Callable[[], PreTrainedModel]]] = {
    "BERT": ("encoder", lambda: BertModel(BertConfig(**SIZES), add_pooling_layer=False)),
    "RoBERTa": ("encoder", lambda: RobertaModel(RobertaConfig(**SIZES, pad_token_id=1), add_pooling_layer=False)),
    "DistilBERT": (
        "encoder",
        lambda: DistilBertModel(
            DistilBertConfig(vocab_size=WORDS, dim=32, hidden_dim=48, n_layers=LAYERS, n_heads=HEADS)
        ),
    ),
    "GPT-2": (
        "decoder",
        lambda: GPT2LMHeadModel(GPT2Config(vocab_size=WORDS, n_embd=32, n_layer=LAYERS, n_head=HEADS, n_positions=64)),
    ),
    "Llama": ("decoder", lambda: LlamaForCausalLM(LlamaConfig(**GROUPED))),
    "Qwen2": ("decoder", lambda: Qwen2ForCausalLM(Qwen2Config(**GROUPED))),
    "Qwen3": ("decoder", lambda: Qwen3ForCausalLM(Qwen3Config(**GROUPED))),
}
SMALL = {"hidden_size": 32, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 3}
MAKERS["Gemma 2"] = (
    "decoder",
    lambda: Gemma2ForCausalLM(
        Gemma2Config(**(GROUPED | SMALL), attn_logit_softcapping=0.5, query_pre_attn_scalar=8, pad_token_id=0)
    ),
)
MAKERS["gpt-oss"] = (
    "decoder",
    lambda: GptOssForCausalLM(
        GptOssConfig(
            **(GROUPED | SMALL),
            num_local_experts=4,
            num_experts_per_tok=2,
            rope_parameters={"rope_type": "default", "rope_theta": 1e4},
        )
    ),
)
IDS = torch.tensor([[5, 6, 7, 8, 9, 10], [11, 12, 13, 0, 0, 0]])
MASK = (IDS != 0).long()


def build(name: str) -> PreTrainedModel:
    torch.manual_seed(0)
    model = MAKERS[name][1]().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(6)  # a fresh model looks everywhere alike
    return model


@pytest.fixture(params=MAKERS)
def pair(request: pytest.FixtureRequest) -> tuple[PreTrainedModel, PreTrainedModel, str]:
    """The library's own, the one with our hook points, and the kind of its attention."""
    reference, model, kind = build(request.param), build(request.param), MAKERS[request.param][0]
    reference.set_attn_implementation("eager")
    placed = place_hooks(model, lambda: run(model))
    assert [(hooks.kind, hooks.layer) for hooks in placed] == [(kind, layer) for layer in range(LAYERS)]
    return reference, model, kind


@torch.inference_mode()
def run(model: PreTrainedModel) -> torch.Tensor:
    """What the model puts out for the tokens that are no padding, (N, D or V)."""
    out: torch.Tensor = model(input_ids=IDS, attention_mask=MASK)[0]
    return out[MASK.bool()]


@torch.inference_mode()
def test_weights_and_outputs_equal_those_of_the_library(pair: tuple[PreTrainedModel, PreTrainedModel, str]) -> None:
    reference, model, kind = pair
    expected = reference(input_ids=IDS, attention_mask=MASK, output_attentions=True)
    torch.testing.assert_close(run(model), expected[0][MASK.bool()], **CLOSE)
    with tracing() as trace:
        torch.testing.assert_close(run(model), expected[0][MASK.bool()], **CLOSE)
    for layer, weights in enumerate(expected.attentions):
        found = trace.passes(hook_name(kind, layer, "weights"))[0]
        for row, length in enumerate(MASK.sum(dim=1).tolist()):
            torch.testing.assert_close(found[row, :, :length], weights[row, :, :length], **CLOSE)
        assert found.shape == (2, HEADS, 6, 6)
        if kind == "decoder":
            assert not found.triu(diagonal=1).any()


def test_a_silenced_head_has_no_output_only_for_the_visitor_who_silenced_it(
    pair: tuple[PreTrainedModel, PreTrainedModel, str],
) -> None:
    _, model, kind = pair
    before = run(model)
    with tracing(edits={hook_name(kind, 0, "weights"): ablate_heads([1])}) as trace:
        silenced = run(model)
    heads = trace.passes(hook_name(kind, 0, "head_outputs"))[0]  # (B, H, T, K)
    assert not heads[:, 1].any()
    assert heads[:, 2].any()
    assert (silenced - before).abs().max() > 1e-3
    torch.testing.assert_close(run(model), before, **CLOSE)


def test_a_model_that_fails_during_a_recording_keeps_no_hooks() -> None:
    model = MAKERS["BERT"][1]().eval()
    ids = torch.arange(5)[None]
    placed = place_hooks(model, lambda: model(ids))

    def fail() -> None:
        model(ids)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - that of `fail`
        find_direct(placed, fail)
    assert not any(module._forward_pre_hooks for module in model.modules())


@torch.inference_mode()
def test_a_sink_takes_its_share_of_every_row_and_a_limit_bounds_every_score() -> None:
    models = {name: build(name) for name in ("gpt-oss", "Gemma 2")}
    sums, scores = {}, {}
    for name, model in models.items():
        hooks = place_hooks(model, lambda model=model: run(model))
        with tracing() as trace:
            model(input_ids=IDS[:1])
        sums[name] = trace.passes(hook_name("decoder", 1, "weights"))[0].sum(dim=-1)
        scores[name] = trace.passes(hook_name("decoder", 1, "scores"))[0]
        assert hooks[1].scoring.cap == (0.5 if name == "Gemma 2" else None)
        assert (hooks[1].scoring.sinks is None) == (name == "Gemma 2")
    assert (sums["gpt-oss"] < 1).all()
    torch.testing.assert_close(sums["Gemma 2"], torch.ones_like(sums["Gemma 2"]))
    assert scores["Gemma 2"].abs().max() <= 0.5 < scores["gpt-oss"].abs().max()
