"""A note about what the tokenizer of our own checkpoints changes in a typed text."""

import streamlit as st

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from model.text.cleaning import changes
from viz_app.content.numbers import joined
from viz_app.content.translation import t

__all__ = ["note_cleaning"]


def note_cleaning(config: AnyConfig, *texts: str) -> None:
    """Say what is changed in these texts before the model reads them. Foreign tokenizers have rules of their own."""
    found = dict.fromkeys(change for text in texts for change in changes(text))
    if found and not isinstance(config, ForeignConfig):
        parts = joined([t(change) for change in found])
        st.caption(f":material/info: {t('The model reads a cleaned text: {changes}.', changes=parts)}")
