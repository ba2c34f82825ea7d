"""One head taken apart: one query, from its vector to the layer's output, every step with formula and numbers."""

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.anatomy import derive
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.inference.opening import AnyConfig
from viz_app.content.plain import plain, visible
from viz_app.figures import vectors
from viz_app.figures.style import Axes
from viz_app.services import head_analyses, translations
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle, settle_number
from viz_app.widgets.charts import draw
from viz_app.widgets.head_picker import heads_per_kind, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import section

__all__ = ["one_head"]

MAX_ROWS = 10  # of the table, before it scrolls
ROUNDING = 1e-2  # of the largest number that the heads found; a norm or a gate makes more, half precision less


def one_head(key: CheckpointKey, config: AnyConfig, text: str, run: translations.Run) -> None:
    """Ask for a head and a query, and follow it."""
    *columns, queries = picker_columns("kind", "head", "query", key="set_one_head")
    kind, layer, head = pick_kind_and_head(columns, heads_per_kind(config))
    try:
        translation, parts = head_analyses.anatomy_of(key, text, kind, layer, *run)
    except ConfigError as error:
        st.info(plain(f"{error} Choose another checkpoint on the left."))
        return
    asking, looked_at = translation.tokens_of(kind)
    rows = list(range(len(asking)))
    settle("query", min(2, rows[-1]), rows)
    query = queries.selectbox(
        f"Query: {KINDS[kind].query}",
        rows,
        format_func=[f"{row + 1} · {token.text}" for row, token in enumerate(asking)].__getitem__,
        key="query",
    )
    first, second = st.container(), st.container()
    with second:
        section(
            "2. From products to weights",
            "Add up each row, divide, mask, then softmax. One row per key, for this query.",
        )
        scaling, heat, _ = st.columns([1.6, 2.2, 3], vertical_alignment="center")
    settle("scaled", True)
    settle_number("head_temperature", 1.0, 0.1, 5.0)
    divides = parts.scaling != 1
    scale = scaling.toggle(
        "Divide by √d_k",
        key="scaled",
        disabled=not divides,
        help="Switch it off: the softmax becomes much sharper."
        if divides
        else "This model never divides: its weights were initialized so that it need not (T5).",
    )
    scale = scale or not divides
    temperature = heat.slider(
        "Temperature of the softmax; the model uses 1", 0.1, 5.0, step=0.1, key="head_temperature"
    )
    steps = derive(parts, head, query, scale=scale, temperature=temperature)
    as_it_is = scale and temperature == 1.0
    width, value_width = parts.queries.shape[-1], parts.values.shape[-1]
    labels = [token.text for token in looked_at]
    key_axes, value_axes = (
        Axes(queries=labels, keys=[str(i) for i in range(size)], query_title="key token", key_title="dimension")
        for size in (width, value_width)
    )

    with first:
        section(
            "1. Queries and keys",
            f"The query of “{visible(asking[query].text)}” (top row) and the key of every token, {width} numbers each. "
            "On the right their product, number by number: red where both have the same sign.",
        )
        with st.container(horizontal=True):
            st.latex(r"q = x\,W_Q\qquad k_j = x_j\,W_K\qquad v_j = x_j\,W_V")
        left, right = st.columns(2)
    with left:
        draw(
            vectors.query_and_keys(parts.queries[head, query], parts.keys[head], key_axes, height=300),
            key="query_keys",
            alt="Heatmap of the query vector above the key vectors",
        )
    with right:
        draw(
            vectors.rows(steps.products, key_axes, unit="q·k, elementwise", height=300),
            key="products",
            alt="Heatmap of the elementwise products of the query with every key",
        )

    biased = parts.distances is not None
    st.latex(
        r"s_j = q\cdot k_j\quad\to\quad \frac{s_j}{"
        + (r"\sqrt{d_k}" if scale and divides else "1")
        + (rf"\cdot {temperature:g}" if temperature != 1 else "")
        + "}"
        + (r" + b_{\text{distance}}" if biased else "")
        + r"\quad\to\quad \text{masked: } -\infty\quad\to\quad \alpha_j=\frac{e^{s_j}}{\sum_i e^{s_i}}"
    )
    divisor = (1 / parts.scaling if scale else 1.0) * temperature
    scores = f"÷ {divisor:.3g}" + (", + distance" if biased else "")
    st.dataframe(
        pd.DataFrame(
            {
                "key": labels,
                "q·k": steps.dots,
                scores: steps.scaled,
                "after the mask": [f"{value:.4f}" if np.isfinite(value) else "−∞" for value in steps.masked],
                "weight α": steps.weights,
                "the model's own": parts.weights[head, query],
            }
        ),
        hide_index=True,
        height=38 + 35 * min(len(labels), MAX_ROWS),
        alt="Table of products, scaled scores, masked scores and weights for every key",
        column_config={
            name: st.column_config.NumberColumn(format="%.4f") for name in ("q·k", scores, "the model's own")
        }
        | {"weight α": st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=1.0)},
    )

    if len(labels) > MAX_ROWS:
        st.caption(f"The table shows {MAX_ROWS} of {len(labels)} keys at a time; scroll it for the others.")

    section("3. Values, weighted and summed", "Each value times its weight. Their sum (bottom) is the head's output.")
    st.latex(r"h = \sum_j \alpha_j\,v_j")
    left, right = st.columns(2)
    with left:
        draw(
            vectors.rows(parts.values[head], value_axes, unit="value", height=300),
            key="values",
            alt="Heatmap of the value vectors",
        )
    with right:
        draw(
            vectors.sum_of_rows(steps.weighted_values, steps.head_output, value_axes, height=300),
            key="weighted_values",
            alt="Heatmap of the weighted values above their sum",
        )

    heads = config.model.num_heads
    if steps.output is None:
        st.info(plain(f"The last step, from the heads to the layer's output, is not shown. {parts.unmixed}"))
    else:
        section(
            "4. All heads side by side, then the output projection",
            f"The outputs of {heads} heads become one vector of {heads} × {value_width} = {heads * value_width} "
            f"numbers (this head is framed). A matrix turns them into the layer's {len(steps.output)} output numbers.",
        )
        st.latex(r"o = [h_1;\dots;h_H]\,W_O + b_O")
        draw(
            vectors.concatenation(steps.concatenated, steps.output, heads=heads, chosen=head, height=190),
            key="concatenation",
            alt="The concatenated outputs of all heads, and the output of the layer",
        )
    worst = max(steps.differences.values())
    each = ", ".join(f"{stage} {difference:.2g}" for stage, difference in steps.differences.items())
    if as_it_is and worst < ROUNDING * max(1.0, float(np.abs(parts.head_outputs).max())):
        st.success(
            f"Largest difference between this page's numbers and the model's own: {worst:.2g} ({each}). The "
            "difference is only rounding.",
            icon=":material/check:",
        )
    elif as_it_is:
        st.error(
            f"This page's numbers differ from the model's own by up to {worst:.2g} ({each}). The model computes "
            "something that this page does not show.",
            icon=":material/error:",
        )
    else:
        st.warning(
            f"A what-if. Largest difference from the model's own output: {worst:.2g} ({each}).",
            icon=":material/science:",
        )
