from dataclasses import replace

import numpy as np
import pytest
import torch

from model.analysis.anatomy import anatomy, derive, value_norms
from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.inference.translate import translate
from tests.conftest import make_model
from tests.model.analysis.follow import follow

SENTENCE = "the small dog sees a red house ."


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_query_of_every_head_can_be_derived_from_the_recording(toy: Checkpoint, kind: str) -> None:
    parts = anatomy(follow(toy, SENTENCE), kind, 0)
    heads, queries, _ = parts.weights.shape
    for head in range(heads):
        for query in range(queries):
            assert max(derive(parts, head, query).differences.values()) < 1e-5


def test_the_steps_are_those_of_the_formula(toy: Checkpoint) -> None:
    translation, parts = translate(toy, SENTENCE), anatomy(follow(toy, SENTENCE), "decoder", 0)
    np.testing.assert_allclose(parts.weights, translate(toy, SENTENCE).maps["decoder"][0], atol=1e-6)
    steps = derive(parts, 2, 1)
    q, keys = torch.from_numpy(parts.queries[2, 1]), torch.from_numpy(parts.keys[2])
    np.testing.assert_allclose(steps.dots, (keys @ q).numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(steps.scaled, steps.dots / 4, rtol=1e-5)  # √16
    assert np.isneginf(steps.masked[2:]).all()
    assert np.isfinite(steps.masked[:2]).all()
    assert steps.weights.sum() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(steps.head_output, steps.weights @ parts.values[2], atol=1e-6)
    assert parts.allowed.tolist() == np.tri(len(translation.written), dtype=bool).tolist()


def test_scale_and_temperature_change_the_weights_as_in_the_formula(toy: Checkpoint) -> None:
    parts = anatomy(follow(toy, SENTENCE), "encoder", 1)
    plain, unscaled, cold, hot = (
        derive(parts, 0, 0, scale=scale, temperature=t)
        for scale, t in ((True, 1), (False, 1), (True, 0.25), (True, 1e6))
    )
    np.testing.assert_allclose(unscaled.weights, cold.weights, atol=1e-6)  # 1 / √16 = 0.25
    assert unscaled.weights.max() > plain.weights.max()
    np.testing.assert_allclose(hot.weights, 1 / len(hot.weights), atol=1e-5)
    assert unscaled.differences["weights"] > 1e-3


def test_value_norms_are_the_lengths_of_the_vectors_that_keys_add(toy: Checkpoint) -> None:
    """Kobayashi et al. 2020, section 3: the output is Σ α f(x), over keys and heads, plus the bias."""
    translation, norms = translate(toy, SENTENCE), value_norms(follow(toy, SENTENCE))
    parts = anatomy(follow(toy, SENTENCE), "cross", 0)
    assert parts.mixing is not None
    projection = parts.mixing.projection.reshape(4, 16, 64)
    vectors = parts.values @ projection  # (H, S, D)
    np.testing.assert_allclose(norms["cross"][0], np.linalg.norm(vectors, axis=-1), rtol=1e-5)
    whole = np.einsum("hts,hsd->td", translation.maps["cross"][0], vectors) + parts.mixing.bias
    np.testing.assert_allclose(whole, parts.mixing.output, atol=1e-5)
    assert {kind: n.shape[:2] for kind, n in norms.items()} == {"encoder": (2, 4), "decoder": (1, 4), "cross": (1, 4)}


def test_additive_attention_is_refused(toy: Checkpoint) -> None:
    config = toy.model.config
    model = make_model(
        attention="additive",
        source_vocab_size=config.source_vocab_size,
        target_vocab_size=config.target_vocab_size,
        tie_embeddings="none",
    )
    with pytest.raises(ConfigError, match="additive attention, which has no dot products"):
        anatomy(follow(replace(toy, model=model), SENTENCE), "cross", 0)
