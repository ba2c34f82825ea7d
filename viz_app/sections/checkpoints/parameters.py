"""The parameters of each module of a checkpoint."""

import pandas as pd
import streamlit as st

from viz_app.content.numbers import decimal, percent_column
from viz_app.content.translation import t
from viz_app.services import loading
from viz_app.services.listing import CheckpointKey

__all__ = ["show_parameters"]


def show_parameters(key: CheckpointKey) -> None:
    """Show how many parameters each module has, and its share."""
    modules = loading.parameter_table(key)
    with st.container(key="parameters"):
        parameter_table(modules)


def parameter_table(modules: pd.DataFrame) -> None:
    st.markdown(
        t(
            "**{parameters} parameters** in {modules} modules. A matrix that several modules share counts for the "
            "first of them.",
            parameters=decimal(int(modules["parameters"].sum())),
            modules=len(modules),
        )
    )
    st.dataframe(
        modules.assign(share=100 * modules["share"]),
        hide_index=True,
        alt=t("Table of the parameters of each module"),
        column_config={
            "module": t("module"),
            "parameters": st.column_config.NumberColumn(t("parameters"), format="localized"),
            "share": st.column_config.ProgressColumn(
                t("share"), format=percent_column(), max_value=100 * modules["share"].max()
            ),
        },
    )
