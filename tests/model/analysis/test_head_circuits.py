"""The circuits of a head against dense matrices, recorded scores, and heads that are made by hand."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from model.analysis.head_circuits import (
    composition,
    compositions,
    copying_score,
    spectrum,
    token_keys,
    token_writes,
)
from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.inference.opening import open_checkpoint
from model.interventions import Head
from model.network.transformer import Transformer
from model.trace import hook_name, tracing
from tests.conftest import make_model
from tools.foreign_families import family_named
from tools.small_models import make_family

VOCABULARY = range(50)


@cache
def bundled() -> Checkpoint:
    checkpoint = open_checkpoint(Path("checkpoints/tiny-gpt-en"))
    assert isinstance(checkpoint, Checkpoint)
    return checkpoint


def with_model(model: Transformer) -> Checkpoint:
    """A checkpoint with another model. Only its number of tokens matters here."""
    return replace(bundled(), model=model)


@cache
def foreign(title: str) -> Checkpoint:
    with TemporaryDirectory() as folder:
        checkpoint = open_checkpoint(make_family(Path(folder) / "model", family_named(title)))
    assert isinstance(checkpoint, Checkpoint)
    return checkpoint


def normed(norm: torch.nn.Module, x: Tensor) -> Tensor:
    assert isinstance(norm, torch.nn.LayerNorm)
    return F.layer_norm(x, (x.size(-1),), norm.weight, norm.bias, norm.eps)


def undivided(norm: torch.nn.Module, x: Tensor) -> Tensor:
    assert isinstance(norm, torch.nn.LayerNorm)
    return (x - x.mean(dim=-1, keepdim=True)) * norm.weight


@pytest.fixture(params=["pre", "post"])
def dense(request: pytest.FixtureRequest) -> tuple[Checkpoint, dict[str, Tensor]]:
    """The second decoder layer's head 3 with whole matrices, row vectors to the left."""
    model = make_model(norm=request.param, tie_embeddings="all", positional="learned").double()
    with torch.no_grad():
        model.decoder.embedding.tokens.weight[0] = torch.randn(32)  # padding has a vector of zeros
    layers: Any = model.decoder.layers
    layer = layers[1]
    attention, width = layer.self_attention, 8
    head = slice(3 * width, 4 * width)
    tokens = model.decoder.embedding.embed(torch.tensor([list(VOCABULARY)]))[0].float().double()
    matrices = [attention.query_projection, attention.key_projection, attention.value_projection]
    w_q, w_k, w_v = (one.weight[head].T for one in matrices)
    gain = torch.eye(32, dtype=torch.double)
    if request.param == "pre":
        norm = layer.self_attention_residual.norm
        reads, plain = normed(norm, tokens), normed(norm, tokens) - norm.bias
        gain = undivided(norm, torch.eye(32).double())
        to_logits: list[torch.nn.Module] = [model.decoder.norm]
    else:
        norms = [
            block.norm
            for one in layers
            for block in (one.self_attention_residual, one.cross_attention_residual, one.feed_forward_residual)
        ]
        reads = tokens
        for norm in norms[:3]:
            reads = normed(norm, reads)
        plain, to_logits = reads, norms[3:]
    written = w_v @ attention.output_projection.weight[:, head].T
    effects = plain @ written
    for norm in to_logits:
        effects = undivided(norm, effects)
    scores = (reads @ w_q + attention.query_projection.bias[head]) @ (reads @ w_k).T / width**0.5
    return with_model(model), {
        "scores": scores,
        "logits": effects @ model.output_projection.weight.T,
        "QK": gain @ w_q @ w_k.T @ gain.T,
        "OV": gain @ written,
    }


HEAD = Head("decoder", 1, 3)


@torch.no_grad()
def test_circuits_equal_those_of_dense_matrices(dense: tuple[Checkpoint, dict[str, Tensor]]) -> None:
    checkpoint, expected = dense
    centred = expected["scores"] - expected["scores"].mean(dim=1, keepdim=True)
    found = token_keys(checkpoint, HEAD, VOCABULARY, most=4)
    np.testing.assert_allclose(found.most_values, centred.topk(4).values, atol=1e-4)
    np.testing.assert_array_equal(found.least, centred.topk(4, largest=False).indices)
    changes = expected["logits"] - expected["logits"].mean(dim=1, keepdim=True)
    changes = changes / changes.std(dim=1, keepdim=True)
    written = token_writes(checkpoint, HEAD, VOCABULARY, most=4)
    np.testing.assert_allclose(written.least_values, changes.topk(4, largest=False).values, atol=1e-4)
    np.testing.assert_array_equal(written.most, changes.topk(4).indices)
    eigenvalues = torch.linalg.eigvals(expected["logits"])
    score = float(eigenvalues.real.sum() / eigenvalues.abs().sum())
    assert copying_score(checkpoint, HEAD) == pytest.approx(score, abs=1e-4)
    for name, one in spectrum(checkpoint, HEAD).items():
        np.testing.assert_allclose(one.values, torch.linalg.svdvals(expected[name])[:8], atol=1e-5)
        assert 1 < one.effective_rank < 8


@torch.no_grad()
def test_compositions_equal_those_of_dense_matrices_and_random_heads_have_the_baseline() -> None:
    checkpoint = with_model(make_model(norm="pre").double())
    model: Any = checkpoint.model
    layers = model.decoder.layers

    def projections(layer: int, head: int) -> dict[str, Tensor]:
        attention = layers[layer].self_attention
        rows = slice(8 * head, 8 * head + 8)
        fold = undivided(layers[layer].self_attention_residual.norm, torch.eye(32).double())
        values = fold @ attention.value_projection.weight[rows].T @ attention.output_projection.weight[:, rows].T
        scores = (
            fold @ attention.query_projection.weight[rows].T @ attention.key_projection.weight[rows] @ fold.T
        )  # (D, D)
        return {"values": values, "queries": scores, "keys": scores.T}

    into = {(one.writer, one.through): one.score for one in compositions(checkpoint, HEAD).into}
    wrote = projections(0, 1)["values"]
    for stage, matrix in projections(1, 3).items():
        expected = float((wrote @ matrix).norm() / wrote.norm() / matrix.norm())
        assert into[Head("decoder", 0, 1), stage] == pytest.approx(expected, abs=1e-6)
    assert {one.kind for one, stage in into} == {"decoder", "cross"}
    assert {one.layer for one, stage in into} == {0}

    generator = torch.Generator().manual_seed(0)
    left, right = (
        (torch.randn(400, 128, 8, generator=generator), torch.randn(400, 8, 128, generator=generator)) for _ in "12"
    )
    assert float(composition(left, right).mean()) == pytest.approx(128**-0.5, rel=0.02)


def test_the_encoder_feeds_keys_and_values_of_cross_attention_and_the_decoder_its_queries() -> None:
    checkpoint = with_model(make_model())
    into = compositions(checkpoint, Head("cross", 0, 0)).into
    stages = {(one.writer.kind, one.through) for one in into}
    assert stages == {("encoder", "keys"), ("encoder", "values"), ("decoder", "queries")}
    out_of = compositions(checkpoint, Head("encoder", 1, 0)).out_of
    assert {(one.reader.kind, one.through) for one in out_of} == {("cross", "keys"), ("cross", "values")}
    assert [one.score for one in into] == sorted((one.score for one in into), reverse=True)


def handmade() -> Any:
    """A decoder whose token vectors are codes of ±1 in 8 directions and their opposites in 8 others; few heads act."""
    model = make_model(norm="pre", d_model=16, num_heads=2, tie_embeddings="all", max_length=8)
    codes = torch.tensor([[1.0 if n >> i & 1 else -1.0 for i in range(8)] for n in VOCABULARY])
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.fill_(float(name.endswith("weight")))
        model.decoder.embedding.tokens.weight.copy_(torch.cat([codes, -codes], dim=1))
    return model


@torch.no_grad()
def test_a_head_that_copies_raises_the_token_that_it_reads() -> None:
    model = handmade()
    attention: Any = model.decoder.layers[1].self_attention
    attention.value_projection.weight[:8] = torch.eye(8, 16)
    attention.output_projection.weight[:, :8] = torch.eye(16, 8)
    head = Head("decoder", 1, 0)
    assert copying_score(with_model(model), head) == pytest.approx(1)
    np.testing.assert_array_equal(token_writes(with_model(model), head, VOCABULARY, most=1).most[:, 0], VOCABULARY)
    attention.output_projection.weight[:, :8] *= -1
    assert copying_score(with_model(model), head) == pytest.approx(-1)
    np.testing.assert_array_equal(token_writes(with_model(model), head, VOCABULARY, most=1).least[:, 0], VOCABULARY)


@torch.no_grad()
def test_an_induction_head_finds_the_head_for_the_previous_token_through_its_keys() -> None:
    model = handmade()
    previous, induction = (model.decoder.layers[layer].self_attention for layer in (0, 1))
    previous.value_projection.weight[:8] = torch.eye(8, 16)  # it reads the token …
    previous.output_projection.weight[:, :8] = torch.eye(16).roll(8, 0)[:, :8]  # … and moves it to the other directions
    induction.query_projection.weight[:8] = torch.eye(8, 16)
    induction.key_projection.weight[:8] = torch.eye(16).roll(8, 0)[:, :8].T
    found = compositions(with_model(model), Head("decoder", 1, 0))
    first, second = found.into[:2]
    assert (first.writer, first.through) == (Head("decoder", 0, 0), "keys")
    assert first.score > 1.2 * second.score
    assert first.score > 1.2 * found.baseline
    assert compositions(with_model(model), Head("decoder", 0, 0)).out_of[0] == first


@pytest.mark.parametrize("title", ["GPT-2", "GPT-NeoX", "Llama", "Phi-3", "T5", "BART", "BERT"])
@torch.no_grad()
def test_the_matrices_of_a_family_compute_what_it_records(title: str) -> None:
    checkpoint = foreign(title)
    model: Any = checkpoint.model
    kind = model.config.kinds[-1]
    stack = model.stack("encoder" if kind == "encoder" else "decoder")
    block = next(one for one in stack.blocks if one.kind == kind and one.layer == 1)
    names = [hook_name(kind, 1, stage) for stage in ("queries", "keys", "values")]
    ids = torch.tensor([[7, 8, 9]])
    with tracing(record=[block.reads, *names]) as trace:
        model.model(input_ids=ids, **({"decoder_input_ids": ids} if model.model.config.is_encoder_decoder else {}))
    reads = trace.passes(block.reads)[0][0, 0]
    reads = reads if block.norm_before is None else block.norm_before(reads)
    for name, stage in zip(names, ("queries", "keys", "values"), strict=True):
        expected = trace.passes(name)[0][0, :, 0].flatten()
        np.testing.assert_allclose(model.projection(kind, 1, stage)(reads), expected, atol=1e-5)


@torch.no_grad()
def test_scores_are_those_of_the_first_layer_without_positions() -> None:
    checkpoint, ids = foreign("GPT-2"), [7, 8, 9]
    model: Any = checkpoint.model
    edits: dict[str, Callable[[Tensor], Tensor]] = {"decoder.embedding.positions": torch.zeros_like}
    with tracing(record=["decoder.layers.0.self_attention.scores"], edits=edits) as trace:
        model.model(input_ids=torch.tensor([ids]))
    recorded = trace.passes("decoder.layers.0.self_attention.scores")[0][0, 1]  # (T, T)
    found = token_keys(checkpoint, Head("decoder", 0, 1), ids, most=10**6)
    for row, (keys, values) in enumerate(zip(found.most, found.most_values, strict=True)):
        by_key = dict(zip(keys.tolist(), values.tolist(), strict=True))
        assert by_key[8] - by_key[7] == pytest.approx(float(recorded[row, 1] - recorded[row, 0]), abs=1e-5)


def test_a_circuit_that_a_model_does_not_have_is_explained() -> None:
    with pytest.raises(ConfigError, match="additive attention are no products"):
        token_keys(with_model(make_model(attention="additive")), HEAD, [7])
    with pytest.raises(ConfigError, match="compute their queries with more than one matrix"):
        token_keys(foreign("Qwen 3"), HEAD, [7])
    assert set(spectrum(foreign("Qwen 3"), HEAD)) == {"OV"}
    with pytest.raises(ConfigError, match="reach no word directly"):
        token_writes(with_model(make_model()), Head("encoder", 1, 0), [7])
    with pytest.raises(ConfigError, match="not linear"):
        copying_score(foreign("BERT"), Head("encoder", 1, 0))
