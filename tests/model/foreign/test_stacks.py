"""The residual stream of foreign models: its recorded parts add up to the library's states, and edits are used."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.config.section import ConfigError
from model.foreign import blocks
from model.foreign.models import ForeignClassifier, ForeignLanguageModel, ForeignModel, ForeignReader, ForeignTranslator
from model.foreign.stacks import ForeignStacks
from model.network.residual_stream import Stack, read_out
from model.trace import Trace, tracing
from tools.foreign_families import Family, family_named
from tools.small_models import build

WRAPPERS: dict[str, type[ForeignModel]] = {
    "translation": ForeignTranslator,
    "continuation": ForeignLanguageModel,
    "reading": ForeignReader,
    "classification": ForeignClassifier,
}
TITLES = [
    "Marian",
    "mBART",
    "Blenderbot Small",
    "T5",
    "mT5, wide heads",
    "GPT-2",
    "GPT-NeoX",
    "OPT, narrow embeddings",
    "CTRL",
    "Llama",
    "Mixtral",
    "Gemma 3",
    "OLMo 2",
    "Granite",
    "Cohere",
    "BERT",
    "ESM",
    "ELECTRA, narrow embeddings",
    "ModernBERT",
    "Nomic",
    "DistilBERT classifier",
    "RoBERTa classifier",
    "EuroBERT classifier, mean",
]
IDS = torch.tensor([[40, 77, 300, 12, 151, 40]])
ROUNDING = {"rtol": 1e-4, "atol": 1e-4}


def library(title: str) -> PreTrainedModel:
    """The untouched model of the library. Small weights would hide a missing multiplier or norm."""
    family = family_named(title)
    multipliers = {"residual_multiplier": 0.3, "embedding_multiplier": 5.0, "logits_scaling": 4.0}
    settings = {**family.settings, **(multipliers if title == "Granite" else {})}
    made = build(type(family)(title=title, task=family.task, model_type=family.model_type, settings=settings), 320)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() == 1:  # a norm with the scale 1 and the shift 0 would prove little
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return made


@cache
def ours(title: str) -> ForeignModel:
    return WRAPPERS[family_named(title).task](library(title))


@torch.no_grad()
def run(model: PreTrainedModel, **settings: Any) -> Any:
    inputs = {"decoder_input_ids": IDS} if model.config.is_encoder_decoder else {}
    return model(input_ids=IDS, **inputs, **settings)


def recorded(model: ForeignModel, edits: dict[str, Callable[[Tensor], Tensor]] | None = None) -> Trace:
    with tracing(edits=edits) as trace:
        run(model.model)
    return trace


def states_of(output: Any, name: str) -> tuple[Tensor, ...]:
    """The hidden states that the library returns."""
    named = getattr(output, f"{name}_hidden_states", None)
    return output.hidden_states if named is None else named


@torch.no_grad()
def summed(stack: Stack, trace: Trace) -> list[Tensor]:
    """The stream before the first layer and after each layer, from the embedding and what the blocks add."""
    stream = stack.enter(trace.passes(stack.embedding)[0])
    found, layer = [stream], 0
    for block in stack.blocks:
        if block.layer != layer:
            found.append(stream)
            layer = block.layer
        stream = stream + trace.passes(block.added)[0]
        stream = stream if block.norm_after is None else block.norm_after(stream)
    return [*found, stream]


@pytest.mark.parametrize("title", TITLES)
def test_recorded_parts_add_up_to_the_states_and_logits_of_the_library(title: str) -> None:
    untouched, model = library(title), ours(title)
    untouched.set_attn_implementation("eager")
    expected = run(untouched, output_hidden_states=True)
    trace = recorded(model)
    for name in ("encoder", "decoder"):
        if not model.config.num_layers(name):
            continue
        stack, states = model.stack(name), states_of(expected, name)
        parts = summed(stack, trace)
        assert len(parts) == len(stack.streams) == model.config.num_layers(name) + 1
        last = parts[-1] if stack.final_norm is None else stack.final_norm(parts[-1])
        for stream, place, found in zip(parts[:-1], stack.streams[:-1], states, strict=False):
            torch.testing.assert_close(stream, found, **ROUNDING)
            torch.testing.assert_close(trace.passes(place)[0], found, **ROUNDING)
        # The library norms its last state, except in OPT with narrow embeddings and in encoders without a final norm.
        torch.testing.assert_close(trace.passes(f"{name}.states")[0], last, **ROUNDING)
        if stack.readout:
            pooled = {"first": last[:, 0], "mean": last.mean(dim=1)}.get(stack.pooling, last)
            logits = read_out(stack.readout, pooled)
            logits = logits.mean(dim=1) if stack.pooling == "late" else logits
            torch.testing.assert_close(logits, expected.logits, **ROUNDING)
            assert expected.logits.abs().max() > 0.1


def rolled(tensor: Tensor) -> Tensor:
    """Every number moves to the next dimension."""
    return tensor.roll(1, dims=-1)


def roll_output(_module: nn.Module, _inputs: object, output: Any) -> Any:
    return (rolled(output[0]), *output[1:]) if isinstance(output, tuple) else rolled(output)


def roll_input(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (rolled(inputs[0]), *inputs[1:])


# Title, hook point, module of the library, whether its output or its input is changed
EDITS = [
    (
        "Marian",
        "decoder.layers.0.cross_attention_residual.normed",
        "model.decoder.layers.0.encoder_attn_layer_norm",
        True,
    ),
    ("mBART", "encoder.layers.1.feed_forward_residual.normed", "model.encoder.layers.1.final_layer_norm", True),
    ("mBART", "decoder.layers.0.cross_attention_residual.added", "model.decoder.layers.0.encoder_attn.out_proj", True),
    ("T5", "encoder.layers.0.feed_forward.units", "encoder.block.0.layer.1.DenseReluDense.wo", False),
    ("T5", "decoder.layers.1.self_attention_residual.added", "decoder.block.1.layer.0.SelfAttention.o", True),
    ("GPT-2", "decoder.layers.0.feed_forward.units", "transformer.h.0.mlp.c_proj", False),
    ("GPT-2", "decoder.embedding.token_vectors", "transformer.wte", True),
    ("GPT-2", "logits", "lm_head", True),
    ("Granite", "decoder.embedding.token_vectors", "model.embed_tokens", True),
    ("GPT-NeoX", "decoder.layers.1.feed_forward_residual.added", "gpt_neox.layers.1.mlp", True),
    ("OPT, narrow embeddings", "decoder.layers.0.feed_forward.units", "model.decoder.layers.0.fc2", False),
    ("Granite", "decoder.layers.0.self_attention_residual.added", "model.layers.0.self_attn.o_proj", True),
    ("Gemma 3", "decoder.layers.0.self_attention_residual.added", "model.layers.0.post_attention_layernorm", True),
    ("Cohere", "decoder.states", "model.norm", True),
    ("BERT", "encoder.embedding.sum", "bert.embeddings.LayerNorm", False),
    (
        "BERT",
        "encoder.layers.0.self_attention_residual.stream",
        "bert.encoder.layer.0.attention.output.LayerNorm",
        True,
    ),
    ("ModernBERT", "encoder.layers.1.feed_forward_residual.normed", "model.layers.1.mlp_norm", True),
    ("RoBERTa classifier", "encoder.layers.1.feed_forward_residual.stream", "roberta.encoder.layer.1", True),
]


@pytest.mark.parametrize(("title", "place", "path", "is_output"), EDITS)
def test_an_edit_does_what_a_hook_of_torch_does(title: str, place: str, path: str, is_output: bool) -> None:
    untouched, model = library(title), ours(title)
    plain = run(untouched).logits
    module = untouched.get_submodule(path)
    if is_output:
        module.register_forward_hook(roll_output)
    else:
        module.register_forward_pre_hook(roll_input)
    expected = run(untouched).logits
    with tracing(record=("logits",), edits={place: rolled}) as trace:
        found = run(model.model).logits
    torch.testing.assert_close(found, expected, **ROUNDING)
    torch.testing.assert_close(trace.passes("logits")[0], expected, **ROUNDING)
    assert (expected - plain).abs().max() > 1e-2
    torch.testing.assert_close(run(model.model).logits, plain, **ROUNDING)


@pytest.mark.parametrize("title", ["Llama", "Granite", "OPT, narrow embeddings"])
def test_an_edit_of_the_stream_inside_a_layer_changes_what_every_later_block_reads(title: str) -> None:
    model = ours(title)
    stack = model.stack("decoder")
    attention, network = stack.blocks[:2]
    replaced = torch.randn(1, IDS.size(1), model.config.d_model)
    trace = recorded(model, {network.reads: lambda _stream: replaced})
    torch.testing.assert_close(trace.passes(network.reads)[0], replaced)
    assert network.norm_before is not None
    assert network.feed_forward is not None
    added = network.feed_forward(network.norm_before(replaced)) * network.multiplier
    torch.testing.assert_close(trace.passes(network.added)[0], added, **ROUNDING)
    torch.testing.assert_close(trace.passes(stack.streams[1])[0], replaced + added, **ROUNDING)
    assert attention.reads == stack.streams[0]


def test_two_visitors_edit_the_same_model_at_the_same_time() -> None:
    model = ours("Granite")
    place = model.stack("decoder").blocks[1].reads

    def logits(factor: float) -> Tensor:
        with tracing(record=("logits",), edits={place: lambda stream: stream * factor}) as trace:
            run(model.model)
        return trace.passes("logits")[0]

    factors = [0.5, 1.0, 2.0, 3.0] * 8
    alone = {factor: logits(factor) for factor in factors}
    with ThreadPoolExecutor(4) as pool:
        for factor, found in zip(factors, pool.map(logits, factors), strict=True):
            torch.testing.assert_close(found, alone[factor])
    torch.testing.assert_close(alone[1.0], run(model.model).logits)


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
def test_a_family_with_unknown_blocks_still_shows_its_maps() -> None:
    model = ours("MobileBERT")
    with pytest.raises(ConfigError, match="family mobilebert cannot be followed: Headlight does not know the parts"):
        model.stack("encoder")
    assert recorded(model).passes("encoder.layers.1.self_attention.weights")[0].shape == (1, 4, 6, 6)


@pytest.mark.parametrize(
    ("title", "part", "wrong", "what"),
    [
        ("Granite", "multiplier_of", lambda _layer: 1.0, "stream after decoder.layers.0.feed_forward"),
        ("Granite", "token_multiplier", lambda *_: 1.0, "the embedding"),
        ("Llama", "final_norm_of", lambda *_: None, "the way from the last state to the logits"),
        ("GPT-2", "contraction", lambda network: network[0].c_fc, "units of decoder.layers.0"),
    ],
)
def test_a_wrong_description_is_refused(
    monkeypatch: pytest.MonkeyPatch, title: str, part: str, wrong: Callable[..., object], what: str
) -> None:
    monkeypatch.setattr(blocks, part, wrong)
    model = WRAPPERS[family_named(title).task](library(title))
    with pytest.raises(ConfigError, match=f"cannot be followed: .*({what})"):
        model.stack("decoder")


@pytest.mark.parametrize("title", ["Marian", "Llama", "BERT"])
def test_a_model_in_half_precision_is_described_with_the_rounding_that_it_has(title: str) -> None:
    model = WRAPPERS[family_named(title).task](library(title).to(torch.bfloat16))
    for name in {"encoder", "decoder"} & {kind.replace("cross", "decoder") for kind in model.config.kinds}:
        stack = model.stack(name)
        assert len(stack.streams) == 3


@pytest.mark.parametrize("title", ["BLOOM", "GPT-J", "Falcon", "OpenAI GPT", "DeBERTa", "MPNet"])
def test_families_with_their_own_attention_have_a_stream_too(title: str) -> None:
    untouched, model = library(title), library(title)
    stacks = ForeignStacks(model, ["decoder" if family_named(title).task == "continuation" else "encoder"])
    (name,) = stacks.modules
    stack = stacks.stack(name)
    with tracing() as trace:
        run(model)
    parts, expected = summed(stack, trace), run(untouched, output_hidden_states=True)
    for stream, found in zip(parts[:-1], expected.hidden_states, strict=False):
        torch.testing.assert_close(stream, found, **ROUNDING)
    torch.testing.assert_close(stack.logits(parts[-1]), expected.logits, **ROUNDING)


def test_token_vectors_that_depend_on_masked_tokens_are_not_split_from_the_sum() -> None:
    settings = {"token_dropout": True, "position_embedding_type": "rotary", "mask_token_id": 4}  # as in ESM-2
    model = ForeignReader(build(Family(title="ESM-2", task="reading", model_type="esm", settings=settings), 320))
    stack, masked = model.stack("encoder"), IDS.clone()
    masked[0, 2] = 4
    with torch.no_grad(), tracing() as trace:
        expected = model.model(input_ids=masked, attention_mask=torch.ones_like(masked)).logits
    torch.testing.assert_close(trace.passes(stack.token_vectors)[0], trace.passes(stack.embedding)[0])
    torch.testing.assert_close(stack.logits(summed(stack, trace)[-1]), expected, **ROUNDING)


def test_a_head_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigError, match="the way from its last state to its logits is not known"):
        ForeignStacks(library("GPT-2 classifier"), ["decoder"]).stack("decoder")


def test_the_other_stack_of_a_model_is_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigError, match="family gpt2 cannot be followed: the model has no encoder"):
        ours("GPT-2").stack("encoder")
