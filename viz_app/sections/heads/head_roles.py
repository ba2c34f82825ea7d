"""What heads do: metrics of each head, averaged over many sentences, and the role that they suggest."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from model.analysis.statistics import METRICS, mean_over_queries, suggested_role
from model.config.kinds import KINDS
from model.inference.run import Run
from viz_app.content.numbers import sentences
from viz_app.content.translation import N_, t
from viz_app.figures.heads import head_grids
from viz_app.services import head_analyses
from viz_app.services.listing import CheckpointKey
from viz_app.services.sentence_batches import Pairs
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section
from viz_app.widgets.progress import with_progress

__all__ = ["head_roles"]

Grids = Mapping[str, Mapping[str, NDArray[np.float32]]]  # kind → metric → (L, H)
Roles = Mapping[str, list[list[str]]]  # kind → (L, H) of an id in `ROLES`, or nothing

POSITIONAL = ("distance", "previous", "same", "next")
ROLES = {
    "previous": N_("previous token"),
    "same": N_("same token"),
    "next": N_("next token"),
    "end": N_("special token"),
}
METRIC_TEXTS = {  # metric → title, heading of a column, meaning
    "entropy": (N_("Entropy"), N_("entropy"), N_("How spread out the weights of a row are, in nats.")),
    "confidence": (N_("Confidence"), N_("confidence"), N_("The largest weight of a row.")),
    "distance": (N_("Distance"), N_("distance"), N_("How many tokens away the weight lies, on average.")),
    "previous": (N_("Previous"), N_("previous"), N_("The share of the weight on the previous token.")),
    "same": (N_("Same"), N_("same"), N_("The share of the weight on the token itself.")),
    "next": (N_("Next"), N_("next"), N_("The share of the weight on the next token.")),
    "end": (
        N_("End"),
        N_("end"),
        N_("The share of the weight on the special token: </s> of the source, <s> of the target."),
    ),
}
UNITS = {"entropy": N_("nats"), "distance": N_("tokens")}


def head_roles(key: CheckpointKey, pairs: Pairs) -> None:
    """Draw one metric of every head, and the table of suggested roles."""
    texts = head_analyses.texts_to_read(key, pairs)
    each = [
        head_analyses.head_metrics_of(key, Run(text=text))
        for text in with_progress(texts, N_("Sentence {done} of {total}."), at_least=15)
    ]
    grids = {kind: mean_over_queries([metrics[kind] for metrics in each]) for kind in each[0]}
    roles = {kind: roles_of(metrics) for kind, metrics in grids.items()}
    if head_analyses.has_sinks(key):
        st.caption(
            t(
                "This model has attention sinks, so the weights of a row sum to less than 1. Entropy and distance are "
                "those of the weights divided by their sum."
            )
        )
    metric_of_every_head(grids, roles, count=len(texts))
    table_of_roles(grids, roles)


def roles_of(metrics: Mapping[str, NDArray[np.float32]]) -> list[list[str]]:
    """The suggested role of each head (L, H) of one kind of attention; nothing for a head without a single role."""
    layers, heads = metrics["entropy"].shape
    return [
        [
            suggested_role({name: float(values[layer, head]) for name, values in metrics.items()})
            for head in range(heads)
        ]
        for layer in range(layers)
    ]


def metric_of_every_head(grids: Grids, roles: Roles, *, count: int) -> None:
    settle("metric", "entropy", METRICS)
    metric = (
        st.segmented_control(
            t("Metric"), list(METRICS), format_func=lambda one: t(METRIC_TEXTS[one][0]), required=True, key="metric"
        )
        or "entropy"
    )
    title, _, meaning = map(t, METRIC_TEXTS[metric])
    about = [meaning, t("Mean over all queries. Sentences: {n}.", n=count)]
    if metric in POSITIONAL:
        about.append(t("Cross-attention is empty: its queries and keys are tokens of different texts."))
    section(title, sentences(about))
    draw(
        head_grids(
            {t(KINDS[kind].title): metrics[metric] for kind, metrics in grids.items()},
            unit=t(UNITS[metric]) if metric in UNITS else t("share"),
            notes={
                t(KINDS[kind].title): [
                    [t(ROLES[role]) if role else t("no single role") for role in row] for row in grid
                ]
                for kind, grid in roles.items()
            },
            height=300,
        ),
        key="head_metric",
        wide=True,
        alt=t("{metric} of every head, for each kind of attention", metric=title),
    )


def table_of_roles(grids: Grids, roles: Roles) -> None:
    section(
        t("Suggested roles"),
        t(
            "Heads that put more than half of their weight on one kind of position (after Voita et al. 2019). Voita et "
            "al. also found heads for rare words and for syntax. Finding those takes word counts and a parser."
        ),
    )
    rows = [
        {
            t("attention"): t(KINDS[kind].title),
            t("layer"): layer + 1,
            t("head"): head + 1,
            t("suggested role"): t(ROLES[role]),
        }
        | {t(METRIC_TEXTS[name][1]): float(values[layer, head]) for name, values in grids[kind].items()}
        for kind, grid in roles.items()
        for layer, row in enumerate(grid)
        for head, role in enumerate(row)
        if role
    ]
    if not rows:
        st.info(t("In these sentences, no head puts more than half of its weight on one kind of position."))
        return
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(38 + 35 * len(rows), 400),
        placeholder="–",
        alt=t("Table of heads with a suggested role"),
        column_config={
            t(name): st.column_config.NumberColumn(format="%.2f", help=t(meaning))
            for _, name, meaning in METRIC_TEXTS.values()
        },
    )
