"""The residual stream followed: lenses, contributions and influence, against the mathematics and the model itself."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from model.analysis import zeroing
from model.analysis.influence import Influence, influence, nearness_shares
from model.analysis.lens import decoder_lens
from model.analysis.streams import linearize
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.config.section import ConfigError
from model.inference.run import Result
from model.inference.translate import translate, translate_lines
from model.network.residual_stream import Activation, Matrix, Norm
from model.network.transformer import Transformer
from tests.conftest import BUNDLED
from tests.model.analysis.follow import contributions_to, follow, lens_of, zeroing_of
from tests.model.analysis.reference import reference

TEXT = "Where is the next train station, my friend?"


def random_model(norm: str) -> Checkpoint:
    """Everyday's sizes and tokenizer with random weights, no norm or bias as it was initialized."""
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    sizes = replace(checkpoint.model.config, norm=norm)
    torch.manual_seed(3)
    model = Transformer(sizes, pad_id=0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
            elif "projection" in name:
                parameter.mul_(2)
    return replace(checkpoint, model=model.eval(), config=replace(checkpoint.config, model=sizes))


@pytest.fixture(scope="module", params=["trained", "post", "pre"])
def any_norm(request: pytest.FixtureRequest) -> Checkpoint:
    return load_checkpoint(BUNDLED / "everyday-en-de") if request.param == "trained" else random_model(request.param)


def influence_of(checkpoint: Checkpoint, text: str = TEXT) -> tuple[Result, Influence]:
    followed = follow(checkpoint, text)
    return followed.result, influence(followed)


def all_logits(checkpoint: Checkpoint, translation: Result) -> torch.Tensor:
    """(T, V) in one pass, without a cache."""
    source, read = (torch.tensor([[t.id for t in tokens]]) for tokens in (translation.source, translation.read))
    with torch.inference_mode():
        logits: torch.Tensor = checkpoint.model(source, read)[0]
    return logits


def test_every_number_equals_a_pass_written_by_hand(any_norm: Checkpoint) -> None:
    translation, lens = lens_of(any_norm, TEXT)
    source, read, written = (
        [token.id for token in tokens] for tokens in (translation.source, translation.read, translation.written)
    )
    expected = reference(any_norm.model, source, read)
    for row, logits in enumerate(expected.lens):
        chances = logits.softmax(-1)
        np.testing.assert_allclose(lens.probabilities[row], chances.max(-1).values, atol=1e-4)
        np.testing.assert_allclose(lens.own[row], chances[torch.arange(len(written)), written], atol=1e-4)
    _, shares_found = influence_of(any_norm)
    np.testing.assert_allclose(shares_found.source, expected.source, atol=1e-5)
    np.testing.assert_allclose(shares_found.target, expected.target, atol=1e-5)
    vocabulary = any_norm.model.output_projection.weight.detach().double()
    for place in (0, 3, len(written) - 1):
        rival = next(one.id for one in translation.written[place].candidates if one.id != written[place])
        found, direction = (
            contributions_to(any_norm, TEXT, place, rival),
            vocabulary[written[place]] - vocabulary[rival],
        )
        by_name = {("word",): found.word, ("position",): found.position}
        by_name |= {("feed-forward", i): value for i, value in enumerate(found.feed_forward)}
        for kind, grid in found.heads.items():
            by_name |= {(kind, i, h): grid[i, h] for i in range(len(grid)) for h in range(grid.shape[1])}
        assert by_name.keys() == expected.parts.keys()
        for name, value in by_name.items():
            assert value == pytest.approx(float(expected.parts[name][place] @ direction), abs=1e-3), name
        assert found.biases == pytest.approx(float(expected.biases[place] @ direction), abs=1e-3)


@pytest.mark.parametrize("place", [0, 2, 5])
def test_the_contributions_add_up_to_the_difference_of_the_logits(any_norm: Checkpoint, place: int) -> None:
    translation = translate(any_norm, TEXT)
    logits = all_logits(any_norm, translation)[place]
    word = translation.written[place]
    for rival in [candidate.id for candidate in word.candidates if candidate.id != word.id][:3]:
        found = contributions_to(any_norm, TEXT, place, rival)
        expected = float(logits[word.id] - logits[rival])
        # Single precision, through every layer: about a thousand sums of numbers of the logits' size.
        assert found.difference == pytest.approx(expected, abs=1e-3)
        assert found.total == pytest.approx(found.difference, abs=1e-3)


def test_the_last_feed_forwards_contribution_is_lost_without_it() -> None:
    # In a pre-norm model, only the last norm follows the last feed-forward. It is linear if its deviation is fixed.
    checkpoint = random_model("pre")
    model = checkpoint.model
    translation = translate(checkpoint, TEXT)
    place, word = 1, translation.written[1]
    rival = next(candidate.id for candidate in word.candidates if candidate.id != word.id)
    found = contributions_to(checkpoint, TEXT, place, rival)
    source, read = (torch.tensor([[t.id for t in tokens]]) for tokens in (translation.source, translation.read))
    streams: list[torch.Tensor] = []
    model.decoder.norm.register_forward_pre_hook(lambda _, inputs: streams.append(inputs[0][0, place]))
    with torch.inference_mode():
        model(source, read)
        model.decoder.layers[-1].feed_forward.contract.weight.zero_()
        model.decoder.layers[-1].feed_forward.contract.bias.zero_()
        model(source, read)
        added = streams[0] - streams[1]
        held = (added - added.mean()) / streams[0].std(unbiased=False) * model.decoder.norm.weight
        rows = model.output_projection.weight
        expected = float(held @ (rows[word.id] - rows[rival]))
    assert found.feed_forward[-1] == pytest.approx(expected, abs=1e-3)


STEPS = {
    "LayerNorm": Norm(scale=torch.randn(7).double(), shift=torch.randn(7).double(), epsilon=1e-5),
    "RMSNorm": Norm(scale=torch.randn(7).double(), shift=torch.zeros(7).double(), epsilon=1e-5, centred=False),
    "matrix": Matrix(weight=torch.randn(4, 7).double(), bias=torch.randn(4).double()),
    "matrix without bias": Matrix(weight=torch.randn(4, 7).double()),
    "GELU": Activation(function=torch.nn.functional.gelu),
    "tanh": Activation(function=torch.tanh),
    "cap": Activation(function=lambda x: 3 * torch.tanh(x / 3)),
}


@pytest.mark.parametrize("shape", [(7,), (3, 7)])
@pytest.mark.parametrize("name", STEPS)
def test_the_parts_after_a_step_add_up_to_the_value_of_the_step(name: str, shape: Sequence[int]) -> None:
    step, parts = STEPS[name], torch.randn(5, *shape).double()
    parts[1, ..., 2] = -parts[[0, 2, 3, 4], ..., 2].sum(dim=0)  # one number is 0 in the whole
    whole = parts.sum(dim=0)
    linear, expected = linearize(step, whole), step(whole)
    found = linear.parts(parts)
    torch.testing.assert_close(linear.whole(whole), expected)
    torch.testing.assert_close(found.sum(dim=0), linear.parts(whole))
    # The transposed map gives each part the same product with a direction.
    direction = torch.randn_like(expected)
    pulled = (linear.pulled_back(direction) * parts).flatten(1).sum(dim=1)
    torch.testing.assert_close(pulled, (direction * found).flatten(1).sum(dim=1))
    assert (direction * expected).sum() == pytest.approx(float(pulled.sum()) + linear.constant_along(direction))


def test_the_lens_goes_from_the_embedding_to_the_written_tokens(any_norm: Checkpoint) -> None:
    translation, lens = lens_of(any_norm, TEXT)
    chances = all_logits(any_norm, translation).softmax(dim=-1)
    assert len(lens.tokens) == any_norm.model.config.num_decoder_layers + 1
    np.testing.assert_allclose(lens.probabilities[-1], chances.max(dim=-1).values, atol=1e-4)
    np.testing.assert_allclose(lens.own[-1], [t.probability for t in translation.written], atol=1e-4)
    model, read = any_norm.model, torch.tensor([[t.id for t in translation.read]])
    with torch.inference_mode():
        first = model.project(model.decoder.norm(model.decoder.embedding(read)))[0].softmax(dim=-1)
    np.testing.assert_allclose(lens.probabilities[0], first.max(dim=-1).values, atol=1e-4)
    best = any_norm.tokenizers.target.tokens(first.argmax(dim=-1).tolist())
    assert lens.tokens[0] == best


def test_a_stopped_encoder_equals_one_with_fewer_layers(any_norm: Checkpoint) -> None:
    found = decoder_lens(any_norm, TEXT)
    assert [early.layers for early in found] == [0, 1, 2, 3]
    layers = any_norm.model.encoder.layers
    for early in found:
        any_norm.model.encoder.layers = layers[: early.layers]
        try:
            assert translate_lines(any_norm.model, any_norm.tokenizers, [TEXT]) == [early.text]
        finally:
            any_norm.model.encoder.layers = layers


def test_the_influence_on_a_word_comes_only_from_earlier_tokens(any_norm: Checkpoint) -> None:
    translation, found = influence_of(any_norm)
    assert found.residual < 1e-4  # the vectors of every layer add up to its output
    assert found.source.shape == (len(translation.written), len(translation.source))
    np.testing.assert_allclose(found.source.sum(axis=1) + found.target.sum(axis=1), 1, atol=1e-9)
    assert (found.source >= 0).all()
    assert (found.target >= 0).all()
    np.testing.assert_array_equal(np.triu(found.target, 1), 0)


def test_the_share_of_a_part_is_how_much_closer_it_brings_the_sum() -> None:
    # ‖y‖₁ is 4. Without the first part 1 is left, so it counts 3; the second counts 1; the third leads away.
    total = torch.tensor([[3.0, 1.0]])
    parts = torch.tensor([[[3.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]])
    np.testing.assert_allclose(nearness_shares(total, parts)[0], [0.75, 0.25, 0])
    np.testing.assert_allclose(nearness_shares(torch.zeros(1, 2), parts)[0], 1 / 3)


@torch.inference_mode()
def test_value_zeroing_equals_the_layers_own_modules(any_norm: Checkpoint) -> None:
    found, model = zeroing_of(any_norm, TEXT), any_norm.model
    assert found.residual < 1e-4
    translation = translate(any_norm, TEXT)
    source, read = (torch.tensor([[t.id for t in tokens]]) for tokens in (translation.source, translation.read))
    memory, _ = model.encode(source)
    x = model.decoder.embedding(read)
    layer, key = model.decoder.layers[0], 2
    mask = torch.ones(read.size(1), read.size(1)).tril().bool()[None, None]
    kept = layer(x, memory, self_mask=mask, cross_mask=None)
    for attention, changes in ((layer.cross_attention, found.source), (layer.self_attention, found.target)):

        def without_key(_: nn.Module, inputs: object, output: torch.Tensor) -> torch.Tensor:
            changed = output.clone()
            changed[:, key] = 0
            return changed

        handle = attention.value_projection.register_forward_hook(without_key)
        changed = layer(x, memory, self_mask=mask, cross_mask=None)
        handle.remove()
        expected = 1 - torch.cosine_similarity(kept[0].double(), changed[0].double(), dim=-1)
        np.testing.assert_allclose(changes[0, :, key], expected, atol=1e-5)
    np.testing.assert_allclose(np.triu(found.target[0], 1), 0, atol=1e-9)  # what comes later moves nothing
    assert found.shares.shape == (3, read.size(1))
    assert ((found.shares >= 0) & (found.shares <= 1)).all()


@pytest.mark.parametrize("ask", [influence_of, lens_of, zeroing_of, decoder_lens])
def test_a_recurrent_network_is_refused(ask: Callable[[Checkpoint, str], object]) -> None:
    with pytest.raises(ConfigError, match="no residual stream that Headlight can follow"):
        ask(load_checkpoint(BUNDLED / "gru-de-en"), "Ein Hund.")


@torch.inference_mode()
def test_value_zeroing_in_batches_equals_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = random_model("post")
    whole = zeroing_of(checkpoint, TEXT)
    rows = list[int]()
    layer = checkpoint.model.decoder.layers[0]
    layer.register_forward_pre_hook(lambda _, inputs: rows.append(len(inputs[0])))
    monkeypatch.setattr(zeroing, "MAX_TENSOR_SIZE", 60_000)
    found = zeroing_of(checkpoint, TEXT)
    np.testing.assert_allclose(found.source, whole.source, atol=1e-6)
    np.testing.assert_allclose(found.target, whole.target, atol=1e-6)
    assert 1 < max(rows) < found.source.shape[2], "the values of the source take several batches"


def test_a_text_too_long_for_value_zeroing_is_refused_with_its_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    translation = translate(checkpoint, TEXT)
    monkeypatch.setattr(zeroing, "MAX_PRODUCTS", 10**6)
    lengths = f"{len(translation.source)} source tokens"
    with pytest.raises(ConfigError, match=rf"too long for value zeroing.*{lengths}.* billion"):
        zeroing_of(checkpoint, TEXT)
