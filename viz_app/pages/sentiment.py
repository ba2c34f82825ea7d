"""Sentiment: a film review, its class, and the words that the classifier looked at."""

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.statistics import rollout
from model.checkpoints.languages import tag
from model.inference.confidence import MAX_UNREAD_SHARE
from viz_app.content.examples import REVIEWS
from viz_app.content.plain import percent, plain
from viz_app.figures.attention import head_map
from viz_app.figures.style import Axes
from viz_app.sections.sentiment.word_deletion import word_deletion
from viz_app.services import classifications, listing, translations
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.charts import draw
from viz_app.widgets.chips import sentence, weighted_text
from viz_app.widgets.explanation import explanation
from viz_app.widgets.head_picker import pick_head
from viz_app.widgets.headings import section
from viz_app.widgets.text_field import note_text_too_long_for_link, use_example

POOLED = {
    "attention": (
        "one learned query then looks at every word with several heads, and the class is read off what they gather. A "
        "large share means that the word was looked at, not that it decided.",
        r"z = \sum_j \alpha_j v_j",
    ),
    "mean": (
        "the class is read off the mean of its vectors, where each word has the same share.",
        r"z = \tfrac1S\sum_j x_j",
    ),
    "first": (
        "the class is read off the vector of the first token, in which the layers have gathered the other words.",
        r"z = x_1",
    ),
}
MEANS = {"attention": "pooling, mean", "mean": "mean of all words", "first": "first token"}
MAX_MAP = 120  # tokens; a larger map has cells smaller than a pixel

found = listing.listed_checkpoints()
key, config = checkpoint_choice.require_classifier(found)
settle("review", REVIEWS[0])

field, side = st.columns([3, 1.4])
with side:
    st.selectbox(
        "Examples",
        REVIEWS,
        index=None,
        key="review_example",
        placeholder="Choose a review",
        on_change=use_example,
        args=("review_example", "review"),
    )
with field:
    text = st.text_area(
        "Type or paste a film review in English",
        key="review",
        height=110,
        max_chars=translations.MAX_CHARACTERS,
    )
    st.button(
        "Read it", key="read_review", help="What was typed is read when one leaves the field; Ctrl+Enter does too."
    )
note_text_too_long_for_link(text or "")
add_fact("Review", text or "")
if not (text or "").strip():
    end_page("Type a review above, or choose one of the examples.")
reading = classifications.classification_of(key, text)
with side:
    st.html(sentence(f"{reading.label}: {percent(reading.probabilities[reading.label])}"))
    for label, probability in reading.probabilities.items():
        st.progress(probability, plain(f"{label} {percent(probability)}"))
if reading.unread > MAX_UNREAD_SHARE:
    st.caption(":material/info: Much of this text is in no word that this model knows, so it can but guess its class.")
if reading.dropped:
    st.warning(
        f"The model reads {config.model.max_length} tokens at once: {reading.dropped} from the middle of the review "
        "were left out; its beginning and its end are kept."
    )

layers, heads = reading.encoder.shape[:2]
# What the learned query looks at; where the classifier takes the mean of all words, each has the same share.
uniform = np.full((1, len(reading.tokens)), 1 / len(reading.tokens), dtype=np.float32)
pooling = uniform if reading.pooling is None else reading.pooling  # (H, S)
mean = pooling.mean(axis=0)
shares = {"rollout": mean @ rollout(reading.encoder)[-1], "mean": mean} | {
    f"pool {head}": one for head, one in enumerate(pooling) if reading.pooled_by == "attention"
}
choices = {"rollout": "rollout to the words", "mean": MEANS[reading.pooled_by]} | {
    f"pool {head}": f"pooling head {head + 1}" for head in range(len(shares) - 2)
}
settle("reading", "rollout", choices)
chosen = st.segmented_control(
    "Where it looks", list(choices), format_func=choices.__getitem__, required=True, key="reading"
)
weights = shares[chosen or "rollout"]
st.caption(
    "**Looking is not deciding.** Each word is shaded by its share of attention; point at it for the number. Pooling: "
    "how much the query that sums up the review looks at this place. Rollout: the same, followed back to the words."
)
st.html(weighted_text(reading.tokens, [float(weight) for weight in weights], tag(config.tokenizer.source_language)))

word_deletion(key, text, reading)

left, right = st.columns([1, 1.6])
with left:
    section("The words that it looks at most")
    order = np.argsort(weights)[::-1][:12]
    st.dataframe(
        pd.DataFrame({"word": [reading.tokens[i] for i in order], "position": order + 1, "share": weights[order]}),
        hide_index=True,
        height=400,
        alt="Table of the words with the largest share",
        column_config={
            "share": st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=float(weights.max()))
        },
    )
with right:
    section("Encoder self-attention", "For every word (row), how much it mixes in each other word (column).")
    layer, head = pick_head(layers, heads, prefix="review_")
    maps = reading.encoder[layer, head]
    if len(maps) > MAX_MAP:
        st.caption(f"The first {MAX_MAP} of {len(maps)} words are drawn.")
        maps = maps[:MAX_MAP, :MAX_MAP]
    tokens = reading.tokens[: len(maps)]
    draw(
        head_map(
            maps,
            Axes(queries=tokens, keys=tokens, query_title="query: word being encoded", key_title="key: word looked at"),
            reading.allowed[layer, : len(maps), : len(maps)],
            height=430,
        ),
        key="review_map",
        alt=f"Encoder self-attention of layer {layer + 1}, head {head + 1} over the words of the review",
    )
explanation(
    "How it is computed",
    f"The encoder reads the review; {POOLED[reading.pooled_by][0]}"
    + (" A text may have several labels: each has a probability of its own." if reading.several_labels else ""),
    POOLED[reading.pooled_by][1]
    + (r"\qquad p = \sigma(W z + b)" if reading.several_labels else r"\qquad p = \mathrm{softmax}(W z + b)"),
)
