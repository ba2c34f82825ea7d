"""Beam search as a tree of hypotheses."""

from dataclasses import asdict, replace
from functools import partial

import pandas as pd
import streamlit as st

from model.inference.run import Run
from viz_app.components.elements.diagrams import beam_tree as draw_beam_tree
from viz_app.components.page_parts import announce
from viz_app.content.direction import isolated
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import visible
from viz_app.content.translation import t
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.widgets import forced_tokens
from viz_app.widgets.charts import numbers
from viz_app.widgets.marked_text import sentence
from viz_app.widgets.search_picker import beam_search

__all__ = ["beam_tree"]

VISIBLE_STEPS = 5  # of a tree, without scrolling


def beam_tree(key: CheckpointKey, run: Run, setting: DeltaGenerator) -> None:
    """Draw the tree; a click on a hypothesis forces its tokens.

    Args:
        key: The key of the checkpoint.
        run: The run by greedy search. Every hypothesis has its forced tokens.
        setting: The column for the beam size.
    """
    with setting:
        search = beam_search(loading.config_of(key))
    tree, languages = results.search_tree_of(key, replace(run, search=search)), results.result_of(key, run).languages
    announce(tree.text, languages=languages)
    st.html(sentence(tree.text, languages[1]) if tree.text else sentence(t("(the model wrote nothing)")))
    caption = t(
        "Each box is a hypothesis with its log-probability. At each step, the {n} best are kept (solid) and the others "
        "are pruned (dashed). Green hypotheses have ended. The orange path wins: it has the best mean log-probability "
        "per token. Choose a box to continue from it.",
        n=search.beam_size,
    )
    wide = max(node.depth for node in tree.nodes) > VISIBLE_STEPS
    st.caption(sentences([caption, *([t("Scroll the tree to the right to see its end.")] if wide else [])]))
    number, winner = decimal(len(tree.nodes)), isolated(visible(tree.text))
    numbers(
        {"": partial(pd.DataFrame, [asdict(node) for node in tree.nodes])},
        summary=t("The search scored {n} hypotheses. The winner is “{text}”.", n=number, text=winner),
        key="beam_tree",
        alt=t("The hypotheses of the beam search"),
    )
    draw_beam_tree(
        tree,
        lang=languages[1],
        alt=t("Tree of a beam search with {n} hypotheses. The winner is “{text}”", n=number, text=winner),
        key="beam_tree",
        on_pick=partial(forced_tokens.force_path, tree),
    )
