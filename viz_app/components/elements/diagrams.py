"""Diagrams of boxes: the architecture of a model, and a beam search."""

from collections.abc import Callable
from dataclasses import asdict

from model.inference.search_tree import SearchTree
from viz_app.components.mounting import component
from viz_app.content.translation import t
from viz_app.figures.architecture import Drawing

__all__ = ["architecture_map", "beam_tree"]


def beam_tree(tree: SearchTree, *, lang: str, alt: str, key: str, on_pick: Callable[[int], None]) -> None:
    """Draw a beam search: kept, pruned and ended hypotheses with their scores; `on_pick` gets the number of a node."""
    component(
        "beam_tree",
        "ui/diagrams",
        key=key,
        pick=lambda node: on_pick(int(node)),
        data={"nodes": [asdict(node) for node in tree.nodes], "lang": lang, "alt": alt},
    )


def architecture_map(
    drawing: Drawing, *, stack: str, layer: int, key: str, on_open: Callable[[str, int], None]
) -> None:
    """Draw the architecture of a model, with one layer highlighted.

    Args:
        drawing: From `figures.architecture`.
        stack: "encoder" or "decoder", of the highlighted layer.
        layer: Counted from 0.
        key: Of the component.
        on_open: Called with the stack and the layer that were clicked.
    """
    shown = t("encoder, layer {n}", n=layer + 1) if stack == "encoder" else t("decoder, layer {n}", n=layer + 1)
    alt = t("The layers of the model. Shown below: {layer}", layer=shown)
    component(
        "architecture",
        "ui/diagrams",
        key=key,
        open=lambda clicked: on_open(str(clicked["stack"]), int(clicked["layer"])),
        data={**asdict(drawing), "stack": stack, "layer": layer, "alt": alt},
    )
