"""One head taken apart: one query, from its vector to the output of the layer."""

import numpy as np
import streamlit as st

from model.analysis.anatomy import Anatomy, Derivation, derive
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.inference.run import Run
from model.inference.tokens import Token
from viz_app.content.numbers import joined
from viz_app.content.plain import plain
from viz_app.content.translation import t, worded
from viz_app.sections.inside.head_steps import (
    ChosenQuery,
    draw_head_output,
    draw_layer_output,
    draw_queries_and_keys,
    draw_weights,
)
from viz_app.services import head_analyses, loading
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle, settle_number
from viz_app.widgets.head_picker import heads_per_kind, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import section
from viz_app.widgets.map_window import choose_keys

__all__ = ["one_head"]

ROUNDING = 1e-2  # of the largest head output; a norm or a gate loses more than a product, and half precision less


def one_head(key: CheckpointKey, run: Run) -> None:
    """Ask for a head and a query, and draw every step of its computation."""
    *head_columns, query_column = picker_columns("kind", "head", "query", key="set_one_head")
    kind, layer, head = pick_kind_and_head(head_columns, heads_per_kind(loading.config_of(key)))
    try:
        translation, anatomy = head_analyses.anatomy_of(key, run, kind, layer)
    except ConfigError as error:
        st.info(plain(worded(error)))
        return
    query_tokens, key_tokens = translation.tokens_of(kind)
    with query_column:
        query = query_picker(query_tokens, kind)
    shown = choose_keys(len(key_tokens))
    # The controls stand below the pictures of step 1, and all steps need them.
    vectors, weights = st.container(), st.container()
    with weights:
        scale, temperature = ask_for_scale(anatomy)
    chosen = ChosenQuery(
        anatomy=anatomy,
        derivation=derive(anatomy, head, query, scale=scale, temperature=temperature),
        head=head,
        query=query,
        query_token=query_tokens[query].label,
        key_tokens=[token.label for token in key_tokens],
        scale=scale,
        temperature=temperature,
        shown=shown,
    )
    with vectors:
        draw_queries_and_keys(chosen)
    draw_weights(chosen)
    draw_head_output(chosen)
    draw_layer_output(chosen)
    compare_with_model(chosen.derivation, anatomy, what_if=not scale or temperature != 1.0)


def query_picker(tokens: tuple[Token, ...], kind: str) -> int:
    """Choose the query, counted from 0."""
    rows = list(range(len(tokens)))
    settle("query", min(2, rows[-1]), rows)
    chosen: int = st.selectbox(
        t("Query: {token}", token=t(KINDS[kind].query)),
        rows,
        format_func=[f"{row + 1} · {token.label}" for row, token in enumerate(tokens)].__getitem__,
        key="query",
    )
    return chosen


def ask_for_scale(anatomy: Anatomy) -> tuple[bool, float]:
    """Ask whether the scores are divided by √d_k, and for the temperature of the softmax."""
    section(
        f"2. {t('From products to weights')}",
        t("Add up each row, divide, mask, then softmax. The table has one row for each key of this query."),
    )
    scaling, heat, _ = st.columns([1.6, 2.2, 3], vertical_alignment="center")
    settle("scaled", True)
    settle_number("head_temperature", 1.0, 0.1, 5.0)
    divides = anatomy.scaling != 1
    scale = scaling.toggle(
        t("Divide by √d_k"),
        key="scaled",
        disabled=not divides,
        help=t("Without the division, the softmax becomes much sharper.")
        if divides
        else t("This model does not divide. Its weights were initialized so that no division is needed (T5)."),
    )
    temperature = heat.slider(
        t("Temperature of the softmax; the model uses 1"), 0.1, 5.0, step=0.1, key="head_temperature"
    )
    return scale or not divides, temperature


def compare_with_model(derivation: Derivation, anatomy: Anatomy, *, what_if: bool) -> None:
    """Show the largest difference between the derived numbers and those that the model computed."""
    worst = max(derivation.differences.values())
    each = joined([f"{t(stage)} {difference:.2g}" for stage, difference in derivation.differences.items()])
    if what_if:
        st.warning(
            t(
                "This is a what-if. Its numbers differ from the model's by up to {difference} ({each}).",
                difference=f"{worst:.2g}",
                each=each,
            ),
            icon=":material/science:",
        )
    elif worst < ROUNDING * max(1.0, float(np.abs(anatomy.head_outputs).max())):
        st.success(
            t(
                "The numbers on this page agree with the model's. The largest difference is {difference} ({each}). It "
                "is only rounding.",
                difference=f"{worst:.2g}",
                each=each,
            ),
            icon=":material/check:",
        )
    else:
        st.error(
            t(
                "The numbers on this page differ from the model's by up to {difference} ({each}). The model computes "
                "something that this page does not show.",
                difference=f"{worst:.2g}",
                each=each,
            ),
            icon=":material/error:",
        )
