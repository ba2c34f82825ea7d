"""The effect of distance in the heads of a classifier: on their scores, and on their weights in a text."""

import numpy as np
import streamlit as st

from model.analysis.by_distance import weight_by_distance
from model.inference.run import Run
from model.text.pair import texts_of
from viz_app.content.translation import N_, t
from viz_app.figures import positions
from viz_app.sections.sentiment.review_field import ask_for_review
from viz_app.services import analyses, loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.head_picker import pick_layer
from viz_app.widgets.headings import section

__all__ = ["NUMBERS", "distance_numbers", "distance_scores", "distance_weights"]

REACH = 12  # tokens on each side
NUMBERS = {
    "alibi": N_(
        "Attention itself ignores the order of the words. This model adds nothing to its tokens. Each head lowers its "
        "scores in proportion to the distance between query and key (**ALiBi**, Press et al. 2022). Nothing is "
        "learned: each head has a fixed slope."
    ),
    "relative": N_(
        "Attention itself ignores the order of the words. This model adds nothing to its tokens. It **learned a number "
        "for each distance** and each head, and adds it to the scores (T5, Raffel et al. 2020). Far distances share "
        "one number."
    ),
}

ADDED = {
    "encoder": N_(
        (
            "What the encoder adds to a score",
            "One curve for each head: the points of score that a key gets for its distance from the query.",
        )
    ),
    "decoder": N_(
        (
            "What the decoder adds to a score",
            "One curve for each head: the points of score that a key gets for its distance from the query. Keys after "
            "the query are masked.",
        )
    ),
}
ADDED_ALT = {
    "encoder": N_("Number added to the score by the distance of query and key, a curve for each head of the encoder"),
    "decoder": N_("Number added to the score by the distance of query and key, a curve for each head of the decoder"),
}


def distance_scores(key: CheckpointKey) -> None:
    """Draw the part of the scores that depends only on the distance, for a model with rotary positions."""
    config = loading.config_of(key)
    section(
        t("The part of a score that depends only on the distance"),
        t(
            "One curve for each head. It shows the points of score that a key gets from its distance, compared with a "
            "key at the position of the query. Three points more mean 20 times the weight (e³). In a head with a flat "
            "curve, the distance counts only together with the words."
        ),
    )
    layer = layer_picker(config.model.num_encoder_layers)
    scores = analyses.scores_by_distance_of(key, layer, min(REACH, (config.model.max_length - 1) // 2))
    draw(
        positions.by_distance(scores - scores[:, scores.shape[1] // 2, None], unit=t("points of score"), height=360),
        key="distance_scores",
        alt=t("Score by the distance of query and key, a curve for each head of layer {layer}", layer=layer + 1),
    )
    explanation(
        t("Where it comes from"),
        t(
            "A query is Wx + b and a key is W′y + b′. Each is rotated by its position. Their product is a sum of four "
            "products. The product of the rotated biases b and b′ does not depend on the words. It depends only on the "
            "distance (Su et al. 2021, equation 16). The other three products depend on the words and on the distance. "
            "When training starts, the first head prefers the previous word, and the second head prefers the next word."
        ),
        r"\frac{(R_t\,b)\cdot(R_s\,b')}{\sqrt{d_k}}=\frac{b\cdot R_{s-t}\,b'}{\sqrt{d_k}}",
    )


def distance_numbers(key: CheckpointKey) -> None:
    """Draw the numbers that a model adds to its scores: the same in every layer of the encoder or the decoder."""
    config = loading.config_of(key)
    st.markdown(t(NUMBERS[config.model.positional]))
    for kind in ("encoder", "decoder"):
        if not config.model.num_layers(kind):
            continue
        section(*(t(text) for text in ADDED[kind]))
        scores = analyses.scores_by_distance_of(key, 0, REACH, stack=kind)
        if kind == "decoder":
            scores = np.where(np.arange(scores.shape[1]) > REACH, np.float32("nan"), scores)
        draw(
            positions.by_distance(scores, unit=t("points of score"), height=360),
            key=f"{kind}_distance_numbers",
            alt=t(ADDED_ALT[kind]),
        )


def distance_weights(key: CheckpointKey) -> None:
    """Ask for a text, and draw the mean attention weight at each distance in it."""
    config = loading.config_of(key)
    text = ask_for_review(config, height=80)
    if not texts_of(text)[0].strip():
        end_page(t("Type a review above."))
    reading = results.classification_of(key, Run(text=text))
    section(
        t("How far each head attends in this text"),
        t(
            "The mean attention weight at each distance, over all tokens that have a token at that distance. This is "
            "the effect of the distance and of the words together."
        ),
    )
    layer = layer_picker(config.model.num_encoder_layers)
    reach = min(REACH, len(reading.tokens) - 1)
    draw(
        positions.by_distance(weight_by_distance(reading.encoder[layer], reach), unit=t("mean weight"), height=360),
        key="distance_weights",
        alt=t(
            "Mean attention weight by the distance of query and key, a curve for each head of layer {layer}",
            layer=layer + 1,
        ),
    )


def layer_picker(layers: int) -> int:
    """Choose a layer, counted from 0, if there are several."""
    if layers == 1:
        return 0
    with st.columns([1, 4])[0]:
        return pick_layer(layers, prefix="review_")
