"""One head taken apart: one query, from its vector to the output of the layer, with formulas and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.anatomy import Anatomy, Derivation, derive
from model.analysis.anatomy import anatomy as anatomy_in
from model.config.kinds import KINDS
from model.inference.run import Run
from model.interventions import Head
from viz_app.content.numbers import decimal, joined, sentences
from viz_app.content.plain import plain, visible
from viz_app.content.translation import N_, t, worded
from viz_app.figures import vectors
from viz_app.figures.style import Axes
from viz_app.services import models
from viz_app.services.analyses import analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle, settle_number
from viz_app.widgets.atlas_links import atlas_links, places_like
from viz_app.widgets.charts import draw
from viz_app.widgets.choosing import choose
from viz_app.widgets.head_picker import choose_keys, heads_per_kind, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import section, verdict

__all__ = ["one_head"]

ROUNDING = 1e-2  # of the largest head output; a norm or a gate loses more than a product, and half precision less
HEIGHT = 300
MAX_ROWS = 10  # of the table, before it scrolls


def one_head(key: CheckpointKey, run: Run) -> None:
    """Ask for a head and a query, and draw every step of its computation."""
    *head_columns, query_column = picker_columns("kind", "head", "query", key="set_one_head")
    kind, layer, head = pick_kind_and_head(head_columns, heads_per_kind(models.config_of(key)))
    anatomy = analysis_of(anatomy_in, key, run, kind, layer)
    result = models.result_of(key, run)
    query_tokens, key_tokens = result.tokens_of(kind)
    query = choose(
        t("Query: {token}", token=t(KINDS[kind].query)),
        {row: f"{row + 1} · {token.label}" for row, token in enumerate(query_tokens)},
        key="query",
        default=min(2, len(query_tokens) - 1),
        place=query_column,
        listed=True,
    )
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
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        atlas_links(key, Head(kind, layer, head))
        strongest = int(np.argmax(anatomy.weights[head, query]))
        places_like(key, Head(kind, layer, head), result, query, strongest)


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
    agrees = worst < ROUNDING * max(1.0, float(np.abs(anatomy.head_outputs).max()))
    text = (
        N_("This is a what-if. Its numbers differ from the model's by up to {difference} ({each}).")
        if what_if
        else N_(
            "The numbers on this page agree with the model's. The largest difference is {difference} ({each}). It is "
            "only rounding."
        )
        if agrees
        else N_(
            "The numbers on this page differ from the model's by up to {difference} ({each}). The model computes "
            "something that this page does not show."
        )
    )
    said = t(text, difference=f"{worst:.2g}", each=each)
    if what_if:
        st.warning(said, icon=":material/science:")
    else:
        verdict(agrees, said)


@dataclass(frozen=True, kw_only=True)
class ChosenQuery:
    """One query of one head, as the model computed it and as this page derives it again."""

    anatomy: Anatomy
    derivation: Derivation
    head: int
    query: int
    query_token: str
    key_tokens: Sequence[str]
    scale: bool  # divide the scores by √d_k
    temperature: float
    shown: slice  # the keys that the pictures show

    def axes(self, dimensions: int) -> Axes:
        return Axes(
            queries=self.key_tokens[self.shown],
            keys=[str(i) for i in range(dimensions)],
            query_title=t("key token"),
            key_title=t("dimension"),
        )


def draw_queries_and_keys(chosen: ChosenQuery) -> None:
    """Step 1: draw the query, the keys, and their products number by number."""
    queries, keys = chosen.anatomy.queries[chosen.head], chosen.anatomy.keys[chosen.head]  # (T, K), (S, K)
    width = queries.shape[-1]
    section(
        f"1. {t('Queries and keys')}",
        t(
            "Left: the query of “{token}” (top row) and the keys of the tokens, {n} numbers each. Right: their "
            "product, number by number. It is red where both numbers have the same sign.",
            token=visible(chosen.query_token),
            n=width,
        ),
    )
    if chosen.anatomy.sharing > 1:
        first = chosen.head - chosen.head % chosen.anatomy.sharing + 1
        st.caption(
            t(
                "Heads {first} to {last} share these keys and values. Each has its own queries.",
                first=first,
                last=first + chosen.anatomy.sharing - 1,
            )
        )
    with st.container(horizontal=True):
        st.latex(r"q = x\,W_Q\qquad k_j = x_j\,W_K\qquad v_j = x_j\,W_V")
    left, right = st.columns(2)
    with left:
        draw(
            vectors.query_and_keys(queries[chosen.query], keys[chosen.shown], chosen.axes(width), height=HEIGHT),
            key="query_keys",
            alt=t("Heatmap of the query vector above the key vectors"),
        )
    with right:
        draw(
            vectors.rows(
                chosen.derivation.products[chosen.shown], chosen.axes(width), unit=t("q·k, elementwise"), height=HEIGHT
            ),
            key="products",
            alt=t("Heatmap of the elementwise products of the query with every key"),
        )


def draw_weights(chosen: ChosenQuery) -> None:
    """Step 2: show how the products become attention weights, one row for each key."""
    anatomy, derivation = chosen.anatomy, chosen.derivation
    st.latex(weights_formula(chosen))
    columns, weight, own = score_columns(chosen), t("weight α"), t("the model's own")
    st.dataframe(
        pd.DataFrame(
            {
                t("key"): chosen.key_tokens,
                "q·k": derivation.dots,
                **columns,
                t("after the mask"): [f"{value:.4f}" if np.isfinite(value) else "−∞" for value in derivation.masked],
                weight: derivation.weights,
                own: anatomy.weights[chosen.head, chosen.query],
            }
        ),
        hide_index=True,
        height=38 + 35 * min(len(chosen.key_tokens), MAX_ROWS),
        alt=t("Table of products, scaled scores, masked scores and weights for every key"),
        column_config={name: st.column_config.NumberColumn(format="%.4f") for name in ("q·k", *columns, own)}
        | {weight: st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=1.0)},
    )
    if derivation.sink is not None:
        st.caption(
            t(
                "The weights of this row sum to {sum} and not to 1. The sink of this head has the other {rest}. It is "
                "one more score in the softmax, without a value.",
                sum=decimal(1 - derivation.sink, digits=3),
                rest=decimal(derivation.sink, digits=3),
            )
        )
    if len(chosen.key_tokens) > MAX_ROWS:
        st.caption(
            t(
                "The table shows {n} of {all} keys at a time. Scroll it to see the others.",
                n=MAX_ROWS,
                all=len(chosen.key_tokens),
            )
        )


def weights_formula(chosen: ChosenQuery) -> str:
    """From the products to the weights, in LaTeX."""
    anatomy, temperature = chosen.anatomy, chosen.temperature
    changed = anatomy.cap is not None or anatomy.distances is not None
    root = r"\sqrt{d_k}" if chosen.scale and anatomy.scaling != 1 else "1"
    heat = rf"\cdot {temperature:g}" if temperature != 1 else ""
    score = rf"\frac{{s_j}}{{{root}{'' if changed else heat}}}"
    if anatomy.cap is not None:
        score = rf"{anatomy.cap:g}\tanh\left({score} / {anatomy.cap:g}\right)"
    if anatomy.distances is not None:
        score += r" + b_{\text{distance}}"
    if changed and heat:
        score = rf"\frac{{1}}{{{temperature:g}}}\left({score}\right)"
    sink = r" + e^{\text{sink}}" if anatomy.sinks is not None else ""
    softmax = rf"\alpha_j=\frac{{e^{{s_j}}}}{{\sum_i e^{{s_i}}{sink}}}"
    return rf"s_j = q\cdot k_j\quad\to\quad {score}\quad\to\quad \text{{masked: }} -\infty\quad\to\quad {softmax}"


def score_columns(chosen: ChosenQuery) -> dict[str, np.ndarray]:
    """The steps from the products to the mask: the name of a column → its numbers, (S,)."""
    anatomy, derivation = chosen.anatomy, chosen.derivation
    divisor = 1 / anatomy.scaling if chosen.scale else 1.0
    if derivation.capped is None and anatomy.distances is None:
        return {f"÷ {divisor * chosen.temperature:.3g}": derivation.scores}
    columns = {f"÷ {divisor:.3g}": derivation.scaled}
    if derivation.capped is not None:
        columns[t("limited to ±{limit}", limit=f"{anatomy.cap:g}")] = derivation.capped
    heat = f"÷ {chosen.temperature:g}" if chosen.temperature != 1 else ""
    if anatomy.distances is not None:
        columns[", ".join(filter(None, (t("+ distance"), heat)))] = derivation.scores
    elif heat:
        columns[heat] = derivation.scores
    return columns


def draw_head_output(chosen: ChosenQuery) -> None:
    """Step 3: draw the values, and the values times their weights above the sum."""
    values = chosen.anatomy.values[chosen.head]  # (S, K)
    axes = chosen.axes(values.shape[-1])
    section(
        f"3. {t('Values, weighted and summed')}",
        t("Each value times its weight. The sum over all keys (bottom) is the head's output."),
    )
    st.latex(r"h = \sum_j \alpha_j\,v_j")
    left, right = st.columns(2)
    with left:
        draw(
            vectors.rows(values[chosen.shown], axes, unit=t("value"), height=HEIGHT),
            key="values",
            alt=t("Heatmap of the value vectors"),
        )
    with right:
        draw(
            vectors.sum_of_rows(
                chosen.derivation.weighted_values[chosen.shown], chosen.derivation.head_output, axes, height=HEIGHT
            ),
            key="weighted_values",
            alt=t("Heatmap of the weighted values above their sum"),
        )


def draw_layer_output(chosen: ChosenQuery) -> None:
    """Step 4: draw the outputs of all heads, and the output of the layer."""
    output = chosen.derivation.output
    if output is None:
        st.info(
            plain(
                sentences(
                    [
                        t("The last step, from the heads to the layer's output, is not shown."),
                        worded(chosen.anatomy.no_mixing_reason),
                    ]
                )
            )
        )
        return
    heads, _, width = chosen.anatomy.values.shape
    section(
        f"4. {t('All heads together, then the output projection')}",
        t(
            "The outputs of {heads} heads form one vector of {heads} × {width} = {all} numbers (this head is framed). "
            "A matrix turns it into the {n} numbers of the layer's output.",
            heads=heads,
            width=width,
            all=heads * width,
            n=len(output),
        ),
    )
    st.latex(r"o = [h_1;\dots;h_H]\,W_O + b_O")
    draw(
        vectors.concatenation(chosen.derivation.concatenated, output, heads=heads, chosen=chosen.head, height=190),
        key="concatenation",
        alt=t("The outputs of all heads as one vector, and the output of the layer"),
    )
