"""How much of every written word was read in the source, and how much follows from the words before it."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.config.section import ConfigError
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
    """Draw the two shares of every written token, and of which tokens they are made."""
    try:
        translation, influence = analyses.influence_of(key, text, *run)
    except ConfigError as error:
        st.info(plain(f"{error} Shorten the text."))
        return
    written = [token.text for token in translation.written]
    section(
        "Read or guessed?",
        "How much of each written word came from the source, and how much from <s> and "
        "the words written before it. A word with little from the source leans more on what was already written.",
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
        alt="Bars: for each written word the shares that came from the source and from the words before it",
    )
    section(
        "From which tokens",
        "Each row sums to 1 over both pictures; unlike an attention map, this follows what the "
        "tokens really gave, through all layers, residuals and norms.",
    )
    largest = float(max(influence.source.max(), influence.target.max()))
    sides = (
        ("source", influence.source, [token.text for token in translation.source], "source token"),
        ("target", influence.target, [token.text for token in translation.read], "token read before"),
    )
    for column, (name, shares, keys, title) in zip(st.columns(2), sides, strict=True):
        with column:
            allowed = np.ones(shares.shape, dtype=bool) if name == "source" else np.tri(len(shares), dtype=bool)
            draw(
                head_map(
                    shares.astype(np.float32),
                    Axes(queries=written, keys=keys, query_title="written word", key_title=title),
                    allowed,
                    height=360,
                    unit="share",
                    largest=largest,
                ),
                key=f"influence_{name}",
                alt=f"Heatmap of the share of each {title} in each written word",
            )
    second_opinion(key, text, run, written)
    explanation(
        "How it is computed",
        "ALTI+ (Ferrando et al. 2022). The output of attention at a place is a sum of vectors, one from each place. "
        "The residual belongs to the place's own vector; in cross-attention it counts for the words before. A vector "
        "counts for as much as it brings the sum nearer to the output, in the L₁ norm; these shares are multiplied "
        "from layer to layer. Here the vectors of every layer add up to its output within "
        f"{influence.residual:.1g}. The second opinion is value zeroing (Mohebbi et al. 2023): one minus the cosine "
        "of a place's output with and without the values of a token.",
        r"c_{ij} \propto \max(0, \lVert y_i\rVert_1 - \lVert y_i - T_i(x_j)\rVert_1)",
    )


def second_opinion(key: CheckpointKey, text: str, run: Run, written: Sequence[str]) -> None:
    """Draw the share that the source has in each layer by value zeroing, or say why it is not computed."""
    section(
        "A second opinion, layer by layer",
        "One token's values are set to zero, and the rest of the layer is "
        "computed again. How much of the change of each word is due to the source?",
    )
    try:
        zeroing = analyses.zeroing_of(key, text, *run)
    except ConfigError as error:
        st.info(plain(f"{error} Shorten the text."))
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
        alt="Heatmap: for each layer of the decoder and each written word the share that the source's values have",
    )
