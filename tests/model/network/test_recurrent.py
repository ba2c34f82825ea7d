"""The recurrent translator: the same calls as the Transformer, one head of additive attention, or none."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.config.model import RecurrentConfig
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.decoding.search import SearchInput, finish
from model.inference.translate import start_search, translate
from model.network.recurrent import RecurrentTranslator
from model.text.vocab import OURS
from model.trace import tracing
from tests.conftest import TOY_DATA

WEIGHTS = "decoder.layers.0.cross_attention.weights"
SOURCE = torch.tensor([[5, 6, 7, 8, 9, 3], [5, 6, 3, 0, 0, 0]])
TARGET = torch.tensor([[2, 11, 12, 13], [2, 14, 3, 0]])
SETTINGS = {"source_vocab_size": 20, "target_vocab_size": 20, "d_model": 12, "d_hidden": 10, "max_length": 40}


@pytest.fixture(scope="module", params=["additive", "none"])
def model(request: pytest.FixtureRequest) -> RecurrentTranslator:
    torch.manual_seed(3)
    return RecurrentTranslator(RecurrentConfig.from_dict({**SETTINGS, "attention": request.param})).eval()


@pytest.fixture(scope="module", params=["additive", "none"])
def checkpoint(request: pytest.FixtureRequest, toys: Callable[[str], Path]) -> Checkpoint:
    return load_checkpoint(toys(f"recurrent-{request.param}"))


def test_padding_changes_nothing(model: RecurrentTranslator) -> None:
    together = model(SOURCE, TARGET)
    for row, (source, target) in enumerate(zip(SOURCE, TARGET, strict=True)):
        alone = model(source[source != 0][None], target[target != 0][None])
        torch.testing.assert_close(together[row, : alone.size(1)], alone[0], rtol=1e-5, atol=1e-5)


def test_a_future_token_changes_nothing(model: RecurrentTranslator) -> None:
    other = TARGET.clone()
    other[:, 2:] = 7
    torch.testing.assert_close(model(SOURCE, TARGET)[:, :2], model(SOURCE, other)[:, :2])
    assert not torch.allclose(model(SOURCE, TARGET)[:, 2:], model(SOURCE, other)[:, 2:])


def test_decoding_step_by_step_is_decoding_at_once(model: RecurrentTranslator) -> None:
    memory, mask = model.encode(SOURCE)
    whole, cache = model.decode(TARGET, memory, mask), model.start_cache()
    for t in range(TARGET.size(1)):
        step = model.decode(TARGET[:, t : t + 1], memory, mask, cache=cache)
        torch.testing.assert_close(step[:, 0], whole[:, t], rtol=1e-5, atol=1e-5)
    assert cache.length == TARGET.size(1)


def test_rows_sum_to_one_and_padding_has_weight_zero() -> None:
    model = RecurrentTranslator(RecurrentConfig.from_dict(SETTINGS)).eval()
    with tracing() as trace:
        model(SOURCE, TARGET)
    weights = torch.cat(trace.passes(WEIGHTS), dim=2)  # (B, 1, T, S)
    assert weights.shape == (2, 1, 4, 6)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 1, 4))
    assert (weights[1, :, :, 3:] == 0).all()
    assert (weights[0] > 0).all()


def test_a_step_follows_the_equations_of_the_paper() -> None:
    """Bahdanau et al. 2015, appendix A.1.2 and A.2.2, written out in NumPy, with PyTorch's own gates for the GRU."""
    model = RecurrentTranslator(RecurrentConfig.from_dict(SETTINGS)).eval()
    source, target = SOURCE[:1], TARGET[:1, :1]
    with tracing() as trace, torch.no_grad():
        memory, mask = model.encode(source)
        written = model.target_states(target, memory, mask)[0, 0].numpy()
    p = {name: value.numpy().astype(np.float64) for name, value in model.state_dict().items()}
    h, x = memory[0].numpy().astype(np.float64), p["decoder.tokens.weight"][target[0, 0]] * 12**0.5
    at = "decoder.layers.0."

    def linear(name: str, v: np.ndarray) -> np.ndarray:
        return v @ p[f"{name}.weight"].T + p.get(f"{name}.bias", 0.0)

    def sigmoid(v: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-v))

    state = np.tanh(linear("decoder.first_state", h[0, 10:]))
    sums = linear(f"{at}cross_attention.query_projection", state) + linear(f"{at}cross_attention.key_projection", h)
    scores = np.tanh(sums) @ p[f"{at}cross_attention.score_vector"][0]
    weights = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(trace.passes(WEIGHTS)[0][0, 0, 0].numpy(), weights, atol=1e-6)
    context = weights @ h
    gates_in = np.concatenate([x, context]) @ p[f"{at}cell.weight_ih"].T + p[f"{at}cell.bias_ih"]
    gates_state = state @ p[f"{at}cell.weight_hh"].T + p[f"{at}cell.bias_hh"]
    (r_in, z_in, n_in), (r_state, z_state, n_state) = np.split(gates_in, 3), np.split(gates_state, 3)
    reset, update = sigmoid(r_in + r_state), sigmoid(z_in + z_state)
    state = (1 - update) * np.tanh(n_in + reset * n_state) + update * state
    expected = np.tanh(linear(f"{at}output", np.concatenate([state, context, x])))
    np.testing.assert_allclose(written, expected, atol=1e-6)


def test_without_attention_the_source_is_one_vector() -> None:
    model = RecurrentTranslator(RecurrentConfig.from_dict({**SETTINGS, "attention": "none"})).eval()
    memory, mask = model.encode(SOURCE)
    changed = memory.clone()
    changed[0, 1:-1] = 5.0  # what the GRUs knew on the way
    torch.testing.assert_close(model.decode(TARGET, changed, mask)[0], model.decode(TARGET, memory, mask)[0])
    assert model.config.kinds == ()


def test_every_search_runs_on_it_alone_as_in_a_batch(model: RecurrentTranslator) -> None:
    ids = [[5, 6, 7, 8, 9, 3], [5, 6, 3]]
    for search in (SearchConfig(), SearchConfig(method="beam", beam_size=3), SearchConfig(method="sample", seed=2)):
        _, together = finish(start_search(model, SearchInput(sources=ids), search))
        for one, found in zip(ids, together, strict=True):
            _, (alone,) = finish(start_search(model, SearchInput(sources=[one]), search))
            assert alone.ids == found.ids
            assert alone.log_probs == pytest.approx(found.log_probs, abs=1e-4)
    first = SearchInput(sources=ids[:1])
    _, (narrow,) = finish(start_search(model, first, SearchConfig(method="beam", beam_size=1)))
    _, (greedy,) = finish(start_search(model, first, SearchConfig()))
    assert narrow.ids == greedy.ids
    assert OURS.bos not in greedy.ids


def test_it_learns_is_saved_and_translates_with_its_map(checkpoint: Checkpoint) -> None:
    pairs = zip(*((TOY_DATA / "toy" / f"train.{x}").read_text().splitlines() for x in ("en", "de")), strict=True)
    some = list(pairs)[:20]
    assert sum(translate(checkpoint, source).text == target for source, target in some) >= 16
    translation = translate(checkpoint, some[0][0])
    if checkpoint.config.model.kinds:
        maps = translation.maps["cross"]
        assert maps.shape == (1, 1, len(translation.written), len(translation.source))
        np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)
    assert set(translation.maps) == set(checkpoint.config.model.kinds)


def test_impossible_sizes_are_refused(tmp_path: Path) -> None:
    for values, message in (
        ({"attention": "dot"}, "attention is 'dot'"),
        ({"d_hidden": 0}, "d_hidden is 0"),
        ({"num_heads": 2}, "has no setting num_heads"),
        ({"target_vocab_size": 7}, 'tie_embeddings = "all" needs a shared vocabulary'),
    ):
        with pytest.raises(ConfigError, match=message):
            RecurrentConfig.from_dict({**SETTINGS, **values})
