"""Layer by layer: the way of one token through a layer. Each station has a formula, its code and its numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.station import Station
from model.analysis.stations import Prediction, way_of_token
from model.config.kinds import Sizes
from model.config.model import ModelConfig
from model.inference.run import Run
from viz_app.components.elements.derivation import derivation
from viz_app.components.elements.diagrams import architecture_map
from viz_app.content.plain import visible
from viz_app.content.translation import N_, t, tp, worded
from viz_app.figures.architecture import Drawing, architecture
from viz_app.figures.style import Axes
from viz_app.figures.vectors import rows
from viz_app.services import models
from viz_app.services.analyses import analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import set_choice, settle
from viz_app.widgets.charts import draw, numbers
from viz_app.widgets.choosing import choose
from viz_app.widgets.headings import section, verdict

__all__ = ["layer_by_layer"]

STACKS = {"encoder": N_("Encoder"), "decoder": N_("Decoder")}
ROUNDING = 1e-3  # of the largest number


@dataclass(frozen=True, kw_only=True)
class TokenInLayer:
    """The token and the layer to follow."""

    stack: str  # one of `STACKS`
    layer: int  # from 0
    position: int  # from 0
    token: str
    with_code: bool  # also show the code and the numbers of every step

    @property
    def title(self) -> str:
        return t("{stack}, layer {n}, “{token}”", stack=t(STACKS[self.stack]), n=self.layer + 1, token=self.token)


def ask_for_token(tokens: Mapping[str, Sequence[str]], sizes: Sizes) -> TokenInLayer:
    """Ask for the stack, the layer, the token, and whether code is shown.

    Args:
        tokens: Stack → the tokens that it reads.
        sizes: Of the model.
    """
    stacks, layers, places, switch = st.columns([2, 1.4, 2.4, 2], vertical_alignment="bottom")
    offered = [stack for stack in STACKS if sizes.num_layers(stack)]
    names = {stack: t(STACKS[stack]) for stack in offered}
    stack = choose(t("Stack"), names, key="stack", default=offered[-1], place=stacks)
    numbered = {i: str(i) for i in range(1, sizes.num_layers(stack) + 1)}
    layer = choose(t("Layer"), numbered, key="station_layer", default=len(numbered), place=layers, listed=True)
    read = tokens[stack]
    positions = {i: f"{i} · {token}" for i, token in enumerate(read, start=1)}
    position = choose(
        t("Token that is read"),
        positions,
        key="station_place",
        default=min(2, len(positions)),
        place=places,
        listed=True,
    )
    settle("station_code", False)
    with_code = switch.toggle(
        t("Code and numbers"),
        key="station_code",
        help=t("Show the code of each step and the numbers that it computes."),
    )
    return TokenInLayer(
        stack=stack, layer=layer - 1, position=position - 1, token=read[position - 1], with_code=with_code
    )


def layer_by_layer(key: CheckpointKey, run: Run) -> None:
    """Ask for a token and a layer, and follow the token through it."""
    sizes, translation = models.config_of(key).model, models.result_of(key, run)
    tokens = {"encoder": translation.source, "decoder": translation.read}
    chosen = ask_for_token({stack: [token.label for token in read] for stack, read in tokens.items()}, sizes)
    stations, prediction = analysis_of(way_of_token, key, run, chosen.stack, chosen.layer, chosen.position)
    # The drawing needs its full width for words of 14 pixels.
    vectors = st.container(key="overview")
    if isinstance(sizes, ModelConfig):
        drawing, vectors = vectors.columns([1.05, 1])
        with drawing:
            section(t("Where in the model?"), t("The whole model. Choose a layer to follow the token through it."))
            architecture_map(
                drawing_of(sizes),
                stack=chosen.stack,
                layer=chosen.layer,
                key="architecture",
                on_open=open_layer,
            )
    with vectors:
        draw_vectors(stations, visible(chosen.token))
    for number, station in enumerate(stations, start=1):
        draw_station(number, station, chosen)
    if prediction:
        draw_prediction(len(stations) + 1, prediction, chosen)
    compare_with_model(stations, prediction)


def compare_with_model(stations: Sequence[Station], prediction: Prediction | None) -> None:
    """Say whether the computed numbers equal those of the model."""
    if prediction is not None and prediction.difference > ROUNDING:
        verdict(
            False,
            t(
                "The probabilities differ from the model's by up to {difference}. The model computes something that "
                "this page does not show.",
                difference=f"{prediction.difference:.2g}",
            ),
        )
        return
    worst = max(stations, key=lambda station: station.difference)
    size = max(1.0, *(float(np.abs(station.vector).max()) for station in stations))
    agrees = worst.difference < ROUNDING * size
    text = (
        N_(
            "The numbers on this page agree with the model's. The largest difference is {difference}. It is only "
            "rounding."
        )
        if agrees
        else N_(
            "The numbers of the station “{station}” differ from the model's by up to {difference}. The model computes "
            "something that this page does not show."
        )
    )
    verdict(agrees, t(text, station=worded(worst.name), difference=f"{worst.difference:.2g}"))


def drawing_of(sizes: ModelConfig) -> Drawing:
    return architecture(
        encoder_layers=sizes.num_encoder_layers,
        decoder_layers=sizes.num_decoder_layers,
        d_model=sizes.d_model,
        d_ff=sizes.d_ff,
        heads=sizes.num_heads,
        source_vocabulary=sizes.source_vocab_size,
        target_vocabulary=sizes.target_vocab_size,
        pre_norm=sizes.norm == "pre",
    )


def open_layer(stack: str, layer: int) -> None:
    """Callback of the architecture: choose the layer that was clicked, counted from 0."""
    set_choice("stack", stack)
    set_choice("station_layer", layer + 1)


def draw_vectors(stations: Sequence[Station], token: str) -> None:
    """Draw the vector of the token after every station, one row each."""
    width = len(stations[0].vector)
    section(
        t("The vector of “{token}”", token=token),
        t(
            "Its {n} numbers after every part of the model. Attention and feed-forward show what they add. Red is "
            "positive, blue is negative.",
            n=width,
        ),
    )
    draw(
        rows(
            np.stack([station.vector for station in stations]),
            Axes(
                queries=[f"{number}. {worded(station.name)}" for number, station in enumerate(stations, start=1)],
                keys=[str(i) for i in range(width)],
                query_title=tp("part of the model", "after"),
                key_title=t("dimension"),
            ),
            unit=t("value"),
            height=80 + 34 * len(stations),
        ),
        key="stations",
        alt=t("Heatmap of the vector of a token after each of {n} parts of the model", n=len(stations)),
    )


def draw_station(number: int, station: Station, chosen: TokenInLayer) -> None:
    """Show the formula of a station, and its steps with code and numbers where they were requested."""
    name, formula = st.container(key=f"stop_{number}").columns([1, 2.2], vertical_alignment="center")
    heading = f"{number}. {worded(station.name)}"
    with name:
        section(heading, t("Difference from the model's own: {difference}", difference=f"{station.difference:.2g}"))
    formula.latex(station.formula)
    if chosen.with_code and station.steps:
        title = t("{station}: {place}", station=heading, place=chosen.title)
        derivation(station.steps, station.code, alt=worded(station.name), title=title, key=f"station_{number}")
        numbers(
            {t(step.name): partial(pd.DataFrame, step.numbers) for step in station.steps},
            summary=worded(station.steps[-1].formula),
            key=f"station_{number}",
            alt=worded(station.name),
        )


def draw_prediction(number: int, prediction: Prediction, chosen: TokenInLayer) -> None:
    """Show the most likely tokens or labels after the last layer."""
    words, code = st.container(key=f"stop_{number}").columns([1, 1.25])
    heading = f"{number}. {t('The prediction')}"
    with words:
        section(
            heading,
            t("A matrix makes one logit for each token or label, and logits become probabilities."),
        )
        st.latex(prediction.formula)
        logit, probability = t("logit"), t("probability")
        st.dataframe(
            pd.DataFrame(prediction.words, columns=[t("token"), logit, probability]),
            hide_index=True,
            alt=t("Table of the most likely tokens or labels with logit and probability"),
            column_config={
                logit: st.column_config.NumberColumn(format="%.3f"),
                probability: st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=1.0),
            },
        )
    if chosen.with_code:
        title = t("{station}: {place}", station=heading, place=chosen.title)
        with code:
            derivation((), prediction.code, alt=t("The prediction"), title=title, key="station_code_of_words")
