"""Parts of the page Side by side: the choice of two sides, their texts, their maps, and where they differ."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.importance import all_heads
from model.analysis.statistics import moved_weight
from model.checkpoints.checkpoint import CheckpointConfig, CheckpointError
from model.checkpoints.languages import short_code, usual_languages
from model.config.foreign import ForeignConfig
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.inference.continuation import most_new_tokens
from model.inference.opening import AnyConfig
from model.inference.run import Forced, Result, Run
from model.interventions import Head, Intervention
from model.text.pair import Text, TextPair, paired, texts_of
from viz_app.components.page_parts import add_fact
from viz_app.content.examples import DEMONSTRATIONS, WITH_ATTENTION, WITHOUT_ATTENTION, demonstration_for, examples_for
from viz_app.content.numbers import joined, sentences
from viz_app.content.plain import as_sentence, plain
from viz_app.content.translation import N_, t, worded
from viz_app.figures.grids import head_grids
from viz_app.figures.lines import curves
from viz_app.figures.style import marked, shared_axes
from viz_app.sections.heads.intervention_choice import describe_changes
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import analyses, models
from viz_app.services.attention_view import AttentionView, select_head, view
from viz_app.services.listing import CheckpointKey, Listed
from viz_app.session.choices import choices, set_choice, settle
from viz_app.session.page_end import end_page
from viz_app.widgets.atlas_links import MapOf, draw_head_map
from viz_app.widgets.charts import draw, draw_map
from viz_app.widgets.checkpoint_choice import require_usable
from viz_app.widgets.choosing import choose
from viz_app.widgets.head_picker import MapWindow, choose_window, pick_head, pick_kind, picker_columns
from viz_app.widgets.headings import explain, section
from viz_app.widgets.marked_text import compared
from viz_app.widgets.navigation import page_link
from viz_app.widgets.run_form import note_shared_second_text, separator_in
from viz_app.widgets.text_notes import doubt_note, note_cleaning

__all__ = [
    "by_length",
    "choose_mode",
    "demonstration_hint",
    "map_differences",
    "offer_two_networks",
    "run_both",
    "trained_and_changed",
    "two_checkpoints",
    "two_maps",
    "two_sentences",
    "two_texts",
    "words_in",
]

Mode = Literal["checkpoints", "sentences", "changed"]
MODES: dict[Mode, str] = {
    "checkpoints": N_("Two checkpoints"),
    "sentences": N_("Two sentences"),
    "changed": N_("As trained and changed"),
}
# In pixels: a row with its word, the labels below a map, the lowest and the highest map.
ROW, LABELS, MIN_HEIGHT, MAX_HEIGHT = 16, 88, 260, 480
HEIGHT = 360


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side: a model, and what it computes."""

    name: str
    key: CheckpointKey
    run: Run

    def translation(self, forced: Forced = ()) -> Result:
        return models.result_of(self.key, replace(self.run, forced=forced))


def choose_mode(*, has_others: bool) -> tuple[Mode, DeltaGenerator]:
    """Ask what to compare; returns the mode, and the column for its setting."""
    usual: Mode = "checkpoints" if has_others else "sentences"
    with st.container(key="set_compare"):
        modes, setting = st.columns([3, 2], vertical_alignment="bottom")
    names = {mode: t(label) for mode, label in MODES.items()}
    return choose(t("Compare"), names, key="compare", default=usual, place=modes), setting


def two_checkpoints(
    key: CheckpointKey,
    text: Text,
    listed: Sequence[Listed],
    others: Mapping[str, CheckpointKey],
    setting: DeltaGenerator,
) -> tuple[Side, Side]:
    """Ask for the checkpoint on the right. Where there is none, a message ends the page.

    Args:
        key: The checkpoint on the left.
        text: The text that both read.
        listed: All checkpoints.
        others: The checkpoints to compare with, by name, the best first.
        setting: The column for the choice.
    """
    chosen = choices().chosen.get("beside")
    require_usable(chosen, listed)
    if not others:
        end_page(t("No other checkpoint reads this language. Choose another checkpoint on the left."))
    first = next(iter(others))
    # Opening a checkpoint is the only way to know whether it can be opened, so a chosen one is not tried twice.
    usual = "" if chosen in others else next(filter(lambda name: models.can_open(others[name]), others), first)
    settle("beside", usual, others)
    name = setting.selectbox(t("Compare with"), list(others), key="beside")
    try:
        other = as_beside(key, others[name])
    except (CheckpointError, ConfigError) as error:
        reason = as_sentence(worded(error))
        end_page(plain(sentences([reason, t("Choose another checkpoint to compare with.")])))
    if isinstance(text, TextPair) and not separator_in(models.config_of(other)):
        end_page(
            t("{name} reads single texts. Empty the second field, or choose another checkpoint.", name=plain(name))
        )
    add_fact(t("Compared with"), name)
    run = Run(text=text)
    return Side(name=key.name, key=key, run=run), Side(name=name, key=other, run=run)


def as_beside(key: CheckpointKey, other: CheckpointKey) -> CheckpointKey:
    """The key of another checkpoint, with what the visitor chose for this one: languages, or how it continues a text.

    Args:
        key: The key of the checkpoint with the needed choices.
        other: The key of the other checkpoint.

    Raises:
        CheckpointError, ConfigError: the other checkpoint cannot be opened.
    """
    config, other_config = models.config_of(key), models.config_of(other)
    if isinstance(other_config, ForeignConfig) and config.task == "continuation":
        number = min(key.new_tokens, most_new_tokens(other_config.model.max_length))
        return replace(other, new_tokens=number, chat=key.chat and bool(other_config.tokenizer.chat_template))
    if not isinstance(other_config, ForeignConfig) or not other_config.tokenizer.languages:
        return other
    needed = (config.tokenizer.source_language, config.tokenizer.target_language)
    source, target = (
        next((code for code in other_config.tokenizer.languages if language and short_code(code) == language), usual)
        for language, usual in zip(needed, usual_languages(other_config), strict=True)
    )
    return replace(other, source=source, target=target)


def two_sentences(key: CheckpointKey, text: Text) -> tuple[Side, Side]:
    """Ask for the second sentence. Without one, a message ends the page."""
    config = models.config_of(key)
    usual = demonstration_for(config).donor if config.task == "continuation" else examples_for(config)[-1]
    settle("second_text", usual)
    second = st.text_input(t("Second sentence"), key="second_text", max_chars=models.MAX_CHARACTERS) or ""
    if not second.strip():
        end_page(t("Type the second sentence."))
    note_cleaning(config, second)
    add_fact(t("Second sentence"), second)
    other = Run(text=paired(second, texts_of(text)[1]))
    note_shared_second_text(text)
    return Side(name=t("first"), key=key, run=Run(text=text)), Side(name=t("second"), key=key, run=other)


def trained_and_changed(key: CheckpointKey, text: Text) -> tuple[Side, Side]:
    """The model without and with the changes of the visitor. Without any, a link to the page Heads ends the page."""
    if read_only := analyses.why_read_only(key):
        end_page(plain(read_only))
    settle("intervention", Intervention())
    intervention: Intervention = st.session_state["intervention"].within(all_heads(models.translator(key).model))
    if not intervention:
        st.info(t("Nothing is changed yet. Silence heads on the page Heads, and come back."))
        page_link("heads", t("Go to the ablation board"), icon=":material/toggle_on:")
        end_page()
    add_fact(t("Changed"), describe_changes(intervention))
    trained, changed = Run(text=text), Run(text=text, changes=intervention)
    return Side(name=t("as trained"), key=key, run=trained), Side(name=t("changed"), key=key, run=changed)


@dataclass(frozen=True, kw_only=True)
class TwoRuns:
    """The runs of both sides."""

    left: Result
    right: Result
    forced: bool  # the right side is forced to write the words of the left side
    same_tokens: bool  # both split the words into the same tokens, or write different words


def run_both(mode: Mode, left: Side, right: Side) -> TwoRuns:
    """Run both sides, and ask whether they should write the same words, so that their maps have the same rows."""
    translation = left.translation()
    words = () if mode == "sentences" else tokens_of_left_side(left, right)
    settle("same_words", True)
    wanted = st.toggle(
        t("Same words in both"),
        key="same_words",
        disabled=not words,
        help=t("Force the right model to write the words of the left model, so that their maps have the same rows."),
    )
    forced = bool(words) and wanted
    return TwoRuns(
        left=translation,
        right=right.translation(words if forced else ()),
        forced=forced,
        same_tokens=mode != "checkpoints" or words == tuple(enumerate(token.id for token in translation.written)),
    )


def tokens_of_left_side(left: Side, right: Side) -> Forced:
    """The tokens that the right side must write to write the words of the left side; empty where it cannot.

    Both vocabularies may differ. Then the left text is tokenized again, if the two models write the same language.
    """
    ours, theirs = models.translator(left.key), models.translator(right.key)
    translation = left.translation()
    ids = [token.id for token in translation.written]
    known = max(ids, default=0) < theirs.tokenizers.target.size
    if known and ours.tokenizers.target.tokens(ids) == theirs.tokenizers.target.tokens(ids):
        return tuple(enumerate(ids))
    languages = {checkpoint.config.tokenizer.target_language for checkpoint in (ours, theirs)}
    if len(languages) > 1 or "" in languages or theirs.tokenizers.specials.first is not None:
        return ()
    return tuple(enumerate((*theirs.tokenizers.target.encode(translation.text).ids, theirs.tokenizers.specials.eos)))


def two_texts(mode: Mode, left: Side, right: Side) -> None:
    """Draw both translations, with marks where two texts in the same language differ."""
    first, second = left.translation(), right.translation()
    languages = {models.config_of(side.key).tokenizer.target_language for side in (left, right)}
    texts = [(left.name, first.text), (right.name, second.text)]
    groups = [[text] for text in texts] if mode == "sentences" or len(languages) > 1 else [texts]
    st.html(compared(*groups, languages=[first.languages[1], second.languages[1]]))
    sides = {(side.key, side.run.text): side for side in (left, right)}.values()
    for side in sides:
        doubt_note(side.key, side.run.usual, side=side.name if len(sides) > 1 else "")


def demonstration_hint(config: AnyConfig, right: Side, best: str) -> None:
    """Above the demonstration of the page, made for the checkpoint `best`: what its two translations show."""
    demonstration = demonstration_for(config)
    if demonstration.look_for and right.run.text == demonstration.compared and right.name == best:
        st.caption(t(":material/lightbulb: {hint}", hint=t(demonstration.look_for)))


def offer_two_networks(names: Collection[str]) -> None:
    """Offer two recurrent networks, one without attention, if they are here and the page does not compare them yet."""
    pair = {WITH_ATTENTION, WITHOUT_ATTENTION}
    if pair <= set(names) and {st.session_state["checkpoint"], st.session_state["beside"]} != pair:
        st.button(
            t("Compare with and without attention"),
            icon=":material/compare:",
            type="tertiary",
            on_click=compare_two_networks,
            help=t("Two recurrent networks, trained in the same way: one with attention, one without."),
        )


def compare_two_networks() -> None:
    """Callback: choose both networks, and a sentence that is too long for the one without attention."""
    set_choice("checkpoint", WITH_ATTENTION)
    set_choice("beside", WITHOUT_ATTENTION)
    set_choice("text", DEMONSTRATIONS[WITH_ATTENTION].compared)


@dataclass(frozen=True, kw_only=True)
class MapPair:
    """The maps of both sides for one kind of attention, and the head of each that is drawn."""

    kind: str
    views: tuple[AttentionView, AttentionView]
    heads: tuple[tuple[int, int], tuple[int, int]]  # layer and head, counted from 0
    window: MapWindow  # the section that is drawn

    @property
    def weights(self) -> list[NDArray[np.float32]]:
        """The two maps that are drawn, each (T, S)."""
        return [self.window.of(select_head(one.maps, *head)) for one, head in zip(self.views, self.heads, strict=True)]

    @property
    def allowed(self) -> list[NDArray[np.bool_]]:
        """Their masks, each (T, S)."""
        return [self.window.of(one.allowed[layer]) for one, (layer, _) in zip(self.views, self.heads, strict=True)]

    @property
    def height(self) -> int:
        """Pixels of a map: as low as its words allow, so that both end on the first screen of a projector."""
        rows = max(len(weights) for weights in self.weights)
        return max(MIN_HEIGHT, min(MAX_HEIGHT, LABELS + ROW * rows))


def two_maps(left: Side, right: Side, runs: TwoRuns, kinds: Sequence[str]) -> MapPair:
    """Ask for one of these kinds of attention, a head and a section of a large map, and draw the map of each side."""
    pair = choose_maps(runs, kinds)
    section(t("Two maps, one scale"), t(KINDS[pair.kind].shows))
    for number, (column, side) in enumerate(zip(st.columns(2), (left, right), strict=True)):
        with column:
            one_map(pair, number, side, runs)
    return pair


def choose_maps(runs: TwoRuns, kinds: Sequence[str]) -> MapPair:
    """Ask for a kind of attention, and for a head; for one head of each side if the models differ in size."""
    kind_column, left_column, right_column = picker_columns("kind", "head", "head", key="set_compared_heads")
    with kind_column:
        kind = pick_kind(kinds)
    left, right = (view(run, kind, merge=not runs.same_tokens, hide_special=False) for run in (runs.left, runs.right))
    same = left.maps.shape[:2] == right.maps.shape[:2]
    with left_column:
        head = pick_head(
            *left.maps.shape[:2], labels=(t("Layer"), t("Head")) if same else (t("Left layer"), t("Left head"))
        )
    if same:
        other = head
    else:
        with right_column:
            other = pick_head(*right.maps.shape[:2], prefix="beside_", labels=(t("Right layer"), t("Right head")))
    views, heads = (left, right), (head, other)
    # The section is one of the larger map. The other map shows the same section.
    larger, shown = max(zip(views, heads, strict=True), key=lambda one: max(one[0].maps.shape[2:]))
    window = choose_window(select_head(larger.maps, *shown), larger.axes)
    return MapPair(kind=kind, views=views, heads=heads, window=window)


def one_map(pair: MapPair, number: int, side: Side, runs: TwoRuns) -> None:
    (layer, head), shown_view = pair.heads[number], pair.views[number]
    result, forced = (runs.left, runs.right)[number], runs.forced and number == 1
    of = MapOf(checkpoint=side.key, head=Head(pair.kind, layer, head), result=result)
    shown = t("**{name}**, layer {layer} · head {head}.", name=plain(side.name), layer=layer + 1, head=head + 1)
    st.caption(sentences([shown, t("It is forced to write the words of the left one.")]) if forced else shown)
    draw_head_map(
        select_head(shown_view.maps, layer, head),
        shown_view.axes,
        shown_view.allowed[layer],
        window=pair.window,
        of=of if runs.same_tokens else None,
        key=f"map_of_{('left', 'right')[number]}",
        least=pair.height,
        alt=t(
            "Heatmap of the attention of {name}, layer {layer}, head {head}",
            name=side.name,
            layer=layer + 1,
            head=head + 1,
        ),
    )


def by_length(configs: Mapping[str, AnyConfig], *, expanded: bool) -> None:
    """Show BLEU by the length of the source, if it was measured for all checkpoints, by name, in the same way.

    Attention was invented for long sentences.
    """
    measured = {name: one.bleu_by_length for name, one in configs.items() if isinstance(one, CheckpointConfig)}
    lengths = next(iter(measured.values()), {})
    if len(measured) < len(configs) or not lengths or any(one.keys() != lengths.keys() for one in measured.values()):
        return
    place = st.expander(
        t("Quality for longer sentences"),
        icon=":material/trending_down:",
        expanded=expanded,
        on_change="rerun",
        key="by_length_opened",
    )
    if not place.open:
        return
    one_vector = any(not config.model.kinds for config in configs.values())
    with place:
        section(t("BLEU by the length of the source"), measurement(one_vector=one_vector))
        draw(
            curves(
                [words_in(length) for length in lengths],
                {name: [one[words] for words in lengths] for name, one in measured.items()},
                title=t("BLEU, lower-cased"),
                height=HEIGHT,
                over=t("words of the source"),
            ),
            key="by_length",
            alt=t("BLEU of {names} by the number of words in the source", names=joined(list(measured))),
        )


def measurement(*, one_vector: bool) -> str:
    """How BLEU was measured, and what to look for if a network without attention is among the checkpoints."""
    measured = t(
        "Measured on the 1,000 captions of the test set in lower case, as in figure 2 of Bahdanau et al. 2015."
    )
    if not one_vector:
        return measured
    return sentences(
        [measured, t("A network that reads a whole sentence into one vector gets worse for longer sentences.")]
    )


def words_in(length: str) -> str:
    """A range of lengths as the visitor reads it. A checkpoint names it in English: "9 to 12", "21 and more"."""
    if found := re.fullmatch(r"(\d+) to (\d+)", length):
        return t("{low} to {high}", low=found[1], high=found[2])
    if found := re.fullmatch(r"(\d+) and more", length):
        return t("{low} and more", low=found[1])
    return length


def map_differences(mode: Mode, pair: MapPair) -> None:
    """Draw the difference of the two maps, and how far each head differs."""
    axes = shared_axes(pair.views[0].axes, pair.views[1].axes, by_position=mode == "sentences")
    if axes is None:
        st.caption(t("The two maps have different words as rows or columns, so there is no map of their difference."))
        return
    difference, heads = st.columns(2)
    with difference:
        section(
            t("Where they differ"),
            t("The right map minus the left map. Red: the right map has more weight there. Blue: it has less."),
        )
        left, right = pair.weights
        draw_map(
            right - left,
            pair.window.of_axes(axes),
            pair.allowed[0] | pair.allowed[1],
            key="difference",
            unit=t("difference"),
            signed=True,
            least=pair.height,
            alt=t("Heatmap of the right map minus the left one"),
        )
    with heads:
        if len({one.maps.shape[:2] for one in pair.views}) == 1:
            differing_heads(pair)
        else:
            st.caption(t("The two models have different numbers of layers or heads, so their heads have no partners."))
    explain("two-maps")


def differing_heads(pair: MapPair) -> None:
    section(
        t("Which heads differ most"),
        t("The share of its weight that each row gives to other keys on the right, averaged over the rows."),
    )
    moved = moved_weight(pair.views[0].maps, pair.views[1].maps)
    draw(
        head_grids({t(KINDS[pair.kind].title): marked(moved)}, unit=t("share"), most_numbered=8, height=pair.height),
        key="moved",
        alt=t("Share of the weight of each head that is on other keys"),
    )
