"""A model whose modules are called directly computes the same numbers, and no call passes PyTorch's."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from model.decoding.search import SearchInput, finish, greedy
from model.inference.opening import open_checkpoint
from model.inference.run import Run
from model.inference.translate import record_run
from model.interventions import Head, Intervention
from model.network.own_model import OwnModel, direct
from model.network.transformer import Transformer
from model.text.vocab import Specials
from model.trace import tracing
from tests.conftest import BUNDLED, make_model


def unused(*_: object, **__: object) -> None:
    raise AssertionError("PyTorch's call of a module was used")


def test_every_hook_point_of_a_search_has_the_same_numbers(
    model: Transformer, source: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = SearchInput(sources=source.tolist(), specials=Specials(bos=2, eos=3, banned=(0, 1, 2)))
    with tracing() as expected:
        _, wanted = finish(greedy(model, start))
    quick = direct(model)
    monkeypatch.setattr(nn.Module, "_call_impl", unused)
    with tracing() as trace:
        _, found = finish(greedy(quick, start))
    assert found == wanted
    assert trace.names == expected.names
    for name in trace.names:
        for one, other in zip(trace.passes(name), expected.passes(name), strict=True):
            assert torch.equal(one.nan_to_num(), other.nan_to_num())


@pytest.mark.parametrize("name", ["everyday-en-de", "gru-de-en", "imdb-sentiment"])
def test_a_run_with_a_silenced_head_has_the_same_result(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = open_checkpoint(BUNDLED / name)
    assert isinstance(checkpoint.model, OwnModel)
    kind = checkpoint.model.config.kinds[0]
    run = Run(text="A little dog waits.", changes=Intervention(ablated=frozenset([Head(kind, 0, 0)])))
    wanted, _ = record_run(checkpoint, run)
    quick = replace(checkpoint, model=direct(checkpoint.model))
    monkeypatch.setattr(nn.Module, "_call_impl", unused)
    found, _ = record_run(quick, run)
    assert (found.text, found.outcomes) == (wanted.text, wanted.outcomes)
    assert all((found.maps[kind] == weights).all() for kind, weights in wanted.maps.items())


def test_the_weights_are_shared_and_a_copy_has_its_own(source: Tensor, target: Tensor) -> None:
    model = make_model(tie_embeddings="all")
    quick = direct(model)
    assert [*map(id, quick.parameters())] == [*map(id, model.parameters())]
    assert quick.decoder.embedding.tokens is quick.encoder.embedding.tokens
    expected = quick(source, target)
    other = copy.deepcopy(quick)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(2)
    assert torch.equal(quick(source, target), expected)
    torch.testing.assert_close(other(source, target), doubled(model)(source, target))


def doubled(model: Transformer) -> Transformer:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return model
