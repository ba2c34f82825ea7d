"""What the heads of a classifier make of distances: scores by rotary positions alone, and weights in a text."""

import streamlit as st

from model.analysis.by_distance import weight_by_distance
from model.inference.opening import AnyConfig
from viz_app.content.examples import REVIEWS
from viz_app.figures import positions
from viz_app.services import analyses, classifications, translations
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.head_picker import pick_layer
from viz_app.widgets.headings import section
from viz_app.widgets.text_field import note_text_too_long_for_link

__all__ = ["distance_scores", "distance_weights"]

REACH = 12  # tokens on each side


def distance_scores(key: CheckpointKey, config: AnyConfig) -> None:
    """Draw the part of the scores that knows the distance alone, of a classifier with rotary positions."""
    section(
        "What the distance alone gives to a score",
        "A curve a head of the checkpoint: how many points a key has "
        "before any word is known, over a key at the same place as the query. Three points more are 20 times the "
        "weight (e³). Flat: what that head makes of the distance, it makes together with the words.",
    )
    layer = layer_picker(config.model.num_encoder_layers)
    scores = analyses.scores_by_distance_of(key, layer, min(REACH, (config.model.max_length - 1) // 2))
    draw(
        positions.by_distance(scores - scores[:, scores.shape[1] // 2, None], unit="points of score", height=360),
        key="distance_scores",
        alt=f"Score by the distance of query and key, a curve for each head of layer {layer + 1}",
    )
    explanation(
        "Where it comes from",
        "A query is Wx + b and a key W′y + b′, each turned by its position. Multiplied out, the product of the biases "
        "b and b′ knows no word, and once they are turned it depends on the distance alone (Su et al. 2021, equation "
        "16). The other three products know the words, and the distance too. In a training from nothing the first "
        "head begins at the word before, the second at the word after.",
        r"\frac{(R_t\,b)\cdot(R_s\,b')}{\sqrt{d_k}}=\frac{b\cdot R_{s-t}\,b'}{\sqrt{d_k}}",
    )


def distance_weights(key: CheckpointKey, config: AnyConfig) -> None:
    """Draw the mean weight at each distance in a text that a classifier reads."""
    settle("review", REVIEWS[0])
    text = st.text_area(
        "Type or paste a film review in English", key="review", height=80, max_chars=translations.MAX_CHARACTERS
    )
    note_text_too_long_for_link(text or "")
    if not text.strip():
        end_page("Type a review above.")
    reading = classifications.classification_of(key, text)
    section(
        "How far each head looks here",
        "The mean weight on the token at each distance, over all tokens of the "
        "text that have one there: what became of the distance once the words had their say.",
    )
    layer = layer_picker(config.model.num_encoder_layers)
    reach = min(REACH, len(reading.tokens) - 1)
    draw(
        positions.by_distance(weight_by_distance(reading.encoder[layer], reach), unit="mean weight", height=360),
        key="distance_weights",
        alt=f"Mean attention weight by the distance of query and key, a curve for each head of layer {layer + 1}",
    )


def layer_picker(layers: int) -> int:
    """Choose a layer, counted from 0, where there are several."""
    if layers == 1:
        return 0
    with st.columns([1, 4])[0]:
        return pick_layer(layers, prefix="review_")
