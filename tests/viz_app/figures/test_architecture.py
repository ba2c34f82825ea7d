"""The drawing of an architecture: the places of its boxes, and the ends of its arrows."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.conftest import NAME, TEXT, component_data
from viz_app.figures.architecture import Box, Drawing, architecture

OpenApp = Callable[..., AppTest]


def drawing(encoder: int, decoder: int) -> Drawing:
    return architecture(
        encoder_layers=encoder,
        decoder_layers=decoder,
        d_model=256,
        d_ff=512,
        heads=8,
        source_vocabulary=7000,
        target_vocabulary=6000,
        pre_norm=False,
    )


def overlap(one: Box, other: Box) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


@pytest.mark.parametrize(("encoder", "decoder"), [(1, 1), (3, 3), (6, 2), (2, 6)])
def test_boxes_do_not_overlap_and_every_decoder_layer_reads_the_memory(encoder: int, decoder: int) -> None:
    found = drawing(encoder, decoder)
    parts = [box for box in found.boxes if not box.frame]
    frames = [box for box in found.boxes if box.frame]
    assert len(frames) == encoder + decoder
    assert len(parts) == 2 * encoder + 3 * decoder + 4
    for boxes in (parts, frames):
        assert not any(overlap(one, other) for i, one in enumerate(boxes) for other in boxes[:i])
    for box in found.boxes:
        assert box.x >= 0
        assert box.x + box.width <= found.width
        assert box.y >= 0
        assert box.y + box.height <= found.height
    crossings = {(box.x, box.y + box.height / 2) for box in parts if box.label == "cross-attention"}
    assert crossings <= {arrow.points[-1] for arrow in found.arrows}
    # Later layers are higher, as in the paper.
    for stack, count in (("encoder", encoder), ("decoder", decoder)):
        heights = [box.y for box in sorted(frames, key=lambda box: box.layer) if box.stack == stack]
        assert len(heights) == count
        assert heights == sorted(heights, reverse=True)


def test_the_notes_have_the_sizes_of_the_model(open_app: OpenApp) -> None:
    app = open_app("inside", checkpoint=NAME, text=TEXT, inside_tab="Every station", stack="encoder", station_layer="2")
    data = component_data(app, "architecture")
    assert (data["stack"], data["layer"]) == ("encoder", 1)
    notes = " ".join(box["note"] for box in data["boxes"])
    assert "8 heads of 32" in notes
    assert "256 → 512 → 256" in notes
    assert "256 → 7,000 logits" in notes
