"""The encoder self-attention of one head over the words of a review."""

import streamlit as st

from model.inference.classify import Classification
from viz_app.content.translation import t
from viz_app.figures.attention import head_map
from viz_app.figures.style import Axes
from viz_app.widgets.charts import draw
from viz_app.widgets.head_picker import pick_head
from viz_app.widgets.headings import section

__all__ = ["draw_review_map"]

MAX_WORDS = 120  # a larger map has cells smaller than a pixel


def draw_review_map(reading: Classification) -> None:
    """Ask for a head of the encoder, and draw its map."""
    section(t("Encoder self-attention"), t("How much each word (row) attends to each word (column)."))
    layers, heads = reading.encoder.shape[:2]
    layer, head = pick_head(layers, heads, prefix="review_")
    if len(reading.tokens) > MAX_WORDS:
        st.caption(t("The map shows the first {shown} of {all} words.", shown=MAX_WORDS, all=len(reading.tokens)))
    tokens = reading.token_labels[:MAX_WORDS]
    draw(
        head_map(
            reading.encoder[layer, head, :MAX_WORDS, :MAX_WORDS],
            Axes(
                queries=tokens,
                keys=tokens,
                query_title=t("query: word being encoded"),
                key_title=t("key: word attended to"),
            ),
            reading.allowed[layer, :MAX_WORDS, :MAX_WORDS],
            height=430,
        ),
        key="review_map",
        alt=t(
            "Encoder self-attention of layer {layer}, head {head} over the words of the review",
            layer=layer + 1,
            head=head + 1,
        ),
    )
