import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.checkpoints.checkpoint import Checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention, PaintedCell, paint, uniform_heads, without_positions
from model.network.transformer import Transformer
from model.trace import tracing
from tests.conftest import make_model

COUNT = st.integers(0, 30)
HEADS = st.builds(Head, st.sampled_from(["encoder", "decoder", "cross"]), COUNT, COUNT)
CELLS = st.builds(PaintedCell, HEADS, COUNT, COUNT, st.integers(0, 10**6).map(lambda millionths: millionths / 10**6))
PAINTED = st.lists(CELLS, unique_by=lambda cell: (cell.head, cell.query), max_size=8).map(frozenset)
SENTENCE = "the small dog sees a red house ."


def test_a_uniform_head_gives_every_allowed_key_the_same_weight(source: Tensor, target: Tensor) -> None:
    model = make_model()
    with tracing(edits={"decoder.layers.1.self_attention.masked_scores": uniform_heads([2])}) as trace:
        model(source, target)
    weights = trace.passes("decoder.layers.1.self_attention.weights")[0]
    # The first sentence reads five tokens and one <pad>.
    torch.testing.assert_close(weights[0, 2, 2], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0, 0, 0]))
    torch.testing.assert_close(weights[0, 2, 5], torch.tensor([0.2, 0.2, 0.2, 0.2, 0.2, 0]))
    assert weights[0, 1, 2].unique().numel() == 4


def test_without_positions_the_encoder_ignores_the_order_of_words() -> None:
    model = make_model()
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        memory = model.encode(ids)[0]
        assert not torch.allclose(memory[0, 0], model.encode(ids.flip(1))[0][0, 3], atol=1e-3)
        with tracing(edits=without_positions()):
            straight, turned = model.encode(ids)[0], model.encode(ids.flip(1))[0]
    torch.testing.assert_close(straight[0], turned[0].flip(0))


def test_an_empty_intervention_is_falsy_and_changes_nothing(toy: Checkpoint) -> None:
    assert not Intervention()
    assert Intervention().edits() == {}
    assert translate(toy, SENTENCE, edits=Intervention().edits()).text == translate(toy, SENTENCE).text


def test_a_painted_cell_has_its_weight_and_its_row_still_sums_to_one(toy: Checkpoint) -> None:
    for kind, query in (("encoder", 3), ("cross", 2), ("decoder", 2)):
        layers = toy.model.config.num_layers(kind)
        cell = PaintedCell(Head(kind, layers - 1, 1), query, 1, 0.75)
        before = translate(toy, SENTENCE).maps[kind][layers - 1]
        found = translate(toy, SENTENCE, edits=Intervention(painted=frozenset([cell])).edits()).maps[kind]
        row = torch.from_numpy(found[layers - 1, 1, query])
        torch.testing.assert_close(row[1], torch.tensor(0.75))
        torch.testing.assert_close(row.sum(), torch.tensor(1.0))
        if kind == "encoder":  # what comes before the edit is untouched, so proportions can be compared
            old = torch.from_numpy(before[1, query])
            torch.testing.assert_close(row[2:] / row[2:].sum(), old[2:] / old[2:].sum())
        other = translate(toy, SENTENCE).maps[kind][layers - 1, 0, 0]
        size = min(len(other), found.shape[-1])  # another translation may be longer; what it adds is masked in this row
        torch.testing.assert_close(torch.from_numpy(found[layers - 1, 0, 0, :size]), torch.from_numpy(other[:size]))


# A softmax of what trained heads give: one key may have nearly all of the weight, and the rest may be denormal or 0.
SCORES = st.lists(st.floats(-110, 110, width=32), min_size=2, max_size=40)


@given(SCORES, st.integers(0, 10**6), st.data())
def test_a_painted_row_sums_to_one_for_any_earlier_weights(
    scores: list[float], millionths: int, data: st.DataObject
) -> None:
    before = torch.tensor(scores).softmax(dim=-1)
    key, weight = data.draw(st.integers(0, len(scores) - 1)), millionths / 10**6
    row = paint(PaintedCell(Head("encoder", 0, 0), 0, key, weight))["weights"](before[None, None, None])[0, 0, 0]
    assert float(row.double().sum()) == pytest.approx(1, abs=1e-6)
    assert float(row.min()) >= 0
    others = before.double().index_fill(0, torch.tensor(key), 0.0)
    if others.sum() == 0:
        assert float(row[key]) == 1
    else:
        assert float(row[key]) == pytest.approx(weight, abs=1e-7)
        expected = (others / others.sum() * (1 - weight)).index_fill(0, torch.tensor(key), weight)
        torch.testing.assert_close(row.double(), expected, rtol=1e-5, atol=1e-6)


def test_a_sink_is_one_more_key_of_a_painted_row(source: Tensor, target: Tensor) -> None:
    model, head = make_model(attention_sinks=True), Head("cross", 0, 2)
    place = "decoder.layers.0.cross_attention.weights"
    with tracing(record=(place,)) as usual:
        model(source, target)
    before = usual.passes(place)[0][0, 2, 1].double()
    sink = 1 - before.sum()
    assert sink > 0.05
    for weight in (0.0, 0.4, 1.0):
        edits = Intervention(painted=frozenset([PaintedCell(head, 1, 3, weight)])).edits()
        with tracing(edits=edits) as trace:
            model(source, target)
        row = trace.passes(place)[0][0, 2, 1].double()
        rest = (1 - weight) / (1 - before[3])  # the factor of all others, with the sink
        torch.testing.assert_close(row, (before * rest).index_fill(0, torch.tensor(3), weight), atol=1e-6, rtol=0)
        assert float(1 - row.sum()) == pytest.approx(float(sink * rest), abs=1e-6)


def test_the_only_allowed_key_keeps_its_weight_and_the_map_shows_it(toy: Checkpoint) -> None:
    head = Head("decoder", 0, 1)
    first, second = PaintedCell(head, 0, 0, 0.4), PaintedCell(head, 1, 0, 0.4)
    found = translate(toy, SENTENCE, edits=Intervention(painted=frozenset([first, second])).edits()).maps["decoder"]
    np.testing.assert_allclose(found[0, 1].sum(axis=-1), 1, atol=1e-6)
    assert first.weight_in(found) == pytest.approx(1)
    assert second.weight_in(found) == pytest.approx(0.4)
    assert PaintedCell(head, found.shape[2], 0, 0.4).weight_in(found) is None
    assert PaintedCell(head, 0, found.shape[3], 0.4).weight_in(found) is None


def test_two_weights_in_one_row_are_refused_with_the_row() -> None:
    with pytest.raises(ValueError, match=r"row 3 of layer 1, head 2 \(cross\).*one weight per row"):
        Intervention.from_code("paint.cross.1.2.3.1.0.5~paint.cross.1.2.3.2.0.5")


@pytest.mark.parametrize("kind", ["alibi", "relative"])
def test_without_positions_no_number_for_a_distance_is_added(kind: str, source: Tensor, target: Tensor) -> None:
    model = make_model(positional=kind)
    with tracing(edits=Intervention(positions=False).edits(), record=("*.bias",)) as trace:
        found = model(source, target)
    assert len(trace.names) == 5
    assert all(trace.passes(name)[0].eq(0).all() for name in trace.names)
    assert (found - model(source, target)).abs().max() > 1e-3


def test_ablated_uniform_and_painted_heads_can_be_combined(model: Transformer, source: Tensor, target: Tensor) -> None:
    intervention = Intervention(
        ablated=frozenset([Head("cross", 0, 1), Head("cross", 0, 3)]),
        uniform=frozenset([Head("cross", 0, 2)]),
        painted=frozenset([PaintedCell(Head("cross", 0, 0), 1, 0, 1.0)]),
    )
    with tracing(edits=intervention.edits()) as trace:
        model(source, target)
    weights = trace.passes("decoder.layers.0.cross_attention.weights")[0]
    assert weights[:, [1, 3]].eq(0).all()
    with tracing(record=("decoder.layers.0.cross_attention.weights",)) as usual:
        model(source, target)
    before = usual.passes("decoder.layers.0.cross_attention.weights")[0][0, 2].sum(-1)  # a sink keeps its share
    torch.testing.assert_close(weights[0, 2], (before / 7)[:, None].expand(6, 7))
    torch.testing.assert_close(weights[0, 0, 1], torch.tensor([1.0, 0, 0, 0, 0, 0, 0]))
    assert trace.passes("decoder.layers.1.cross_attention.weights")[0].ne(0).any()


def test_simultaneous_visitors_never_see_each_others_interventions(toy: Checkpoint) -> None:
    wishes = [Intervention()] + [
        Intervention(**{change: frozenset([Head("cross", 0, head)])})
        for change in ("ablated", "uniform")
        for head in range(4)
    ]
    expected = [translate(toy, SENTENCE, edits=wish.edits()).maps["cross"] for wish in wishes]
    barrier = threading.Barrier(len(wishes))

    def visitor(wish: Intervention) -> list[np.ndarray]:
        barrier.wait()
        return [translate(toy, SENTENCE, edits=wish.edits()).maps["cross"] for _ in range(5)]

    with ThreadPoolExecutor(len(wishes)) as pool:
        for wanted, found in zip(expected, pool.map(visitor, wishes), strict=True):
            for maps in found:
                np.testing.assert_allclose(maps, wanted, atol=1e-6)


@given(st.frozensets(HEADS), st.frozensets(HEADS), PAINTED, st.booleans())
def test_every_change_survives_a_link(
    ablated: frozenset[Head], uniform: frozenset[Head], painted: frozenset[PaintedCell], positions: bool
) -> None:
    change = Intervention(ablated=ablated, uniform=uniform, painted=painted, positions=positions)
    assert Intervention.from_code(change.code()) == change


def test_the_code_of_a_change_counts_from_1() -> None:
    painted = PaintedCell(Head("encoder", 0, 3), 1, 2, 0.75)
    change = Intervention(ablated=frozenset([Head("cross", 2, 0), Head("cross", 2, 1)]), painted=frozenset([painted]))
    assert change.code() == "off.cross.3.1-2~paint.encoder.1.4.2.3.0.75"
    assert Intervention().code() == ""


@pytest.mark.parametrize(("weight", "digits"), [(5e-05, "0.00005"), (1e-09, "0"), (1 / 3, "0.333333"), (1.0, "1")])
def test_a_weight_has_no_exponent_in_a_link(weight: float, digits: str) -> None:
    code = Intervention(painted=frozenset([PaintedCell(Head("cross", 0, 0), 0, 0, weight)])).code()
    assert code == f"paint.cross.1.1.1.1.{digits}"
    assert Intervention.from_code(code).painted


@pytest.mark.parametrize(
    "code",
    ["off", "off.cross.0.1", "off.sideways.1.1", "off.cross.1.1-", "paint.cross.1.1.1.1.1.5", "off.cross.1.٣", "~"],
)
def test_an_unknown_part_of_a_link_is_named(code: str) -> None:
    with pytest.raises(ValueError, match="unknown change: "):
        Intervention.from_code(code)


def test_a_cell_under_the_causal_mask_stays_masked_in_one_pass(toy: Checkpoint) -> None:
    edits = Intervention(painted=frozenset([PaintedCell(Head("decoder", 0, 1), 1, 3, 0.5)])).edits()
    ids = torch.arange(4, 10)[None]
    with torch.inference_mode(), tracing(edits=edits) as trace:
        toy.model(ids, ids)
    weights = trace.passes("decoder.layers.0.self_attention.weights")[0]
    assert not weights[0, 1].triu(1).any()
    torch.testing.assert_close(weights[0, 1].sum(-1), torch.ones(6), atol=1e-6, rtol=0)
