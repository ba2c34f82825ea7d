"""The translations of both sides, and one attention map of each, on the same scale."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.config.kinds import KINDS
from model.inference.translation import Translation
from viz_app.components.attention_view import AttentionView, select_head, view
from viz_app.content.plain import plain
from viz_app.figures.attention import head_map
from viz_app.figures.overview import MAX_TILE
from viz_app.sections.compare.side_choice import Mode
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import loading
from viz_app.services.comparison import Side, tokens_of_left_side
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import draw
from viz_app.widgets.head_picker import pick_head, pick_kind, picker_columns
from viz_app.widgets.headings import section
from viz_app.widgets.marked_text import compared

__all__ = ["MapPair", "two_maps", "two_translations"]

# In pixels: a row with its word, the labels below a map, the lowest and the highest map.
ROW, LABELS, MIN_HEIGHT, MAX_HEIGHT = 17, 100, 300, 480


@dataclass(frozen=True, kw_only=True)
class MapPair:
    """The maps of both sides for one kind of attention, and the head of each that is drawn."""

    kind: str
    views: tuple[AttentionView, AttentionView]
    heads: tuple[tuple[int, int], tuple[int, int]]  # layer and head, counted from 0

    @property
    def weights(self) -> list[NDArray[np.float32]]:
        """The two maps that are drawn, each (T, S)."""
        return [select_head(one.maps, *head) for one, head in zip(self.views, self.heads, strict=True)]

    @property
    def allowed(self) -> list[NDArray[np.bool_]]:
        """Their masks, each (T, S)."""
        return [one.allowed[layer] for one, (layer, _) in zip(self.views, self.heads, strict=True)]

    @property
    def have_same_heads(self) -> bool:
        return have_same_heads(self.views)

    @property
    def height(self) -> int:
        """Pixels of a map: as low as its words allow, so that both end on the first screen of a projector."""
        rows = max(len(one.axes.queries) for one in self.views)
        return max(MIN_HEIGHT, min(MAX_HEIGHT, LABELS + ROW * rows))


def two_translations(mode: Mode, left: Side, right: Side) -> None:
    """Draw both translations, with marks where two texts in the same language differ."""
    first, second = left.translation(), right.translation()
    languages = {loading.config_of(side.key).tokenizer.target_language for side in (left, right)}
    texts = [(left.name, first.text), (right.name, second.text)]
    groups = [[text] for text in texts] if mode == "sentences" or len(languages) > 1 else [texts]
    st.html(compared(*groups, languages=[first.languages[1], second.languages[1]]))


def two_maps(mode: Mode, left: Side, right: Side, kinds: Sequence[str]) -> MapPair:
    """Ask for a kind of attention and a head, and draw the map of each side. Long texts end the page.

    Args:
        mode: What is compared.
        left: One side.
        right: The other side.
        kinds: The kinds of attention that both models have.
    """
    kind_column, head_column, toggle_column = picker_columns("kind", "head", "toggle", key="set_compared_heads")
    first, second, forced, by_token = run_both(mode, left, right, toggle_column)
    longest = max(len(tokens) for one in (first, second) for tokens in (one.source, one.read))
    if longest > MAX_TILE:
        end_page(
            f"Maps are compared for texts of up to {MAX_TILE} tokens. The longest text here has {longest}. Shorten it."
        )
    with kind_column:
        kind = pick_kind(kinds)
    views = [view(one, kind, merge=not by_token, hide_special=False) for one in (first, second)]
    heads = []
    if have_same_heads(views):
        with head_column:
            heads = [pick_head(*views[0].maps.shape[:2])] * 2
    section("Two attention maps", f"One head of each, on the same scale. {KINDS[kind].shows}")
    columns = st.columns(2)
    if not heads:
        for column, one, prefix in zip(columns, views, ("", "beside_"), strict=True):
            with column:
                heads.append(pick_head(*one.maps.shape[:2], prefix=prefix))
    pair = MapPair(kind=kind, views=(views[0], views[1]), heads=(heads[0], heads[1]))
    for number, (column, side) in enumerate(zip(columns, (left, right), strict=True)):
        with column:
            one_map(pair, number, side, forced=forced and side is right)
    return pair


def run_both(
    mode: Mode, left: Side, right: Side, column: DeltaGenerator
) -> tuple[Translation, Translation, bool, bool]:
    """Run both sides; the right side writes the words of the left side if the visitor wants that.

    Returns:
        Both translations, whether the right one is forced, and whether both have the same tokens for the same words.
    """
    first, second = left.translation(), right.translation()
    words = () if mode == "sentences" else tokens_of_left_side(left, right)
    settle("same_words", True)
    wanted = column.toggle(
        "Same words in both",
        key="same_words",
        disabled=not words,
        help="Force the right model to write the words of the left model, so that their maps have the same rows.",
    )
    forced = bool(words) and wanted
    same_tokens = mode != "checkpoints" or words == tuple(enumerate(token.id for token in first.written))
    return first, right.translation(words) if forced else second, forced, same_tokens


def have_same_heads(views: Sequence[AttentionView]) -> bool:
    return len({one.maps.shape[:2] for one in views}) == 1


def one_map(pair: MapPair, number: int, side: Side, *, forced: bool) -> None:
    layer, head = pair.heads[number]
    caption = f"**{plain(side.name)}**, layer {layer + 1} · head {head + 1}"
    st.caption(f"{caption}. It is forced to write the words of the left one." if forced else caption)
    draw(
        head_map(pair.weights[number], pair.views[number].axes, pair.allowed[number], height=pair.height),
        key=f"map_of_{('left', 'right')[number]}",
        fills=True,
        alt=f"Heatmap of the attention of {side.name}, layer {layer + 1}, head {head + 1}",
    )
