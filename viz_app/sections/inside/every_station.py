"""One token's way through a layer: at every station the formula, the code that computes it, and the numbers."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.station import Station
from model.config.model import ModelConfig
from viz_app.components.elements import architecture_map, derivation
from viz_app.content.plain import visible
from viz_app.figures.architecture import Outline, architecture
from viz_app.figures.style import Axes
from viz_app.figures.vectors import rows
from viz_app.services import analyses, loading, translations
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import set_choice, settle
from viz_app.widgets.charts import draw, numbers
from viz_app.widgets.headings import section

__all__ = ["every_station"]

STACKS = {"encoder": "Encoder", "decoder": "Decoder"}


def every_station(key: CheckpointKey, text: str, run: translations.Run) -> None:
    """Ask for a token and a layer, and follow it."""
    translation = translations.translation_of(key, text, *run)
    sizes = loading.config_of(key).model
    assert isinstance(sizes, ModelConfig)  # whose stream can be followed
    stacks, layers, tokens, depth = st.columns([2, 1.4, 2.4, 2], vertical_alignment="bottom")
    settle("stack", "decoder", STACKS)
    with stacks:
        stack = st.segmented_control("Stack", list(STACKS), format_func=STACKS.__getitem__, required=True, key="stack")
    stack = stack or "decoder"
    numbers = list(range(1, sizes.layers_of(stack) + 1))
    settle("station_layer", numbers[-1], numbers)
    layer = layers.selectbox("Layer", numbers, key="station_layer")
    read = translation.source if stack == "encoder" else translation.read
    places = list(range(1, len(read) + 1))
    settle("station_place", min(2, places[-1]), places)
    place = tokens.selectbox(
        "Token that is read",
        places,
        format_func=["", *(f"{i} · {token.text}" for i, token in enumerate(read, start=1))].__getitem__,
        key="station_place",
    )
    settle("station_code", False)
    with_code = depth.toggle(
        "Code and numbers", key="station_code", help="Show the code of every station beside each of its steps."
    )
    found, end = analyses.stations_of(key, text, stack, layer - 1, place - 1, *run)
    token = visible(read[place - 1].text)
    where, numbers_column = st.container(key="overview").columns(
        [1.05, 1]
    )  # the drawing needs its full width for words of 14 pixels
    with where:
        section("Where am I?", "The model itself; choose a layer to see its stations.")
        architecture_map(
            architecture(outline_of(sizes)), stack=stack, layer=layer - 1, key="architecture", on_open=go_to_layer
        )
    with numbers_column:
        section(
            f"The vector of “{token}”",
            f"Its {len(found[0].vector)} numbers after every station. Attention and feed-forward show what "
            "they add. Red is positive, blue is negative.",
        )
        draw(
            rows(
                np.stack([station.vector for station in found]),
                Axes(
                    queries=[f"{number}. {station.name}" for number, station in enumerate(found, start=1)],
                    keys=[str(i) for i in range(len(found[0].vector))],
                    query_title="after",
                    key_title="dimension",
                ),
                unit="value",
                height=80 + 34 * len(found),
            ),
            key="stations",
            alt=f"Heatmap of the vector of a token behind each of {len(found)} stations",
        )
    of = f"{stack}, layer {layer}, “{read[place - 1].text}”"
    for number, station in enumerate(found, start=1):
        one_station(number, station, of=of, with_code=with_code)
    if end:
        words, code = st.container(key=f"stop_{len(found) + 1}").columns([1, 1.25])
        with words:
            section(f"{len(found) + 1}. A word", "The last vector, projected to the vocabulary, then the softmax.")
            st.latex(end.formula)
            st.dataframe(
                pd.DataFrame(end.words, columns=["token", "logit", "probability"]),
                hide_index=True,
                alt="Table of the ten best next tokens with logit and probability",
                column_config={
                    "logit": st.column_config.NumberColumn(format="%.3f"),
                    "probability": st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=1.0),
                },
            )
        if with_code:
            title = f"{len(found) + 1}. A word: {of}"
            with code:
                derivation((), end.code, alt="the words", title=title, key="station_code_of_words")
    st.success(
        "Largest difference between these numbers and the model's own: "
        f"{max(station.difference for station in found):.2g}. The difference is only rounding.",
        icon=":material/check:",
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


def go_to_layer(stack: str, layer: int) -> None:
    """Callback of the architecture."""
    set_choice("stack", stack)
    set_choice("station_layer", layer + 1)


def one_station(number: int, station: Station, *, of: str, with_code: bool) -> None:
    name, formula = st.container(key=f"stop_{number}").columns([1, 2.2], vertical_alignment="center")
    with name:
        section(f"{number}. {station.name}", f"Difference from the model's own: {station.difference:.2g}")
    formula.latex(station.formula)
    if with_code and station.steps:
        title = f"{number}. {station.name}: {of}"
        derivation(station.steps, station.code, alt=station.name, title=title, key=f"station_{number}")
        numbers(
            {step.name: partial(pd.DataFrame, step.numbers) for step in station.steps},
            summary=station.steps[-1].formula,
            key=f"station_{number}",
            alt=station.name,
        )
