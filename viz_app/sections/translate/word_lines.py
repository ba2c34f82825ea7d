"""Lines between the tokens that the model read and wrote: the weights of the map that is chosen."""

import streamlit as st

from model.config.kinds import KINDS
from model.inference.translation import Translation
from viz_app.components.attention_view import select_head
from viz_app.components.page_parts import draw_word_lines
from viz_app.content.limits import MAX_CHIPS, WINDOW
from viz_app.content.translation import t
from viz_app.sections.translate.map_choice import MapChoice
from viz_app.sections.translate.written_text import token_rows

__all__ = ["word_lines"]


def word_lines(choice: MapChoice, translation: Translation) -> None:
    """Draw the lines, unless there are too many tokens.

    There is one chip per token. So the lines show weights of tokens, also where the map shows words or value norms.
    """
    if max(map(len, token_rows(translation).values())) > MAX_CHIPS:
        return
    if choice.as_written:
        weights, name = choice.large.weights, choice.large.name
    elif choice.head == "rollout":
        weights, name = select_head(translation.maps[choice.kind], choice.layer, "mean"), t("mean of the heads")
    else:
        weights, name = select_head(translation.maps[choice.kind], choice.layer, choice.head), choice.large.name
    with st.sidebar:  # the component itself is invisible
        draw_word_lines(
            weights,
            choice.kind,
            title=t(
                "Weights between the tokens: {kind}, layer {layer}, {map}",
                kind=t(KINDS[choice.kind].full_name),
                layer=choice.layer + 1,
                map=name,
            ),
            given=translation.prompt_length,
            in_map=choice.as_written and max(weights.shape) <= WINDOW and choice.how == "heatmaps",
        )
