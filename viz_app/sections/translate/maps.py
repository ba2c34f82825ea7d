"""The maps of a translation: the choice of one, the maps in several forms, and lines between the tokens."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.anatomy import value_norms
from model.analysis.statistics import strongest
from model.config.kinds import KINDS
from model.config.model import RecurrentConfig
from model.inference.run import Result, Run
from model.interventions import Head
from viz_app.components.mounting import component, labels_of, packed
from viz_app.components.page_parts import give
from viz_app.content.numbers import percent, sentences
from viz_app.content.plain import as_sentence
from viz_app.content.shared import MAX_CHIPS, MAX_TILE, WINDOW
from viz_app.content.translation import N_, t, worded
from viz_app.figures.style import bound_of
from viz_app.sections.translate.downloads import downloads
from viz_app.sections.translate.written_text import token_rows
from viz_app.services import analyses, models
from viz_app.services.analyses import analysis_of
from viz_app.services.attention_view import (
    AttentionView,
    ChosenMap,
    chosen_map,
    select_head,
    view,
    with_rollout,
    with_value_norms,
)
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.atlas_links import MapOf, draw_head_map
from viz_app.widgets.charts import draw_heads
from viz_app.widgets.choosing import choose
from viz_app.widgets.head_picker import (
    Aggregate,
    MapWindow,
    choose_window,
    open_head,
    pick_head_or_aggregate,
    pick_kind,
    picker_columns,
    walk_heads,
)
from viz_app.widgets.headings import explanation, grade_line, section
from viz_app.widgets.presenter_mode import SCALE, presenting, step_buttons
from viz_app.widgets.switches import ViewSettings, draw_switches, view_settings

__all__ = ["VIEWS", "choose_map", "display_options", "largest_weights", "map_notes", "map_pictures", "word_lines"]

View = Literal["heatmaps", "lines", "head", "model"]
VIEWS: dict[View, str] = {
    "heatmaps": N_("Heatmaps"),
    "lines": N_("Lines"),
    "head": N_("BertViz heads"),
    "model": N_("BertViz model"),
}
BERTVIZ = {
    "model": N_("BertViz (Vig 2019): queries on the left, keys on the right. Choose a tile to enlarge it."),
    "head": N_(
        "BertViz (Vig 2019): queries on the left, keys on the right. Each colour is a head; head 1 is on the left. "
        "Choose a colour to hide its head."
    ),
}
MAX_ROWS = 25  # of the table
WHEN_WRITING = N_("The model used these weights while it wrote this text. They are recorded at each step of decoding.")
WHEN_READING = N_("The model used these weights while it read this text.")
QUERIES_AND_KEYS = N_(
    "The query is computed from the state at the row's position, the key from the state at the column's position. The "
    "softmax makes each row sum to 1. In the decoder, the position that writes a token has read all tokens before it."
)
ROLLOUT = N_(
    "**Rollout** (Abnar and Zuidema 2020) follows the mean of the heads through all layers. Half of each layer's "
    "output comes through its residual connection. In the decoder, rollout follows the tokens read and the output of "
    "the encoder."
)


@dataclass(frozen=True, kw_only=True)
class MapChoice:
    """The maps of one kind of attention, the one map that is drawn large, and how they are drawn."""

    key: CheckpointKey
    kind: str
    layer: int  # counted from 0
    head: int | Aggregate  # counted from 0
    how: View
    settings: ViewSettings
    maps: AttentionView  # of all layers and heads
    large: ChosenMap
    translation: Result

    @property
    def of(self) -> MapOf | None:
        """Whose weights the large map has; None where a cell is no weight of one head."""
        if isinstance(self.head, str) or not self.as_written:
            return None
        return MapOf(checkpoint=self.key, head=Head(self.kind, self.layer, self.head), result=self.translation)

    @property
    def name(self) -> str:
        """The name of the large map with its layer."""
        return t("Layer {layer} · {map}", layer=self.layer + 1, map=self.large.name)

    @property
    def as_written(self) -> bool:
        """Whether the large map has a row and a column for each token, with the attention weights."""
        return not (self.settings.merge or self.settings.hide_special or self.settings.norms)


def choose_map(key: CheckpointKey, run: Run) -> MapChoice:
    """Ask for the kind of attention, the view, the layer and the head. The checkpoint has a kind of attention."""
    config, translation = models.config_of(key), models.result_of(key, run)
    kind_column, view_column, head_column = picker_columns("kind", "view", "head", key="set_view")
    settings = view_settings()
    settings = replace(settings, norms=settings.norms and not why_no_value_norms(key))
    with kind_column:
        kind = pick_kind(config.model.kinds)
    how = choose(t("View"), {how: t(label) for how, label in VIEWS.items()}, key="view", place=view_column)
    tokens = {"merge": settings.merge, "hide_special": settings.hide_special}
    weighted = with_value_norms(translation, analysis_of(value_norms, key, run)) if settings.norms else translation
    maps = view(weighted, kind, **tokens)
    layers, heads = maps.maps.shape[:2]
    with head_column:
        has_aggregates = not isinstance(config.model, RecurrentConfig)
        layer, head = pick_head_or_aggregate(layers, heads, aggregates=has_aggregates)
    step_buttons(partial(walk_heads, layers, heads))
    rolled = view(with_rollout(translation), kind, **tokens) if head == "rollout" else None
    return MapChoice(
        key=key,
        kind=kind,
        layer=layer,
        head=head,
        how=how,
        settings=settings,
        maps=maps,
        large=chosen_map(maps, rolled, layer, head, weighted=settings.norms),
        translation=translation,
    )


def why_no_value_norms(key: CheckpointKey) -> str:
    """Why weights cannot be multiplied by value norms, as a text for the visitor; empty where they can."""
    if isinstance(models.config_of(key).model, RecurrentConfig):
        return t("This model has no heads.")
    return worded(analyses.why_no("value norms", key))


def all_heads(choice: MapChoice) -> None:
    """Draw every layer and head small. A click on a map makes it the large one."""
    shown, kind = choice.maps, KINDS[choice.kind]
    layers, heads = shown.maps.shape[:2]
    caption = "" if presenting() else sentences([t(kind.shows), t("Choose a map to enlarge it.")])
    section(t("Every layer and head"), caption)
    title = t("All heads, {kind}", kind=t(kind.full_name))
    alt = t(
        "{kind}: {layers} × {heads} small heatmaps, one for each layer and head",
        kind=t(kind.full_name),
        layers=layers,
        heads=heads,
    )
    draw_heads(
        shown.maps,
        shown.allowed,
        chosen=(choice.layer, choice.head if isinstance(choice.head, int) else None),
        largest=bound_of(shown.maps) if choice.settings.norms else 1.0,
        logarithmic=choice.settings.logarithmic,
        key="overview",
        alt=alt,
        title=title,
        on_open=open_head,
    )


def one_head(choice: MapChoice, window: MapWindow) -> None:
    """Draw the chosen map large."""
    chosen = choice.large
    meaning = chosen.meaning if window.whole else t("A section of a larger map.")
    section(as_sentence(choice.name), "" if presenting() else meaning)
    kind = t(KINDS[choice.kind].full_name)
    title = t("{kind}, layer {layer}, {map}", kind=kind, layer=choice.layer + 1, map=chosen.name)
    alt = t("Heatmap ({unit}): {title}", unit=chosen.unit, title=title)
    draw_head_map(
        chosen.weights,
        choice.maps.axes,
        chosen.allowed,
        window=window,
        of=choice.of,
        key="head_map",
        alt=alt,
        unit=chosen.unit,
        largest=chosen.largest,
        logarithmic=choice.settings.logarithmic,
        title=title,
    )


def lines(choice: MapChoice, window: MapWindow) -> None:
    """Draw lines between queries and keys: for any heads, or for the aggregate that is chosen."""
    st.caption(
        t(
            "Each line joins a query (left) and a key (right). A thicker line has more weight. Choose a token to see "
            "only its lines."
        )
    )
    shown, large, head = choice.maps, choice.large, choice.head
    single = isinstance(head, int)
    maps = window.of(shown.maps if single else large.weights[None, None])  # (R, C, T, S): R rows of C switches
    count, columns = maps.shape[0] * maps.shape[1], maps.shape[1]
    many = columns > 1
    rows = [t("layer {layer}", layer=i + 1) for i in range(len(maps))] if single else [large.name]
    places = [(rows[i // columns], i % columns + 1) for i in range(count)]
    chosen = choice.layer * columns + head if isinstance(head, int) else 0
    data = {  # of `live/ui/lines.js`
        **labels_of(window.of_axes(shown.axes)),
        "weights": packed(maps),
        "names": [t("{layer}, head {head}", layer=row, head=number) if many else row for row, number in places],
        "labels": [str(number) if many else row for row, number in places],
        "rows": rows if many else [""] * len(rows),
        "columns": columns,
        "chosen": [chosen],
        # If this changes, the browser forgets which maps the visitor has turned on.
        "selection": f"{choice.kind}|{count}|{chosen}",
        "largest": large.largest,
        "alt": t("{kind}: lines between queries and keys", kind=t(KINDS[choice.kind].full_name)),
    }
    component("attention_lines", "ui/lines", key="line_view", data=data)


def bertviz(choice: MapChoice, which: Literal["head", "model"]) -> None:
    """Draw the weights with BertViz. It is imported only here, because the import takes a second."""
    from viz_app.export import bertviz_frame

    # BertViz draws weights from 0 to 1, so never value norms.
    shown = view(
        choice.translation, choice.kind, merge=choice.settings.merge, hide_special=choice.settings.hide_special
    )
    limit = bertviz_frame.MAX_TOKENS[which]
    tokens = max(shown.maps.shape[2:])
    if tokens > limit:
        st.info(
            t(
                "In this view, BertViz can draw at most {limit} tokens per side. One side here has {tokens}. Try a "
                "shorter text, or choose the view “Heatmaps”.",
                limit=limit,
                tokens=tokens,
            )
        )
        return
    st.caption(t(BERTVIZ[which]))
    if not np.isfinite(shown.maps).all():
        st.caption(t("Some weights are not a number. BertViz draws nothing for them."))
    scale, kind = SCALE if presenting() else 1.0, t(KINDS[choice.kind].full_name)
    st.iframe(
        bertviz_frame.document(
            which,
            choice.kind,
            shown.maps,
            shown.axes,
            layer=choice.layer,
            head=choice.head if isinstance(choice.head, int) else None,
            second_start=shown.second_start,
            dark=st.context.theme.type == "dark",
            scale=scale,
        ),
        height=round(scale * bertviz_frame.height(which, shown.maps)),
        alt=t("BertViz model view: {kind}", kind=kind)
        if which == "model"
        else t("BertViz head view: {kind}, layer {layer}", kind=kind, layer=choice.layer + 1),
    )


def map_pictures(choice: MapChoice) -> None:
    """Draw the maps in the view that the visitor chose."""
    if choice.how == "head" or choice.how == "model":
        bertviz(choice, choice.how)
        return
    window = choose_window(choice.large.weights, choice.maps.axes)
    left, right = st.columns([1, 1.4 if presenting() else 1.15])
    with left:
        if choice.how == "lines":
            lines(choice, window)
        else:
            all_heads(choice)
    with right:
        one_head(choice, window)


def display_options(key: CheckpointKey, run: Run) -> None:
    """Draw the row below the pictures."""
    with st.container(key="set_shown", horizontal=True, gap="small", vertical_alignment="center"):
        refused = {"merge": ""} if models.config_of(key).tokenizer.kind == "words" else {}
        if no_norms := why_no_value_norms(key):
            refused["norms"] = no_norms
        left_out = ("shares",) if analyses.why_no("residual stream", key) else ()
        draw_switches("view", refused=refused, left_out=left_out)
        when = WHEN_READING if models.config_of(key).task == "reading" else WHEN_WRITING
        explanation(
            t("How it is computed"),
            f"{sentences([t(when), t(QUERIES_AND_KEYS)])}\n\n{t(ROLLOUT)}",
            r"\mathrm{weights} = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + \mathrm{mask}\right)",
        )
        downloads(key, run)


def map_notes(choice: MapChoice) -> None:
    """Say what the pictures leave out."""
    if choice.large.hidden_share:
        st.caption(
            t(
                "The hidden columns hold {share} of the large map ({unit}), averaged over its rows.",
                share=percent(choice.large.hidden_share),
                unit=choice.large.unit,
            )
        )
    if choice.how == "heatmaps" and max(choice.maps.maps.shape[2:]) > MAX_TILE:
        st.caption(
            t(
                "A small map has at most {n} cells per side. Each cell shows the largest of the weights that it "
                "covers.",
                n=MAX_TILE,
            )
        )
    if isinstance(choice.head, int) or choice.head == "rollout":
        grade_line("rollout" if choice.head == "rollout" else "value-norms" if choice.settings.norms else "weights")


def largest_weights(choice: MapChoice) -> None:
    """A table of the largest weights of the large map."""
    place = st.expander(t("Largest weights"), icon=":material/table_rows:", on_change="rerun", key="alignments")
    if not place.open:
        return
    chosen, axes = choice.large, choice.maps.axes
    cells = strongest(chosen.weights, MAX_ROWS)
    table = pd.DataFrame(
        {
            t("query"): [axes.queries[row] for row, _, _ in cells],
            t("position of the query"): [row + 1 for row, _, _ in cells],
            t("key"): [axes.keys[column] for _, column, _ in cells],
            t("position of the key"): [column + 1 for _, column, _ in cells],
            chosen.unit: [value for *_, value in cells],
        }
    )
    bar = st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=max(chosen.largest, 1e-9))
    with place:
        st.caption(t("The largest weights on this map, the largest first: {map}", map=choice.name))
        st.dataframe(
            table, hide_index=True, height=300, alt=t("Table of the largest weights"), column_config={chosen.unit: bar}
        )


def word_lines(choice: MapChoice) -> None:
    """Draw lines between the tokens that the model read and wrote, unless there are too many tokens.

    There is one chip per token. So the lines show weights of tokens, also where the map shows words or value norms.
    """
    translation = choice.translation
    if max(map(len, token_rows(translation).values())) > MAX_CHIPS:
        return
    if choice.as_written:
        weights, name = choice.large.weights, choice.large.name
    elif choice.head == "rollout":
        weights, name = select_head(translation.maps[choice.kind], choice.layer, "mean"), t("mean of the heads")
    else:
        weights, name = select_head(translation.maps[choice.kind], choice.layer, choice.head), choice.large.name
    # The position that writes a token is the query of its row. As a key, a position is the token that it has read.
    given = translation.prompt_length  # chips of a prompt are among those that are read
    reads, writes, written_before = ("reads", 0), ("writes", -given), ("writes", -given - 1)
    sides = {"cross": (writes, reads), "encoder": (reads, reads), "decoder": (writes, written_before)}
    (query_row, query_from), (key_row, key_from) = sides[choice.kind]
    data = {
        "title": t(
            "Weights between the tokens: {kind}, layer {layer}, {map}",
            kind=t(KINDS[choice.kind].full_name),
            layer=choice.layer + 1,
            map=name,
        ),
        "weights": packed(weights),
        "queries": weights.shape[0],
        "keys": weights.shape[1],
        "query_row": query_row,
        "query_from": query_from,
        "key_row": key_row,
        "key_from": key_from,
        # The large map on the page has exactly these rows and columns.
        "in_map": choice.as_written and max(weights.shape) <= WINDOW and choice.how == "heatmaps",
    }
    give("word_lines", data)
