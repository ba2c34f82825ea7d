"""Read or guessed: how much of every written word came from the source, and how much from the words before it."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.analysis.influence import Influence
from model.config.section import ConfigError
from model.inference.translation import Translation
from viz_app.content.plain import plain
from viz_app.figures.attention import head_map
from viz_app.figures.style import Axes
from viz_app.figures.words import stacked_shares
from viz_app.services import analyses
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import Run
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.headings import section

__all__ = ["read_or_guessed"]


def read_or_guessed(key: CheckpointKey, text: str, run: Run) -> None:
    """Draw the two shares of every written token, the tokens that they come from, and a second measure of them."""
    try:
        translation, influence = analyses.influence_of(key, text, *run)
    except ConfigError as error:
        st.info(plain(str(error)))
        return
    written = [token.text for token in translation.written]
    if not written or not translation.source:
        st.info("This view needs a translator.")
        return
    draw_shares(influence, written)
    draw_contributing_tokens(influence, translation)
    draw_value_zeroing(key, text, run, written)
    explanation(
        "How it is computed",
        "ALTI+ (Ferrando et al. 2022). The output of attention at one position is a sum of vectors, one from each "
        "position. The residual counts as the position's own vector. In cross-attention, the residual counts for the "
        "words before. The share of a vector is how much closer it brings the sum to the output, in the L₁ norm. The "
        "shares of all layers are multiplied. Here the vectors of every layer add up to its output within "
        f"{influence.residual:.1g}. The second measure is value zeroing (Mohebbi et al. 2023): one minus the cosine "
        "between the output of a position with the values of a token and without them.",
        r"c_{ij} \propto \max(0, \lVert y_i\rVert_1 - \lVert y_i - T_i(x_j)\rVert_1)",
    )


def draw_shares(influence: Influence, written: Sequence[str]) -> None:
    """Draw a bar for every written word: the share from the source, and the share from the words before it."""
    section(
        "Read or guessed?",
        "How much of each written word comes from the source, and how much from <s> and the words written before it. A "
        "word with a small share from the source depends more on the words before it.",
    )
    draw(
        stacked_shares(
            {
                "from the source": influence.source.sum(axis=1).tolist(),
                "from the words before": influence.target.sum(axis=1).tolist(),
            },
            written,
            title="written word",
            height=300,
        ),
        key="read_or_guessed",
        alt="Bars: for each written word the share from the source and the share from the words before it",
    )


def draw_contributing_tokens(influence: Influence, translation: Translation) -> None:
    """Draw the share of every source token and of every token read before in each written word."""
    section(
        "From which tokens",
        "Each row sums to 1 over both pictures. Unlike an attention map, the shares follow the vectors through all "
        "layers, residuals and norms.",
    )
    written = [token.text for token in translation.written]
    largest = float(max(influence.source.max(), influence.target.max()))
    everywhere = np.ones(influence.source.shape, dtype=bool)
    earlier = np.tri(len(influence.target), dtype=bool)
    sides = (
        ("source", influence.source, everywhere, [token.text for token in translation.source], "source token"),
        ("target", influence.target, earlier, [token.text for token in translation.read], "token read before"),
    )
    for column, (name, shares, allowed, tokens, title) in zip(st.columns(2), sides, strict=True):
        with column:
            draw(
                head_map(
                    shares.astype(np.float32),
                    Axes(queries=written, keys=tokens, query_title="written word", key_title=title),
                    allowed,
                    height=360,
                    unit="share",
                    largest=largest,
                ),
                key=f"influence_{name}",
                alt=f"Heatmap of the share of each {title} in each written word",
            )


def draw_value_zeroing(key: CheckpointKey, text: str, run: Run, written: Sequence[str]) -> None:
    """Draw the share of the source in each layer by value zeroing, or say why it is not computed."""
    section(
        "A second measure, layer by layer",
        "The values of one token are set to zero, and the rest of the layer is computed again. The picture shows which "
        "share of the change in each word is due to the source.",
    )
    try:
        zeroing = analyses.zeroing_of(key, text, *run)
    except ConfigError as error:
        st.info(plain(str(error)))
        return
    layers = [f"layer {i + 1}" for i in range(len(zeroing.shares))]
    draw(
        head_map(
            zeroing.shares,
            Axes(queries=layers, keys=written, query_title="decoder", key_title="written word"),
            np.ones(zeroing.shares.shape, dtype=bool),
            height=200,
            unit="source",
        ),
        key="zeroing",
        alt="Heatmap: the share of the source for each layer of the decoder and each written word",
    )
