"""Side by side: two checkpoints, two sentences, or one model as trained and as changed; and where they differ."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from model.analysis.importance import all_heads
from model.analysis.statistics import moved_weight
from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.languages import short_code, usual_languages
from model.config.foreign import ForeignConfig
from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.inference.opening import AnyConfig
from model.inference.translation import Translation
from model.interventions import Intervention
from viz_app.components.attention_view import AttentionView, select_head, view
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.examples import examples_for
from viz_app.content.plain import plain
from viz_app.figures.attention import difference_map, head_map
from viz_app.figures.heads import head_grids
from viz_app.figures.overview import MAX_TILE
from viz_app.figures.style import Axes
from viz_app.sections.compare.by_length import by_length
from viz_app.sections.compare.recurrent_pair import offer_two_networks
from viz_app.services import listing, loading, translations
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import Forced
from viz_app.session.choices import choices, settle
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact, describe_changes
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.charts import draw
from viz_app.widgets.chips import compared
from viz_app.widgets.explanation import explanation
from viz_app.widgets.head_picker import pick_head, pick_kind, picker_columns
from viz_app.widgets.headings import section
from viz_app.widgets.navigation import page_link
from viz_app.widgets.text_field import require_text

MODES = {"checkpoints": "Two checkpoints", "sentences": "Two sentences", "changed": "As trained and changed"}
ROW, LABELS, HEIGHTS = 17, 100, (300, 480)  # pixels of a row with its word, of what stands below, of a map


def height_of(shown: Sequence[AttentionView]) -> int:
    """Of two maps: as low as their words allow, so that they end on the first screen of a projector."""
    least, most = HEIGHTS
    return max(least, min(most, LABELS + ROW * max(len(one.axes.queries) for one in shown)))


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two."""

    name: str
    key: CheckpointKey
    text: str
    intervention: Intervention = translations.UNTOUCHED

    def translation(self, forced: Forced = ()) -> Translation:
        return translations.translation_of(self.key, self.text, forced=forced, intervention=self.intervention)


def told_languages(other: CheckpointKey, mine: AnyConfig) -> CheckpointKey:
    """The key of a model of many languages with those of the one on the left, as far as it knows them.

    Raises:
        CheckpointError, ConfigError: it cannot be opened.
    """
    config = loading.config_of(other)
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        return other
    usual = usual_languages(config)
    wished = (mine.tokenizer.source_language, mine.tokenizer.target_language)
    source, target = (
        next((code for code in config.tokenizer.languages if wish and short_code(code) == wish), one)
        for wish, one in zip(wished, usual, strict=True)
    )
    return replace(other, source=source, target=target)


def words_for(left: Side, right: Side) -> Forced:
    """What the right one is to write, so that it writes the words of the left one; nothing where it cannot."""
    ours, theirs = (loading.translator(side.key) for side in (left, right))
    first = left.translation()
    ids = [token.id for token in first.written]
    known = max(ids, default=0) < theirs.model.config.target_vocab_size
    if known and ours.tokenizers.target.tokens(ids) == theirs.tokenizers.target.tokens(ids):
        return tuple(enumerate(ids))
    languages = {one.config.tokenizer.target_language for one in (ours, theirs)}
    if len(languages) > 1 or "" in languages or theirs.tokenizers.specials.first is not None:
        return ()
    return tuple(enumerate((*theirs.tokenizers.target.encode(first.text).ids, theirs.tokenizers.specials.eos)))


def paired(first: Axes, second: Axes, *, by_place: bool) -> Axes | None:
    """Labels of the cells that two maps share: the same words, or of texts with as many tokens the same places."""

    def labels(ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
        same = [one.casefold() for one in ours] == [one.casefold() for one in theirs]
        if same or (by_place and len(ours) == len(theirs)):
            return [
                one if one.casefold() == other.casefold() else f"{one} | {other}"
                for one, other in zip(ours, theirs, strict=True)
            ]
        return None

    queries, keys = labels(first.queries, second.queries), labels(first.keys, second.keys)
    return None if queries is None or keys is None else replace(first, queries=queries, keys=keys, query_notes=[])


found = listing.listed_checkpoints()
key, config = checkpoint_choice.require_translator(found, also=("continuation", "reading"))
offered = listing.comparable(key, config, found)
settle("compare", "checkpoints" if offered else "sentences", MODES)
with st.container(key="set_compare"):
    modes, beside_column = st.columns([3, 2], vertical_alignment="bottom")
mode = modes.segmented_control("Compare", list(MODES), format_func=MODES.__getitem__, required=True, key="compare")
opening = demonstration_for(config)
text = require_text(config, opening=opening.compared)
if mode == "checkpoints":
    checkpoint_choice.require_known(choices().chosen.get("beside"), found)
    if not offered:
        st.info("No other checkpoint reads this language; choose another one on the left.")
        end_page()
    wished, foremost = choices().chosen.get("beside"), next(iter(offered))
    # Whether one can be opened is known only when it was opened.
    usual = "" if wished in offered else next(filter(lambda name: loading.can_open(offered[name]), offered), foremost)
    settle("beside", usual, offered)
    beside = beside_column.selectbox("Compare with", list(offered), key="beside")
    try:
        partner = told_languages(offered[beside], config)
    except (CheckpointError, ConfigError) as error:
        st.info(plain(f"{str(error).removesuffix('.')}. Choose another checkpoint to compare with."))
        end_page()
    left, right = Side(name=key.name, key=key, text=text), Side(name=beside, key=partner, text=text)
    hint, two_networks = st.columns([2.4, 1], vertical_alignment="center")
    with two_networks:
        offer_two_networks([one.key.name for one in found if one.config is not None])
    if opening.look_for and text == opening.compared and beside == foremost:
        hint.caption(f":material/lightbulb: {opening.look_for}")
elif mode == "sentences":
    settle("second_text", examples_for(config)[-1])
    other_text = st.text_input("The other sentence", key="second_text", max_chars=translations.MAX_CHARACTERS) or ""
    if not other_text.strip():
        end_page("Type the other sentence.")
    left, right = Side(name="first", key=key, text=text), Side(name="second", key=key, text=other_text)
else:
    settle("intervention", Intervention())
    intervention: Intervention = st.session_state["intervention"].within(all_heads(loading.translator(key).model))
    if not intervention:
        st.info("Nothing is changed yet: switch heads off on the page Heads, and come back.")
        page_link("heads", "Go to the ablation board", icon=":material/toggle_on:")
        end_page()
    left = Side(name="as trained", key=key, text=text)
    right = Side(name="changed", key=key, text=text, intervention=intervention)

if mode == "checkpoints":
    add_fact("Compared with", right.name)
elif mode == "sentences":
    add_fact("Second sentence", right.text)
else:
    add_fact("Changed", describe_changes(right.intervention))
first, second = left.translation(), right.translation()
languages = {loading.config_of(side.key).tokenizer.target_language for side in (left, right)}
texts = [(left.name, first.text), (right.name, second.text)]
groups = [[line] for line in texts] if mode == "sentences" or len(languages) > 1 else [texts]
st.html(compared(*groups, languages=[first.languages[1], second.languages[1]]))
common = [kind for kind in first.maps if kind in second.maps]
lengths = {side.name: loading.config_of(side.key) for side in (left, right)} if mode == "checkpoints" else {}
if not common:
    by_length(lengths, expanded=True)
    st.info("One of the two has no attention, so there are translations to compare, and no maps.")
    end_page()
words = () if mode == "sentences" else words_for(left, right)
kinds_column, picker, forcing = picker_columns("kind", "head", "toggle", key="set_compared_heads")
settle("same_words", True)
force = forcing.toggle(
    "The same words in both",
    key="same_words",
    disabled=not words,
    help="The right one is made to write what the left one wrote, so that their maps have the same rows.",
)
if words and force:
    second = right.translation(words)
if max(len(tokens) for one in (first, second) for tokens in (one.source, one.read)) > MAX_TILE:
    st.info(f"Maps are compared for texts of up to {MAX_TILE} tokens; shorten the text.")
    end_page()
with kinds_column:
    kind = pick_kind(common)
merge = mode == "checkpoints" and words != tuple(enumerate(token.id for token in first.written))
views: list[AttentionView] = [view(one, kind, merge=merge, hide_special=False) for one in (first, second)]
shapes = [one.maps.shape[:2] for one in views]
same_heads = shapes[0] == shapes[1]
if same_heads:
    with picker:
        layer, head = pick_head(*shapes[0])
section("What they look at", f"One head of each, on the same scale. {KINDS[kind].shows}")
maps, allowed, height = [], [], height_of(views)
for column, side, shown in zip(st.columns(2), (left, right), views, strict=True):
    with column:
        if not same_heads:
            layer, head = pick_head(*shown.maps.shape[:2], prefix="" if side is left else "beside_")
        maps.append(select_head(shown.maps, layer, head))
        allowed.append(shown.allowed[layer])
        told = ", made to write the words of the left one" if side is right and words and force else ""
        st.caption(f"**{plain(side.name)}**, layer {layer + 1} · head {head + 1}{told}")
        draw(
            head_map(maps[-1], shown.axes, allowed[-1], height=height),
            key=f"map_of_{'left' if side is left else 'right'}",
            fills=True,
            alt=f"Heatmap of the attention of {side.name}, layer {layer + 1}, head {head + 1}",
        )
by_length(lengths, expanded=False)
axes = paired(views[0].axes, views[1].axes, by_place=mode == "sentences")
if axes is None:
    st.caption("Their rows or columns are different words, so there is no difference to draw cell by cell.")
    end_page()
difference, heads = st.columns(2)
with difference:
    section("Where they differ", "Right minus left: red, the right one looks there more; blue, less.")
    draw(
        difference_map(maps[1] - maps[0], axes, allowed[0] | allowed[1], height=height),
        key="difference",
        alt="Heatmap of the right map minus the left one",
    )
with heads:
    if same_heads:
        section("Which heads differ most", "The share of a row's weight that lies elsewhere, mean over the rows.")
        draw(
            head_grids({KINDS[kind].title: moved_weight(views[0].maps, views[1].maps)}, unit="share", height=height),
            key="moved",
            alt="Share of the weight of each head that lies elsewhere",
        )
    else:
        st.caption("The two have different numbers of layers or heads, so heads cannot be paired.")
explanation(
    "How it is computed",
    "Both maps are those of the models' own passes. With the same words in both, the right one is forced to write what "
    "the left one wrote. Where the two cut words differently, pieces are merged into words first: the weights of a "
    "word's pieces as keys are added up, as queries averaged.",
    r"1 - \tfrac{1}{T}\sum_t \sum_s \min(\alpha_{ts}, \beta_{ts})",
)
