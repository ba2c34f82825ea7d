"""Layer by layer: the way of one token through a layer. Each station has a formula, its code and its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.readout_stations import WordPrediction
from model.analysis.station import Station
from model.config.model import ModelConfig
from model.inference.translation import Translation
from model.network.protocols import Sizes
from viz_app.components.elements.diagrams import architecture_map, derivation
from viz_app.content.plain import visible
from viz_app.figures.architecture import Outline, architecture
from viz_app.figures.style import Axes
from viz_app.figures.vectors import rows
from viz_app.services import analyses, loading, translations
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import set_choice, settle
from viz_app.widgets.charts import draw, numbers
from viz_app.widgets.headings import section

__all__ = ["layer_by_layer"]

STACKS = {"encoder": "Encoder", "decoder": "Decoder"}
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
        return f"{self.stack}, layer {self.layer + 1}, “{self.token}”"


def layer_by_layer(key: CheckpointKey, text: str, run: translations.Run) -> None:
    """Ask for a token and a layer, and follow the token through it."""
    sizes = loading.config_of(key).model
    chosen = ask_for_token(translations.translation_of(key, text, *run), sizes)
    stations, prediction = analyses.stations_of(key, text, chosen.stack, chosen.layer, chosen.position, *run)
    # The drawing needs its full width for words of 14 pixels.
    vectors = st.container(key="overview")
    if isinstance(sizes, ModelConfig):
        drawing, vectors = vectors.columns([1.05, 1])
        with drawing:
            section("Where in the model?", "The whole model. Choose a layer to follow the token through it.")
            architecture_map(
                architecture(outline_of(sizes)),
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
    compare_with_model(stations)


def compare_with_model(stations: Sequence[Station]) -> None:
    """Say whether the computed numbers equal those of the model."""
    worst = max(stations, key=lambda station: station.difference)
    size = max(1.0, *(float(np.abs(station.vector).max()) for station in stations))
    if worst.difference < ROUNDING * size:
        st.success(
            f"The numbers on this page agree with the model's. The largest difference is {worst.difference:.2g}. It is "
            "only rounding.",
            icon=":material/check:",
        )
    else:
        st.error(
            f"The numbers of the station “{worst.name}” differ from the model's by up to {worst.difference:.2g}. The "
            "model computes something that this page does not show.",
            icon=":material/error:",
        )


def ask_for_token(translation: Translation, sizes: Sizes) -> TokenInLayer:
    """Ask for the stack, the layer, the token, and whether code is shown."""
    stacks, layers, tokens, switch = st.columns([2, 1.4, 2.4, 2], vertical_alignment="bottom")
    offered = [stack for stack in STACKS if sizes.num_layers(stack)]
    settle("stack", offered[-1], offered)
    with stacks:
        stack = st.segmented_control("Stack", offered, format_func=STACKS.__getitem__, required=True, key="stack")
    stack = stack or offered[-1]
    layer_numbers = list(range(1, sizes.num_layers(stack) + 1))
    settle("station_layer", layer_numbers[-1], layer_numbers)
    layer = layers.selectbox("Layer", layer_numbers, key="station_layer")
    read = translation.source if stack == "encoder" else translation.read
    positions = list(range(1, len(read) + 1))
    settle("station_place", min(2, positions[-1]), positions)
    position = tokens.selectbox(
        "Token that is read",
        positions,
        format_func=["", *(f"{i} · {token.text}" for i, token in enumerate(read, start=1))].__getitem__,
        key="station_place",
    )
    settle("station_code", False)
    with_code = switch.toggle(
        "Code and numbers", key="station_code", help="Show the code of each step and the numbers that it computes."
    )
    return TokenInLayer(
        stack=stack, layer=layer - 1, position=position - 1, token=read[position - 1].text, with_code=with_code
    )


def outline_of(sizes: ModelConfig) -> Outline:
    return Outline(
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
        f"The vector of “{token}”",
        f"Its {width} numbers after every part of the model. Attention and feed-forward show what they add. Red is "
        "positive, blue is negative.",
    )
    draw(
        rows(
            np.stack([station.vector for station in stations]),
            Axes(
                queries=[f"{number}. {station.name}" for number, station in enumerate(stations, start=1)],
                keys=[str(i) for i in range(width)],
                query_title="after",
                key_title="dimension",
            ),
            unit="value",
            height=80 + 34 * len(stations),
        ),
        key="stations",
        alt=f"Heatmap of the vector of a token after each of {len(stations)} parts of the model",
    )


def draw_station(number: int, station: Station, chosen: TokenInLayer) -> None:
    """Show the formula of a station, and its steps with code and numbers where they were requested."""
    name, formula = st.container(key=f"stop_{number}").columns([1, 2.2], vertical_alignment="center")
    with name:
        section(f"{number}. {station.name}", f"Difference from the model's own: {station.difference:.2g}")
    formula.latex(station.formula)
    if chosen.with_code and station.steps:
        title = f"{number}. {station.name}: {chosen.title}"
        derivation(station.steps, station.code, alt=station.name, title=title, key=f"station_{number}")
        numbers(
            {step.name: partial(pd.DataFrame, step.numbers) for step in station.steps},
            summary=station.steps[-1].formula,
            key=f"station_{number}",
            alt=station.name,
        )


def draw_prediction(number: int, prediction: WordPrediction, chosen: TokenInLayer) -> None:
    """Show the ten most likely next tokens, after the decoder's last layer."""
    words, code = st.container(key=f"stop_{number}").columns([1, 1.25])
    with words:
        section(f"{number}. A word", "The last vector is projected to the vocabulary. Then comes the softmax.")
        st.latex(prediction.formula)
        st.dataframe(
            pd.DataFrame(prediction.words, columns=["token", "logit", "probability"]),
            hide_index=True,
            alt="Table of the ten most likely next tokens with logit and probability",
            column_config={
                "logit": st.column_config.NumberColumn(format="%.3f"),
                "probability": st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=1.0),
            },
        )
    if chosen.with_code:
        title = f"{number}. A word: {chosen.title}"
        with code:
            derivation((), prediction.code, alt="the words", title=title, key="station_code_of_words")
