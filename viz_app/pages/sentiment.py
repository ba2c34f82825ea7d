"""Sentiment: a film review, its class, the words that the classifier attends to, and the words that decide."""

import streamlit as st

from model.inference.run import Run
from model.text.pair import texts_of
from viz_app.components.page_parts import add_fact
from viz_app.content.translation import t
from viz_app.sections import sentiment
from viz_app.services import models
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import explain

key, config = checkpoint_choice.require_classifier()
field, side = st.columns([3, 1.4])
with side:
    sentiment.example_list()
with field:
    text = sentiment.ask_for_review(config, height=110)
    st.button(
        t("Classify"),
        key="read_review",
        help=t("The model reads the review when you leave the field, when you press Ctrl+Enter, and with this button."),
    )
review, _ = texts_of(text)
add_fact(t("Review"), review)
if not review.strip():
    end_page(t("Type a review above, or choose one of the examples."))
run = Run(text=text)
reading = models.classification_of(key, run)
with side:
    sentiment.show_class(reading)
sentiment.note_limits(reading, max_length=config.model.max_length)
weights = sentiment.draw_word_attention(reading, config.tokenizer.source_language)
sentiment.word_deletion(key, run)
left, right = st.columns([1, 1.6])
with left:
    sentiment.show_top_words(reading, weights)
with right:
    sentiment.draw_review_map(key, reading)
explain(f"pooling-{reading.pooled_by}", "several-labels" if reading.several_labels else "one-label")
