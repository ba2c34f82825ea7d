"""The pictures of the chosen maps: every head small beside one head large, lines, or BertViz; and notes below them."""

from dataclasses import replace

import streamlit as st

from model.inference.translation import Translation
from viz_app.components.attention_view import AttentionView, ChosenMap, view
from viz_app.content.limits import MAX_TILE
from viz_app.content.numbers import percent
from viz_app.content.translation import t
from viz_app.figures.scales import bound_of
from viz_app.sections.translate import attention_drawings
from viz_app.sections.translate.map_choice import MapChoice
from viz_app.widgets.map_window import MapWindow, choose_window
from viz_app.widgets.presenter_mode import presenting

__all__ = ["largest_weights", "map_notes", "map_pictures"]


def map_pictures(choice: MapChoice, translation: Translation) -> None:
    """Draw the maps in the view that the visitor chose."""
    kind, layer, head = choice.kind, choice.layer, choice.head
    if choice.how in ("head", "model"):
        # BertViz draws weights from 0 to 1, so never value norms.
        weights = view(translation, kind, merge=choice.merged, hide_special=choice.without_special)
        attention_drawings.bertviz(weights, kind, layer, head, model_view=choice.how == "model")
        return
    window = choose_window(choice.large.weights, choice.maps.axes)
    section_of_maps, section_of_map = section_of(choice.maps, window), section_of_large(choice.large, window)
    left, right = st.columns([1, 1.4 if presenting() else 1.15])
    with left:
        if choice.how == "lines":
            attention_drawings.lines(section_of_maps, section_of_map, kind, layer, head)
        else:
            attention_drawings.all_heads(
                choice.maps,
                kind,
                layer,
                head,
                largest=bound_of(choice.maps.maps) if choice.weighted else 1.0,
                logarithmic=choice.logarithmic,
            )
    with right:
        attention_drawings.one_head(section_of_maps, section_of_map, kind, layer, logarithmic=choice.logarithmic)


def section_of(shown: AttentionView, window: MapWindow) -> AttentionView:
    """The section of all maps, with its labels."""
    return replace(shown, maps=window.of(shown.maps), allowed=window.of(shown.allowed), axes=window.of_axes(shown.axes))


def section_of_large(chosen: ChosenMap, window: MapWindow) -> ChosenMap:
    """The section of the chosen map."""
    meaning = chosen.meaning if window.whole else t("A section of a larger map.")
    return replace(chosen, weights=window.of(chosen.weights), allowed=window.of(chosen.allowed), meaning=meaning)


def map_notes(choice: MapChoice) -> None:
    """Say what the pictures leave out."""
    if choice.large.hidden_share:
        st.caption(
            t(
                "The hidden columns hold {share} of the large map ({unit}), averaged over its rows.",
                share=percent(choice.large.hidden_share),
                unit=choice.large.unit,
            )
        )
    if choice.how == "heatmaps" and max(choice.maps.maps.shape[2:]) > MAX_TILE:
        st.caption(
            t(
                "A small map has at most {n} cells per side. Each cell shows the largest of the weights that it "
                "covers.",
                n=MAX_TILE,
            )
        )


def largest_weights(choice: MapChoice) -> None:
    """A table of the largest weights of the large map."""
    table = st.expander(t("Largest weights"), icon=":material/table_rows:", on_change="rerun", key="alignments")
    if table.open:
        with table:
            attention_drawings.weights_table(choice.maps, choice.large, choice.layer)
