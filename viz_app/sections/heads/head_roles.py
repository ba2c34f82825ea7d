"""What heads do, on average over many sentences, and the roles that this suggests."""

import pandas as pd
import streamlit as st

from model.analysis.statistics import METRICS, mean_over_queries, suggested_role
from model.config.kinds import KINDS
from viz_app.figures.heads import head_grids
from viz_app.services import results
from viz_app.services.listing import CheckpointKey
from viz_app.services.sentence_batches import Pairs
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section
from viz_app.widgets.progress import with_progress

__all__ = ["head_roles"]

POSITIONAL = ("distance", "previous", "same", "next")
ROLES = {"": "", "previous": "previous token", "same": "same token", "next": "next token", "end": "sentence mark"}
MEANINGS = {
    "entropy": "how spread out the weights are, in nats",
    "confidence": "the largest weight of a row",
    "distance": "how many tokens away the weight lies",
    "previous": "share on the token before",
    "same": "share on the same position",
    "next": "share on the token after",
    "end": "share on the special token: </s> of the source, <s> of the target",
}


def head_roles(key: CheckpointKey, pairs: Pairs) -> None:
    """Draw one metric of every head, and the table of suggested roles."""
    texts = tuple(sentence for sentence, _ in pairs)
    each = [results.head_metrics_of(key, text) for text in with_progress(texts, "Sentence", at_least=15)]
    found = {kind: mean_over_queries([metrics[kind] for metrics in each]) for kind in each[0]}
    settle("metric", "entropy", METRICS)
    metric = (
        st.segmented_control("Metric", list(METRICS), format_func=str.capitalize, required=True, key="metric")
        or "entropy"
    )
    roles = {
        kind: [
            [
                ROLES[suggested_role({name: float(values[layer, head]) for name, values in metrics.items()})]
                for head in range(metrics["entropy"].shape[1])
            ]
            for layer in range(len(metrics["entropy"]))
        ]
        for kind, metrics in found.items()
    }
    section(
        metric.capitalize(),
        f"{MEANINGS[metric].capitalize()}. The mean over all queries of {len(texts)} "
        f"{'sentence' if len(texts) == 1 else 'sentences'}."
        + (" Cross-attention has no common positions, so it is left empty." if metric in POSITIONAL else ""),
    )
    draw(
        head_grids(
            {KINDS[kind].title: metrics[metric] for kind, metrics in found.items()},
            unit="nats" if metric == "entropy" else "tokens" if metric == "distance" else "share",
            notes={
                KINDS[kind].title: [[role or "no single role" for role in row] for row in roles[kind]] for kind in roles
            },
            height=300,
        ),
        key="head_metric",
        wide=True,
        alt=f"{metric} of every layer and head of the three kinds of attention",
    )
    section(
        "Suggested roles",
        "Heads that put more than half of their weight on one kind of place (after Voita et al. "
        "2019, who also found heads for rare words, which takes counts of words, and syntactic ones, which takes a "
        "parser).",
    )
    rows = [
        {"attention": KINDS[kind].title, "layer": layer + 1, "head": head + 1, "suggested role": role}
        | {name: float(values[layer, head]) for name, values in found[kind].items()}
        for kind, grid in roles.items()
        for layer, row in enumerate(grid)
        for head, role in enumerate(row)
        if role
    ]
    if not rows:
        st.info("No head puts more than half of its weight on one kind of place in these sentences.")
        return
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(38 + 35 * len(rows), 400),
        placeholder="–",
        alt="Table of heads with a suggested role",
        column_config={name: st.column_config.NumberColumn(format="%.2f", help=MEANINGS[name]) for name in METRICS},
    )
