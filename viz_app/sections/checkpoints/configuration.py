"""The configuration of a checkpoint, as its file has it."""

import json

import streamlit as st

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from viz_app.content.plain import plain
from viz_app.content.translation import t, worded
from viz_app.services import listing
from viz_app.services.listing import CheckpointKey

__all__ = ["show_configuration"]


def show_configuration(key: CheckpointKey, config: AnyConfig) -> None:
    """Show the text of `headlight.toml` with notes on the weights, or else `config.json`."""
    description = listing.description_text(key)
    if description is None:
        st.code(json.dumps(config.to_dict(), indent=1, ensure_ascii=False), language="json")
        return
    for note in config.notes if isinstance(config, ForeignConfig) else ():
        st.info(plain(worded(note)))
    st.caption(t("The `headlight.toml` of this checkpoint describes its weights."))
    st.code(description, language="toml")
