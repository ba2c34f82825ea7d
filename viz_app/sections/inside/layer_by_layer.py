"""Layer by layer: the way of one token through a layer. Each station has a formula, its code and its numbers."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from keyword import iskeyword
from tokenize import COMMENT, NAME, generate_tokens
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.station import CodeLine, Station, Step
from model.analysis.stations import Prediction, way_of_token
from model.config.kinds import Sizes
from model.config.model import ModelConfig
from model.inference.run import Run
from viz_app.components.mounting import Data, component, levels
from viz_app.content.numbers import sentences
from viz_app.content.plain import visible
from viz_app.content.translation import N_, t, tp, worded
from viz_app.figures.architecture import architecture
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
FINE = 100  # with more columns, single cells cannot be seen, and the browser shows their mean


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
            draw_architecture(sizes, chosen)
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


def draw_architecture(sizes: ModelConfig, chosen: TokenInLayer) -> None:
    """Draw the model, with the chosen layer highlighted."""
    stack, n = chosen.stack, chosen.layer + 1
    shown = t("encoder, layer {n}", n=n) if stack == "encoder" else t("decoder, layer {n}", n=n)
    drawing = architecture(
        encoder_layers=sizes.num_encoder_layers,
        decoder_layers=sizes.num_decoder_layers,
        d_model=sizes.d_model,
        d_ff=sizes.d_ff,
        heads=sizes.num_heads,
        source_vocabulary=sizes.source_vocab_size,
        target_vocabulary=sizes.target_vocab_size,
        pre_norm=sizes.norm == "pre",
    )
    alt = t("The layers of the model. Shown below: {layer}", layer=shown)
    data = {**asdict(drawing), "stack": stack, "layer": chosen.layer, "alt": alt}
    component("architecture", "ui/diagrams", key="architecture", open=open_layer, data=data)


def open_layer(clicked: Mapping[str, Any]) -> None:
    """Callback of the architecture: choose the layer that was clicked, which counts from 0."""
    set_choice("stack", str(clicked["stack"]))
    set_choice("station_layer", int(clicked["layer"]) + 1)


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


def derivation(steps: Sequence[Step], code: Sequence[Sequence[CodeLine]], *, alt: str, title: str, key: str) -> None:
    """Draw the steps of a computation with their numbers beside the code; pointing at one highlights it in both.

    Args:
        steps: Each with its formula, its numbers and facts about them.
        code: Functions; their lines name the steps.
        alt: The name of the computation.
        title: Of the saved picture.
        key: Of the component.
    """
    names = {step.name for step in steps}
    data = {
        "steps": [step_data(step) for step in steps],
        "code": [
            [
                {"words": words, "step": line.step if line.step in names else ""}
                for words, line in zip(highlighted([line.text for line in function]), function, strict=True)
            ]
            for function in code
        ],
        "alt": alt,
        "title": title,
    }
    component("derivation", "ui/derivation", key=key, data=data)


def step_data(step: Step) -> Data:
    """A step with its numbers as a picture."""
    count, width = step.numbers.shape
    known = step.numbers[np.isfinite(step.numbers)]
    low, high = float(known.min(initial=0.0)), float(known.max(initial=0.0))
    bound = max(-low, high, 1e-6)
    ends = (0.0, 1.0) if step.shares else (-bound, bound)
    shape = f"{worded(step.rows)}: {count} × {width}" if step.rows else str(width)
    size = t("{shape} numbers, from {low} to {high}.", shape=shape, low=f"{low:.3g}", high=f"{high:.3g}")
    colours = (
        t("Dark is 0, bright is 1.")
        if step.shares
        else t("Blue is −{bound}, white is 0, red is {bound}.", bound=f"{bound:.3g}")
    )
    return {
        "name": step.name,
        "title": worded(step.name),
        "formula": worded(step.formula),
        "facts": [(worded(name), worded(value)) for name, value in step.facts],
        "levels": levels(step.numbers, low=ends[0], high=ends[1], masked=np.isneginf(step.numbers)),
        "width": width,
        "shares": step.shares,
        "alt": sentences([size, colours]),
        "height": min(7 * count, 56) if step.rows else 12,
        "coarse": width < FINE,
    }


def highlighted(lines: Sequence[str]) -> list[list[tuple[str, str]]]:
    """The lines of a function as (text, kind), where the kind is "keyword", "comment" or ""."""
    words: list[list[tuple[str, str]]] = [[] for _ in lines]
    done = [0] * len(lines)
    for token in generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
        (row, start), (last, end) = token.start, token.end
        keyword = token.type == NAME and iskeyword(token.string)
        if (keyword or token.type == COMMENT) and row == last:
            before = lines[row - 1][done[row - 1] : start]
            words[row - 1] += [(before, ""), (token.string, "keyword" if keyword else "comment")]
            done[row - 1] = end
    for line, found, end in zip(lines, words, done, strict=True):
        found.append((line[end:], ""))
    return words


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
