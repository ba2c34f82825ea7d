"""The translations of both sides, with a hint at what they show."""

import streamlit as st

from model.inference.opening import AnyConfig
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.translation import t
from viz_app.sections.compare.side_choice import Mode
from viz_app.services import loading
from viz_app.services.comparison import Side
from viz_app.widgets.marked_text import compared
from viz_app.widgets.text_notes import doubt_note

__all__ = ["demonstration_hint", "two_texts"]


def two_texts(mode: Mode, left: Side, right: Side) -> None:
    """Draw both translations, with marks where two texts in the same language differ."""
    first, second = left.translation(), right.translation()
    languages = {loading.config_of(side.key).tokenizer.target_language for side in (left, right)}
    texts = [(left.name, first.text), (right.name, second.text)]
    groups = [[text] for text in texts] if mode == "sentences" or len(languages) > 1 else [texts]
    st.html(compared(*groups, languages=[first.languages[1], second.languages[1]]))
    sides = {(side.key, side.run.text): side for side in (left, right)}.values()
    for side in sides:
        doubt_note(side.key, side.run.usual, side=side.name if len(sides) > 1 else "")


def demonstration_hint(config: AnyConfig, right: Side, best: str) -> None:
    """Above the demonstration of the page: what its two translations show.

    Args:
        config: The configuration of the checkpoint on the left.
        right: The right side.
        best: The name of the checkpoint that the demonstration is made for.
    """
    demonstration = demonstration_for(config)
    if demonstration.look_for and right.run.text == demonstration.compared and right.name == best:
        st.caption(t(":material/lightbulb: {hint}", hint=t(demonstration.look_for)))
