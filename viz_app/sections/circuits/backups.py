"""The edges of a circuit that matter only if a head is silent."""

import pandas as pd
import streamlit as st

from model.circuits.finding import Circuit
from viz_app.content.translation import t, tp
from viz_app.sections.circuits.graph import SIDES, name_of
from viz_app.sections.heads.intervention_choice import head_name
from viz_app.widgets.headings import section

__all__ = ["draw_backups"]


def draw_backups(circuit: Circuit) -> None:
    """Draw the table of backup edges, or say that there are none."""
    section(
        t("Does another part take over?"),
        t("Each of the strongest heads is silenced, one at a time. A table lists the edges that then do more."),
    )
    if not circuit.backups:
        st.caption(t("No edge does clearly more without one of these heads."))
        return
    rows = [
        {
            t("silent head"): head_name(one.silent),
            tp("edge", "from"): name_of(one.edge.sender),
            tp("edge", "to"): name_of(one.edge.receiver),
            t("reads it as"): t(SIDES[one.edge.side]) if one.edge.side else "",
            t("effect without"): one.effect,
            t("effect with"): one.effect_before,
        }
        for one in circuit.backups
    ]
    number = st.column_config.NumberColumn(format="%.3f", width="small")
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        column_config={t("effect without"): number, t("effect with"): number},
        alt=t("Table of the edges that take over"),
    )
