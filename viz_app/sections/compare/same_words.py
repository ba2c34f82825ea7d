"""Make both sides write the same words, so that their maps have the same rows."""

from dataclasses import dataclass

import streamlit as st

from model.inference.translation import Translation
from viz_app.content.translation import t
from viz_app.sections.compare.side_choice import Mode
from viz_app.services.comparison import Side, tokens_of_left_side
from viz_app.session.choices import settle

__all__ = ["TwoRuns", "run_both"]


@dataclass(frozen=True, kw_only=True)
class TwoRuns:
    """The runs of both sides."""

    left: Translation
    right: Translation
    forced: bool  # the right side is forced to write the words of the left side
    same_tokens: bool  # both split the words into the same tokens, or write different words


def run_both(mode: Mode, left: Side, right: Side) -> TwoRuns:
    """Run both sides, and ask whether they should write the same words."""
    translation = left.translation()
    words = () if mode == "sentences" else tokens_of_left_side(left, right)
    settle("same_words", True)
    wanted = st.toggle(
        t("Same words in both"),
        key="same_words",
        disabled=not words,
        help=t("Force the right model to write the words of the left model, so that their maps have the same rows."),
    )
    forced = bool(words) and wanted
    return TwoRuns(
        left=translation,
        right=right.translation(words if forced else ()),
        forced=forced,
        same_tokens=mode != "checkpoints" or words == tuple(enumerate(token.id for token in translation.written)),
    )
