"""Every number of every step, against the same layer written by hand in double precision."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.analysis.station import Station
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.network.cache import for_heads
from model.network.transformer import Transformer
from tests.conftest import BUNDLED
from tests.model.analysis.follow import stations_of
from tests.model.analysis.reference import linear, norm

TEXT = "Where is the station?"
PLACE = 2
CHANGES = [
    {"norm": "post"},
    {"norm": "pre", "attention": "additive"},
    {"norm": "pre", "activation": "gelu", "positional": "learned"},
    {"score_cap": 2.0, "attention_sinks": True, "num_kv_heads": 2},
]
Steps = dict[str, Tensor]


def variant(**changes: object) -> Checkpoint:
    """Everyday's tokenizer with a random model, whose norms and biases do something."""
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    sizes = replace(checkpoint.model.config, **changes)
    torch.manual_seed(1)
    model = Transformer(sizes, pad_id=0).eval()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                module.weight.uniform_(0.5, 1.5)
                module.bias.normal_(std=0.3)
            elif isinstance(module, nn.Linear) and module.bias is not None:
                module.bias.normal_(std=0.2)
    return replace(checkpoint, model=model, config=replace(checkpoint.config, model=sizes))


def attended(module: Any, heads: int, x: Tensor, memory: Tensor, *, causal: bool) -> Steps:
    query, key, value = (  # (H, T or S, K)
        for_heads(linear(layer, states).view(len(states), -1, module.width).transpose(0, 1)[None], heads)[
            0
        ]  # (H, S, K)
        for layer, states in (
            (module.query_projection, x),
            (module.key_projection, memory),
            (module.value_projection, memory),
        )
    )
    if module.score_vector is None:
        scores = query @ key.transpose(1, 2) / math.sqrt(query.size(-1))
    else:
        sums = torch.tanh(query[:, :, None] + key[:, None])
        scores = (sums * module.score_vector.double()[:, None, None]).sum(-1)
    capped = {} if module.score_cap is None else {"cap": module.score_cap * torch.tanh(scores / module.score_cap)}
    products, scores = scores, capped.get("cap", scores)
    future = torch.ones_like(scores[0]).triu(1).bool() & causal
    masked = scores.masked_fill(future, -math.inf)
    weights = masked.softmax(-1)
    if module.sinks is not None:
        exponentials = masked.exp()
        weights = exponentials / (exponentials.sum(-1, keepdim=True) + module.sinks.double().exp()[:, None, None])
    heard = weights @ value
    return {
        "query": query,
        "scores": products,
        **capped,
        "mask": scores.masked_fill(future, -math.inf),
        "weights": weights,
        "weighted sum": heard,
        "projection": linear(module.output_projection, heard.transpose(0, 1).flatten(1)),
    }


def written_out(model: Any, stack: str, ids: Sequence[int], memory: Tensor | None) -> Iterator[Steps | Tensor]:
    """The steps of the first layer in their order, and then the output of the stack."""
    part, heads, activation = getattr(model, stack), model.config.num_heads, model.config.activation
    token = part.embedding.tokens.weight.double()[torch.tensor(ids)] * math.sqrt(model.config.d_model)
    position = part.embedding.positions.table.double()[: len(ids)]
    yield {"token": token}
    yield {"position": position}
    x, pre = token + position, model.config.norm == "pre"
    for number, layer in enumerate(part.layers):
        for name in ("self_attention", "cross_attention", "feed_forward"):
            if not hasattr(layer, name):
                continue
            module, residual = getattr(layer, name), getattr(layer, f"{name}_residual")
            asks = norm(residual.norm, x) if pre else x
            found: list[Steps] = [{"norm first": asks}] if pre else []
            if name == "feed_forward":
                inner = linear(module.expand, asks)
                units = torch.nn.functional.gelu(inner) if activation == "gelu" else inner.clamp(min=0)
                found.append({"expand": inner, "activation": units, "contract": linear(module.contract, units)})
            else:
                other = asks if name == "self_attention" else memory
                assert other is not None
                causal = stack == "decoder" and name == "self_attention"
                found.append(attended(module, heads, asks, other, causal=causal))
            total = x + list(found[-1].values())[-1]
            x = total if pre else norm(residual.norm, total)
            found.append({"add to the stream": total} if pre else {"add": total, "norm": x})
            if number == 0:
                yield from found
    yield norm(part.norm, x) if pre else x


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
@torch.no_grad()
def test_every_step_equals_the_equations(changes: dict[str, object], stack: str) -> None:
    checkpoint = variant(**changes)
    translation, found, _ = stations_of(checkpoint, TEXT, stack, 0, PLACE)
    source, read = ([token.id for token in tokens] for tokens in (translation.source, translation.read))
    *expected, memory = written_out(checkpoint.model, "encoder", source, None)
    if stack == "decoder":
        assert isinstance(memory, Tensor)
        *expected, _ = written_out(checkpoint.model, "decoder", read, memory)
    assert len(found) == len(expected)
    for station, steps in zip(found, expected, strict=True):
        assert isinstance(steps, dict)
        hold(station, steps)


def hold(station: Station, steps: Steps) -> None:
    assert [step.name for step in station.steps] == list(steps)
    for step in station.steps:
        whole = steps[step.name]
        own = whole[:, PLACE] if whole.dim() == 3 else whole[PLACE][None]
        # Sums of a few hundred numbers of the size of ten, some of them in single precision.
        np.testing.assert_allclose(step.numbers, own.numpy(), atol=1e-4, err_msg=f"{station.name}: {step.name}")


def test_the_facts_of_a_norm_describe_its_input() -> None:
    _, found, _ = stations_of(load_checkpoint(BUNDLED / "everyday-en-de"), TEXT, "encoder", 0, PLACE)
    stations_by_name = {station.name: station for station in found}
    add, after = stations_by_name["Add and norm"].steps
    assert dict(after.facts)["μ"] == f"{add.numbers.mean():.4f}"
    assert float(dict(after.facts)["σ²"]) == pytest.approx(add.numbers.var(), abs=1e-3)
    assert float(dict(add.facts)["length of o"]) == pytest.approx(
        np.linalg.norm(stations_by_name["Feed-forward"].vector), abs=2e-3
    )
