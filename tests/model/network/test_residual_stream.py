"""The description of a model's blocks is exact: with it, recorded vectors add up to the stream and to the logits."""

from dataclasses import replace

import pytest
import torch

from model.config.model import ClassifierConfig, ModelConfig
from model.network.classifier import Classifier
from model.network.norms import SampleNorm
from model.network.residual_stream import Norm, Stack, norm_of
from model.network.transformer import Transformer
from model.trace import Trace, tracing

SIZES = {"d_model": 16, "num_heads": 4, "d_ff": 24, "dropout": 0.0, "max_length": 12}
TRANSLATOR = ModelConfig(
    source_vocab_size=20,
    target_vocab_size=20,
    num_encoder_layers=2,
    num_decoder_layers=2,
    tie_embeddings="none",
    **SIZES,
)


def randomize(model: torch.nn.Module) -> None:
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)


def recorded(trace: Trace, name: str) -> torch.Tensor:
    return trace.passes(name)[0]


@torch.no_grad()
def require_sum(stack: Stack, trace: Trace) -> None:
    """The stream, from the embedding to the last layer, is the sum that the blocks describe."""
    stream = recorded(trace, stack.embedding)
    ends = iter(stack.streams[1:])
    for block in stack.blocks:
        torch.testing.assert_close(recorded(trace, block.reads), stream)
        total = stream + recorded(trace, block.added)
        stream = total if block.norm_after is None else block.norm_after(total)
        if block.feed_forward is not None:
            read = recorded(trace, block.reads)
            normed = read if block.norm_before is None else block.norm_before(read)
            torch.testing.assert_close(block.feed_forward(normed), recorded(trace, block.added))
            assert block.contract is not None
            torch.testing.assert_close(block.contract(recorded(trace, block.units)), recorded(trace, block.added))
            torch.testing.assert_close(recorded(trace, next(ends)), stream)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_blocks_of_a_translator_add_up_to_its_logits(norm: str) -> None:
    model = Transformer(replace(TRANSLATOR, norm=norm)).eval()
    randomize(model)
    ids = torch.randint(1, 20, (1, 7))
    with torch.no_grad(), tracing() as trace:
        logits = model(ids, ids[:, :5])
    for name in ("encoder", "decoder"):
        require_sum(model.stack(name), trace)
    decoder = model.stack("decoder")
    torch.testing.assert_close(decoder.logits(recorded(trace, decoder.streams[-1])), logits)


def test_the_blocks_of_a_classifier_add_up_to_its_pooled_states() -> None:
    config = ClassifierConfig(vocab_size=20, num_encoder_layers=2, labels=("a", "b", "c"), norm="pre", **SIZES)
    model = Classifier(config).eval()
    randomize(model)
    with torch.no_grad(), tracing() as trace:
        model(torch.randint(1, 20, (1, 7)))
    stack = model.stack()
    require_sum(stack, trace)
    assert stack.final_norm is not None
    torch.testing.assert_close(stack.final_norm(recorded(trace, stack.streams[-1])), recorded(trace, "encoder.states"))


@pytest.mark.parametrize("centred", [True, False])
def test_a_described_norm_is_that_of_the_library(centred: bool) -> None:
    x, scale = torch.randn(3, 8), torch.randn(8)
    norm = Norm(scale=scale, shift=torch.zeros(8), epsilon=1e-5, centred=centred)
    library = torch.nn.functional.layer_norm if centred else torch.nn.functional.rms_norm
    torch.testing.assert_close(norm(x), library(x, (8,), scale, eps=1e-5))


@torch.no_grad()
@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_a_norm_of_a_sample_adds_its_epsilon_to_the_deviation(size: float) -> None:
    """The last states of a model may be nearly equal. Then epsilon decides."""
    norm = SampleNorm(16, eps=1e-6)
    randomize(norm)
    x = size * torch.randn(2, 3, 16)
    expected = norm.weight * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + norm.bias
    torch.testing.assert_close(norm(x), expected)
    described = norm_of(norm)
    assert described is not None
    torch.testing.assert_close(described(x), expected)
