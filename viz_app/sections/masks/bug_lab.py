"""Bug lab: the mistakes with masks that real code has shipped, beside the right masks, and what each of them does."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from model.analysis.mask_bugs import BugReport
from model.checkpoints.languages import tag
from viz_app.content.plain import percent
from viz_app.figures.attention import head_map
from viz_app.figures.style import Axes
from viz_app.sections.masks.bug_descriptions import MISTAKES
from viz_app.services import loading, padded_batches
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.chips import compared
from viz_app.widgets.head_picker import heads_per_kind, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import section

__all__ = ["bug_lab"]

HEIGHT = 380


def bug_lab(
    key: CheckpointKey,
    sentences: tuple[str, ...],
    row: int,
    axes: Mapping[str, Axes],
    allowed: Mapping[str, NDArray[np.bool_]],
) -> None:
    """Draw the lab for one sentence of a batch.

    Args:
        key: Of a translator.
        sentences: The batch.
        row: Which sentence is looked at.
        axes: Kind → labels of its maps.
        allowed: Kind → mask of that sentence, (T, S).
    """
    settle("bug", "fill", MISTAKES)
    name = st.segmented_control(
        "Mistake", list(MISTAKES), format_func=lambda bug: MISTAKES[bug].title, required=True, key="bug"
    )
    bug = MISTAKES[name or "fill"]
    st.code(bug.code, language="python")
    st.markdown(bug.explanation)
    right, wrong = padded_batches.bug_of(key, sentences), padded_batches.bug_of(key, sentences, name or "fill")

    columns, sizes = picker_columns("kind", "head", key="set_bug_head"), heads_per_kind(loading.config_of(key))
    kind, layer, head = pick_kind_and_head(columns, sizes, key="mask_kind", default="decoder")
    left, other = st.columns(2)
    for place, made, report, title in (
        (left, "", right, "With the right mask"),
        (other, name or "fill", wrong, bug.title),
    ):
        with place:
            section(title, leak_sentence(report, kind, row))
            draw(
                head_map(
                    padded_batches.bug_weights_of(key, sentences, made, kind, layer, row)[head],
                    axes[kind],
                    allowed[kind] | (report is wrong),
                    height=HEIGHT,
                ),
                key=f"bug_{title}",
                alt=f"Attention weights of layer {layer + 1}, head {head + 1}: {title}",
            )

    section(
        "What the translation becomes",
        "Differences from the right translation are marked. While the model writes, there is no future to look at, so "
        "a mistake in the causal mask has less effect here than in training.",
    )
    st.html(
        compared(
            *(
                [(text, before), (bug.title.lower(), after)]
                for text, before, after in zip(sentences, right.texts, wrong.texts, strict=True)
            ),
            languages=[tag(loading.config_of(key).tokenizer.target_language)],
        )
    )
    table = st.expander("All mistakes, measured", icon=":material/table_rows:", on_change="rerun", key="all_mistakes")
    if table.open:
        with table:
            compare_all(key, sentences, row)


def compare_all(key: CheckpointKey, sentences: tuple[str, ...], row: int) -> None:
    st.markdown(
        "Leaked: mean share of a query's weight on forbidden keys, over all layers and heads. The future: how much an "
        "earlier log-probability changes when the last token read is another. Company: how much it changes when the "
        "sentence stands alone instead of in the batch."
    )
    names = {"right masks": ""} | {bug.title: name for name, bug in MISTAKES.items()}
    reports = {title: padded_batches.bug_of(key, sentences, name) for title, name in names.items()}
    st.dataframe(
        pd.DataFrame([figures(title, report, row) for title, report in reports.items()]),
        hide_index=True,
        alt="Table of what each mistake leaks and changes",
        column_config={
            column: st.column_config.NumberColumn(format="percent")
            for column in (f"leaked: {kind}" for kind in reports["right masks"].leaked)
        }
        | {
            column: st.column_config.NumberColumn(format="%.3f", help="nats")
            for column in ("the future changes", "company changes")
        },
    )


def leak_sentence(report: BugReport, kind: str, row: int) -> str:
    smallest, largest = report.row_sums[kind][row]
    sums = (
        "Rows sum to 1."
        if abs(smallest - 1) < 1e-3 > abs(largest - 1)
        else f"Rows sum to {smallest:.2f}–{largest:.2f}."
    )
    return f"On forbidden keys: {percent(report.leaked[kind][row])} of the weight. {sums}"


def figures(title: str, report: BugReport, row: int) -> dict[str, object]:
    return {
        "masks": title,
        **{f"leaked: {kind}": float(report.leaked[kind][row]) for kind in report.leaked},
        # What is left of rounding, at the end of a hundred thousand additions, is no change.
        "the future changes": round(float(report.future[row]), 3),
        "company changes": round(float(report.company[row]), 3),
        "translation": report.texts[row],
    }
