"""Read or guessed: how much of every written word came from the source, and how much from the words before it."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from model.analysis.influence import Influence
from model.analysis.influence import influence as influence_in
from model.analysis.streams import FloatArray
from model.analysis.zeroing import value_zeroing
from model.config.section import ConfigError
from model.inference.run import Result, Run
from viz_app.content.plain import plain
from viz_app.content.translation import t, worded
from viz_app.figures.lines import stacked_shares
from viz_app.figures.style import Axes, bound_of
from viz_app.services import models
from viz_app.services.analyses import analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.atlas_links import draw_head_map
from viz_app.widgets.charts import draw, draw_map
from viz_app.widgets.head_picker import choose_window
from viz_app.widgets.headings import explain, grade_line, section

__all__ = ["read_or_guessed"]

MOST_BARS = 40  # tokens in one row of the map of shares of a decision


def read_or_guessed(key: CheckpointKey, run: Run) -> None:
    """Draw the two shares of every written token, the tokens that they come from, and a second measure of them."""
    translation, influence = models.result_of(key, run), analysis_of(influence_in, key, run)
    first = translation.prompt_length
    written = [token.text for token in translation.written[first:]]
    if not influence.agrees:
        st.error(
            t(
                "The vectors of a layer differ from its output by up to {difference}. The model computes something "
                "that this view would not show.",
                difference=f"{influence.residual:.2g}",
            ),
            icon=":material/error:",
        )
        return
    if influence.pooled is not None:
        draw_tokens_of_decision(influence.pooled, translation)
        grade_line("influence")
        return
    if written:
        draw_shares(influence, translation, written)
        draw_contributing_tokens(influence, translation, written)
        grade_line("influence")
        draw_value_zeroing(key, run, translation, written)
    else:
        draw_tokens_that_were_read(influence, translation)
        grade_line("influence")
    explain("influence", *(["value-zeroing"] if written else []), difference=f"{influence.residual:.1g}")


def draw_shares(influence: Influence, translation: Result, written: Sequence[str]) -> None:
    """Draw a bar for every written word: what the model was given, and the words that it wrote before."""
    translates = bool(translation.source)
    section(
        t("Read or guessed?"),
        t(
            "How much of each written word comes from the source, and how much from <s> and the words written before "
            "it. A word with a small share from the source depends more on the words before it."
        )
        if translates
        else t(
            "How much of each written word comes from the text that you typed, and how much from the words that the "
            "model wrote after it."
        ),
    )
    given = influence.given(translation.prompt_length)[translation.prompt_length :]
    draw(
        stacked_shares(
            {
                t("from the source") if translates else t("from your text"): given.tolist(),
                t("from the words before") if translates else t("from its own words"): (1 - given).tolist(),
            },
            written,
            title=t("written word"),
            height=300,
        ),
        key="read_or_guessed",
        alt=t("Bars: for each written word the share from what was given and the share from the words before it"),
    )


def draw_contributing_tokens(influence: Influence, translation: Result, written: Sequence[str]) -> None:
    """Draw the share of every source token and of every token read before in each written word."""
    section(
        t("From which tokens"),
        t(
            "The shares of a row add up to 1 in both pictures together. Unlike an attention map, the shares follow the "
            "vectors through all layers, residuals and norms."
        ),
    )
    rows = slice(translation.prompt_length, None)
    source, target = influence.source[rows], influence.target[rows]
    earlier = np.tri(len(influence.target), dtype=bool)[rows]
    source_tokens, read = ([token.label for token in tokens] for tokens in (translation.source, translation.read))
    sides = [("target", target, earlier, read, t("token read before"))]
    if translation.source:
        sides.insert(0, ("source", source, np.ones(source.shape, dtype=bool), source_tokens, t("source token")))
    largest = float(max(source.max(initial=0), target.max()))
    _, wide, _, tokens, title = max(sides, key=lambda side: len(side[3]))
    names = Axes(queries=written, keys=tokens, query_title=t("written word"), key_title=title)
    window = choose_window(wide, names, unit="shares")
    for column, (name, shares, allowed, tokens, title) in zip(st.columns(len(sides)), sides, strict=True):
        with column:
            draw_head_map(
                shares.astype(np.float32),
                Axes(queries=written, keys=tokens, query_title=t("written word"), key_title=title),
                allowed,
                window=window,
                of=None,
                key=f"influence_{name}",
                least=360,
                unit=t("share"),
                largest=largest,
                alt=t("Heatmap of shares in each written word: {title}", title=title),
            )


def draw_tokens_that_were_read(influence: Influence, translation: Result) -> None:
    """Draw the share of every token in the last vector of every position of a model that only reads."""
    section(
        t("From which tokens"),
        t(
            "How much the last vector at each position depends on each token that was read. Each row sums to 1. Unlike "
            "an attention map, the shares follow the vectors through all layers, residuals and norms."
        ),
    )
    tokens = [token.label for token in translation.source]
    axes = Axes(queries=tokens, keys=tokens, query_title=t("position"), key_title=t("token read"))
    draw_head_map(
        influence.source.astype(np.float32),
        axes,
        np.ones(influence.source.shape, dtype=bool),
        window=choose_window(influence.source, axes, unit="shares"),
        of=None,
        key="influence_source",
        least=360,
        unit=t("share"),
        largest=bound_of(influence.source),
        alt=t("Heatmap of the share of each token in the last vector of each position"),
    )


def draw_tokens_of_decision(pooled: FloatArray, translation: Result) -> None:
    """Draw the share of each token in the vector that a classifier reads."""
    section(
        t("From which tokens?"),
        t(
            "How much the vector that the classifier reads depends on each token, through all layers. The shares "
            "sum to 1."
        ),
    )
    shares = pooled.astype(np.float32)
    strongest = np.sort(np.argsort(-shares)[:MOST_BARS])
    if len(shares) > MOST_BARS:
        st.caption(
            t("The picture shows the {n} tokens with the largest shares, of {all}.", n=MOST_BARS, all=len(shares))
        )
    draw_map(
        shares[strongest][None],
        Axes(
            queries=[t("decision")],
            keys=[translation.source[i].label for i in strongest],
            query_title=t("classifier"),
            key_title=t("token read"),
        ),
        key="class_influence",
        least=220,
        unit=t("share"),
        largest=bound_of(shares),
        alt=t("Heatmap of the share of each token in the vector that the classifier reads"),
    )


def draw_value_zeroing(key: CheckpointKey, run: Run, translation: Result, written: Sequence[str]) -> None:
    """Draw the share of what was given in each layer by value zeroing, or say why it is not computed."""
    section(
        t("A second measure, layer by layer"),
        t(
            "The values of one token are set to zero, and the rest of the layer is computed again. Each written word "
            "changes. The picture shows which share of these changes comes from the source."
        )
        if translation.source
        else t(
            "The values of one token are set to zero, and the rest of the layer is computed again. Each written word "
            "changes. The picture shows which share of these changes comes from the text that you typed."
        ),
    )
    try:
        zeroing = analysis_of(value_zeroing, key, run)
    except ConfigError as error:
        st.info(plain(worded(error)))
        return
    shares = zeroing.given(translation.prompt_length)[:, translation.prompt_length :]
    layers = [t("layer {layer}", layer=i + 1) for i in range(len(shares))]
    draw_map(
        shares,
        Axes(queries=layers, keys=written, query_title=t("decoder"), key_title=t("written word")),
        key="zeroing",
        least=200,
        unit=t("share"),
        alt=t("Heatmap of the share of the source in each written word, for each layer of the decoder")
        if translation.source
        else t("Heatmap of the share of your text in each written word, for each layer of the decoder"),
    )
    grade_line("value-zeroing")
