import threading

import pytest
import torch
from torch import Tensor

from model.config.section import ConfigError
from model.network.transformer import Transformer
from model.trace import HookPoint, IfPresent, ablate_heads, active_trace, tracing, untraced
from tests.conftest import make_model


def test_nothing_is_recorded_outside_a_block(source: Tensor, target: Tensor) -> None:
    model = make_model()
    with tracing() as trace:
        pass
    model(source, target)
    assert trace.names == ()
    with pytest.raises(RuntimeError), tracing():
        raise RuntimeError
    assert active_trace() is None


def test_a_trace_holds_every_stage_of_every_layer(model: Transformer, source: Tensor, target: Tensor) -> None:
    with tracing() as trace:
        logits = model(source, target)
    for layer in range(3):
        for kind, keys in (("self_attention", 6), ("cross_attention", 7)):
            place = f"decoder.layers.{layer}.{kind}"
            shapes = {
                stage: tuple(trace.passes(f"{place}.{stage}")[0].shape)
                for stage in ("queries", "keys", "values", "scores", "masked_scores", "weights", "head_outputs")
            }
            assert shapes == {
                "queries": (3, 4, 6, 8),
                "keys": (3, 4, keys, 8),
                "values": (3, 4, keys, 8),
                "scores": (3, 4, 6, keys),
                "masked_scores": (3, 4, 6, keys),
                "weights": (3, 4, 6, keys),
                "head_outputs": (3, 4, 6, 8),
            }
            values, weights = trace.passes(f"{place}.values")[0], trace.passes(f"{place}.weights")[0]
            torch.testing.assert_close(trace.passes(f"{place}.head_outputs")[0], weights @ values)
    torch.testing.assert_close(trace.passes("logits")[0], logits)


def test_an_edit_changes_the_result_and_the_trace_shows_the_edited_tensor(source: Tensor, target: Tensor) -> None:
    model = make_model()
    before = model(source, target)
    with tracing(edits={"decoder.layers.*.cross_attention.weights": ablate_heads([2])}) as trace:
        after = model(source, target)
    assert (after - before).abs().max() > 1e-3
    weights = trace.passes("decoder.layers.1.cross_attention.weights")[0]
    assert weights[:, 2].eq(0).all()
    torch.testing.assert_close(weights[:, [0, 1, 3]].sum(-1), torch.ones(3, 3, 6))
    torch.testing.assert_close(model(source, target), before, atol=1e-6, rtol=0)


def test_a_pattern_that_matches_nothing_is_an_error_with_similar_names(source: Tensor, target: Tensor) -> None:
    model, similar = make_model(), r"'decoder\.layer\.\*\.cross.*decoder\.layers\.\d\.cross_attention"
    with pytest.raises(ConfigError, match=similar), tracing(edits={"decoder.layer.*.cross": ablate_heads([0])}):
        model(source, target)
    with pytest.raises(ConfigError, match=r"'decoder\.layers\.9\.\*'"), tracing(record=("decoder.layers.9.*",)):
        model(source, target)
    with pytest.raises(ConfigError, match="Head 4 does not exist"), tracing(edits={"*.weights": ablate_heads([4])}):
        model(source, target)
    with tracing(record=(IfPresent("pooling.*"),)) as trace:
        model(source, target)
    assert trace.names == ()


def test_a_pattern_that_matches_costs_no_search_for_similar_names(
    source: Tensor, target: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.trace.get_close_matches", lambda *_, **__: pytest.fail("searched"))
    with tracing(record=("decoder.layers.1.*.weights",)) as trace:
        make_model()(source, target)
    assert len(trace.names) == 2


def test_a_block_inside_another_one_has_the_changes_of_both(source: Tensor, target: Tensor) -> None:
    model, place = make_model(), "encoder.layers.0.self_attention.weights"
    with tracing(edits={place: ablate_heads([1])}) as outer, tracing(edits={place: ablate_heads([2])}) as inner:
        model(source, target)
    assert inner.passes(place)[0][:, [1, 2]].eq(0).all()
    assert outer.passes(place)[0][:, 1].eq(0).all()
    assert outer.passes(place)[0][:, 2].ne(0).any()
    with tracing(), untraced():
        assert active_trace() is None


def test_a_row_for_a_pass_that_did_not_happen_is_an_error(source: Tensor, target: Tensor) -> None:
    model, name = make_model(), "decoder.layers.0.cross_attention.weights"
    with tracing(record=(name,)) as trace:
        model(source, target)
        model(source, target)
    assert trace.joined(name, [0, 1]).shape == (4, 12, 7)
    assert trace.joined(name, [0]).shape == (4, 6, 7)  # a beam search has more passes than its best hypothesis
    with pytest.raises(ValueError, match="longer"):
        trace.joined(name, [0, 1, 2])


def test_ablating_a_head_equals_zeroing_its_columns_of_the_output_projection(source: Tensor, target: Tensor) -> None:
    model = make_model()
    with tracing(edits={"encoder.layers.0.self_attention.weights": ablate_heads([1])}):
        ablated = model(source, target)
    with torch.no_grad():
        model.encoder.layers[0].self_attention.output_projection.weight[:, 8:16] = 0
    torch.testing.assert_close(model(source, target), ablated, atol=1e-5, rtol=0)


def test_two_threads_with_different_edits_never_see_each_other(source: Tensor, target: Tensor) -> None:
    model = make_model()

    def run(head: int) -> Tensor:
        with torch.inference_mode(), tracing(edits={"*.weights": ablate_heads([head])}):
            return model(source, target)

    expected = [run(head) for head in range(4)]
    failures: list[int] = []
    barrier = threading.Barrier(4)

    def visitor(head: int) -> None:
        barrier.wait()
        failures.extend(head for _ in range(25) if not torch.allclose(run(head), expected[head], atol=1e-6))

    threads = [threading.Thread(target=visitor, args=(head,)) for head in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_hook_points_add_nothing_to_the_state(source: Tensor) -> None:
    assert not HookPoint().state_dict()
    assert not any(".weights" in name or ".scores" in name for name in make_model().state_dict())


def test_patterns_choose_what_is_recorded(source: Tensor, target: Tensor) -> None:
    with tracing(record=["encoder.*.weights"]) as trace:
        make_model()(source, target)
    assert trace.names == ("encoder.layers.0.self_attention.weights", "encoder.layers.1.self_attention.weights")
