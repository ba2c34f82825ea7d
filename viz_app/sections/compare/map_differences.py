"""Where two attention maps differ, and which heads differ most."""

import streamlit as st

from model.analysis.statistics import moved_weight
from model.config.kinds import KINDS
from viz_app.content.translation import t
from viz_app.figures.attention import difference_map
from viz_app.figures.heads import head_grids
from viz_app.figures.scales import marked
from viz_app.figures.shared_axes import shared_axes
from viz_app.sections.compare.side_choice import Mode
from viz_app.sections.compare.two_maps import MapPair
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.headings import section

__all__ = ["map_differences"]


def map_differences(mode: Mode, pair: MapPair) -> None:
    """Draw the difference of the two maps, and how far each head differs."""
    axes = shared_axes(pair.views[0].axes, pair.views[1].axes, by_position=mode == "sentences")
    if axes is None:
        st.caption(t("The two maps have different words as rows or columns, so there is no map of their difference."))
        end_page()
    difference, heads = st.columns(2)
    with difference:
        section(
            t("Where they differ"),
            t("The right map minus the left map. Red: the right map has more weight there. Blue: it has less."),
        )
        left, right = pair.weights
        draw(
            difference_map(
                right - left, pair.window.of_axes(axes), pair.allowed[0] | pair.allowed[1], height=pair.height
            ),
            key="difference",
            alt=t("Heatmap of the right map minus the left one"),
        )
    with heads:
        if pair.have_same_heads:
            differing_heads(pair)
        else:
            st.caption(t("The two models have different numbers of layers or heads, so their heads have no partners."))
    how_it_is_computed()


def differing_heads(pair: MapPair) -> None:
    section(
        t("Which heads differ most"),
        t("The share of its weight that each row gives to other keys on the right, averaged over the rows."),
    )
    moved = moved_weight(pair.views[0].maps, pair.views[1].maps)
    draw(
        head_grids({t(KINDS[pair.kind].title): marked(moved)}, unit=t("share"), most_numbered=8, height=pair.height),
        key="moved",
        alt=t("Share of the weight of each head that is on other keys"),
    )


def how_it_is_computed() -> None:
    explanation(
        t("How it is computed"),
        t(
            "Both maps come from runs of the models. With the same words in both, the right model is forced to write "
            "the words of the left one. Where the two models split words into different subwords, the subwords are "
            "merged first: weights are summed for keys and averaged for queries."
        ),
        r"1 - \tfrac{1}{T}\sum_t \sum_s \min(\alpha_{ts}, \beta_{ts})",
    )
