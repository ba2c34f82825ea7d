"""The parameters of each module of a checkpoint."""

import streamlit as st

from viz_app.content.plain import PERCENT_COLUMN
from viz_app.services import loading
from viz_app.services.listing import CheckpointKey

__all__ = ["show_parameters"]


def show_parameters(key: CheckpointKey) -> None:
    """Show how many parameters each module has, and its share."""
    modules = loading.parameter_table(key)
    st.markdown(
        f"**{modules['parameters'].sum():,} parameters** in {len(modules)} modules. A matrix that several modules "
        "share counts for the first of them."
    )
    st.dataframe(
        modules.assign(share=100 * modules["share"]),
        hide_index=True,
        alt="Table of the parameters of each module",
        column_config={
            "parameters": st.column_config.NumberColumn(format="localized"),
            "share": st.column_config.ProgressColumn(format=PERCENT_COLUMN, max_value=100 * modules["share"].max()),
        },
    )
