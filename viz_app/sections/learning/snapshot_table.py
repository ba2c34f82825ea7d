"""The translation and the loss at every snapshot, as a table."""

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.learning import EXTRA_TOKENS
from viz_app.content.translation import t
from viz_app.figures.scales import bound_of
from viz_app.sections.learning.history import History
from viz_app.widgets.headings import section

__all__ = ["show_snapshot_table"]


def show_snapshot_table(history: History) -> None:
    """Show one row for each snapshot, and one for the trained model."""
    section(
        t("The translation at every snapshot"),
        t(
            "The same sentence, translated by the model after each number of training steps. At training step 0, the "
            "weights are random. The loss shows how unlikely the model finds the translation of the trained model."
        ),
    )
    after, translation, loss = t("after"), t("translation"), t("loss, nats per token")
    losses = [result.loss for result in history.results]
    st.dataframe(
        pd.DataFrame({after: history.names, translation: history.texts, loss: losses}),
        hide_index=True,
        alt=t("Table of the translation and the loss at each snapshot"),
        column_config={
            after: st.column_config.TextColumn(width="small"),
            translation: st.column_config.TextColumn(
                width="large",
                help=t(
                    "… : stopped {tokens} tokens after the length of the trained model's translation",
                    tokens=EXTRA_TOKENS,
                ),
            ),
            loss: st.column_config.ProgressColumn(format="%.2f", min_value=0.0, max_value=bound_of(np.array(losses))),
        },
    )
