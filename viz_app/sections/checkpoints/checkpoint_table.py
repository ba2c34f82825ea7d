"""All checkpoints as a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from model.config.paths import CHECKPOINTS
from viz_app.content.numbers import percent_column
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, worded
from viz_app.services import listing
from viz_app.services.listing import Listed

__all__ = ["show_checkpoint_table"]

COLUMNS = N_(
    (
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
)
# The bundled models are small, and their cards name the family. Without these columns the table fits on a projector.
OF_OTHERS = ("family", "memory, MB", "maps, MB")
MOST_ROWS = 15  # a longer table scrolls
# Column → the values of the configurations, and what a visitor reads. Other values are names, and stay.
VALUES: Mapping[str, Mapping[str, str]] = {
    "task": {
        "translation": N_("translation"),
        "continuation": N_("continuation"),
        "reading": N_("reading"),
        "encoding": N_("encoding"),
        "classification": N_("classification"),
    },
    "tokens": {
        "bpe": N_("subwords (BPE)"),
        "words": N_("words"),
        "characters": N_("characters"),
        "subwords": N_("subwords"),
    },
    "positions": {
        "sinusoidal": N_("sinusoidal"),
        "learned": N_("learned"),
        "table": N_("table"),
        "none": N_("none"),
        "rotary": N_("rotary"),
        "alibi": N_("ALiBi"),
        "relative": N_("relative"),
        "recurrence": N_("recurrence"),
        "its own": N_("its own"),
    },
}


def show_checkpoint_table(found: Sequence[Listed]) -> None:
    """Show the task, the sizes and the scores of all checkpoints, and a warning for each one that cannot be used."""
    figures = listing.checkpoint_figures(found).drop(columns="problem")
    only_ours = all(Path(listed.key.path).parent == CHECKPOINTS for listed in found)
    st.dataframe(
        in_words(figures),
        hide_index=True,
        height="content" if len(found) <= MOST_ROWS else "auto",
        placeholder="–",
        alt=t("Table of all checkpoints with task, languages, sizes and scores"),
        column_order=[name for name in COLUMNS if not (only_ours and name in OF_OTHERS)],
        column_config={name: t(name) for name in COLUMNS} | number_columns(),
    )
    for listed in found:
        if listed.config is None:
            st.warning(plain(worded(listed.problem)))


def in_words(figures: pd.DataFrame) -> pd.DataFrame:
    """The table with the words of the visitor in place of the names of settings."""
    shown = {
        name: figures[name].map(lambda value, words=words: t(words[value]) if value in words else value)
        for name, words in VALUES.items()
        if name in figures
    }
    return figures.assign(**shown)


def number_columns() -> dict[str, Any]:
    """The formats and the explanations of the columns with numbers."""
    number = st.column_config.NumberColumn
    memory = t(
        "Memory for all maps of a text of {tokens} tokens. It grows with the square of the length.",
        tokens=listing.TYPICAL_TOKENS,
    )
    return {
        "parameters": number(t("parameters"), format="localized"),
        "BLEU": number("BLEU", format="%.1f", help=t("sacreBLEU; in lower case if the model writes lower case")),
        "chrF": number("chrF", format="%.1f"),
        "accuracy": number(t("accuracy"), format=percent_column(), help=t("Texts with the correct class")),
        "size, MB": number(t("size, MB"), format="%.1f", help=t("On the disk")),
        "memory, MB": number(t("memory, MB"), format="%.1f", help=t("Of the weights, in single precision")),
        "maps, MB": number(t("maps, MB"), format="%.1f", help=memory),
        "layers": st.column_config.TextColumn(t("layers"), help=t("Encoder + decoder")),
    }
