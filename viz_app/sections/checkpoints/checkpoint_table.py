"""All checkpoints as a table."""

from collections.abc import Sequence

import streamlit as st

from viz_app.content.plain import PERCENT_COLUMN, plain
from viz_app.services import listing
from viz_app.services.listing import Listed

__all__ = ["show_checkpoint_table"]

COLUMNS = (
    "checkpoint",
    "languages",
    "task",
    "family",
    "tokens",
    "positions",
    "layers",
    "heads",
    "parameters",
    "BLEU",
    "chrF",
    "accuracy",
    "size, MB",
    "memory, MB",
    "maps, MB",
)


def show_checkpoint_table(found: Sequence[Listed]) -> None:
    """Show the task, the sizes and the scores of all checkpoints, and a warning for each one that cannot be used."""
    st.dataframe(
        listing.checkpoint_figures(found).drop(columns="problem"),
        hide_index=True,
        placeholder="–",
        alt="Table of all checkpoints with task, languages, sizes and scores",
        column_order=COLUMNS,
        column_config={
            "parameters": st.column_config.NumberColumn(format="localized"),
            "BLEU": st.column_config.NumberColumn(
                format="%.1f", help="sacreBLEU; in lower case if the model writes lower case"
            ),
            "chrF": st.column_config.NumberColumn(format="%.1f"),
            "accuracy": st.column_config.NumberColumn(format=PERCENT_COLUMN, help="Texts with the correct class"),
            "size, MB": st.column_config.NumberColumn(format="%.1f", help="On the disk"),
            "memory, MB": st.column_config.NumberColumn(format="%.1f", help="Of the weights, in single precision"),
            "maps, MB": st.column_config.NumberColumn(
                format="%.1f",
                help=f"Memory for all maps of a text of {listing.TYPICAL_TOKENS} tokens. It grows with the square of "
                "the length.",
            ),
            "layers": st.column_config.TextColumn(help="Encoder + decoder"),
        },
    )
    for listed in found:
        if listed.config is None:
            st.warning(plain(listed.problem))
