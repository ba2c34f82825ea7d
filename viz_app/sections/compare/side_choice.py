"""Choose what to compare: two checkpoints, two sentences, or a model as trained and as changed."""

from collections.abc import Mapping, Sequence
from typing import Literal

import streamlit as st

from model.analysis.importance import all_heads
from model.checkpoints.checkpoint import CheckpointError
from model.config.section import ConfigError
from model.inference.run import Run
from model.interventions import Intervention
from model.text.pair import Text, TextPair, paired, texts_of
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.examples import examples_for
from viz_app.content.numbers import sentences
from viz_app.content.plain import as_sentence, plain
from viz_app.content.translation import N_, t, worded
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import head_analyses, loading, results
from viz_app.services.comparison import Side, as_beside
from viz_app.services.listing import CheckpointKey, Listed
from viz_app.session.choices import choices, settle
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact, describe_changes
from viz_app.widgets.checkpoint_choice import require_usable
from viz_app.widgets.cleaning_note import note_cleaning
from viz_app.widgets.navigation import page_link
from viz_app.widgets.second_text import note_shared_second_text, separator_in

__all__ = ["Mode", "choose_mode", "trained_and_changed", "two_checkpoints", "two_sentences"]

Mode = Literal["checkpoints", "sentences", "changed"]
MODES: dict[Mode, str] = {
    "checkpoints": N_("Two checkpoints"),
    "sentences": N_("Two sentences"),
    "changed": N_("As trained and changed"),
}


def choose_mode(*, has_others: bool) -> tuple[Mode, DeltaGenerator]:
    """Ask what to compare; returns the mode, and the column for its setting.

    Args:
        has_others: Whether there is a checkpoint to compare with.
    """
    usual: Mode = "checkpoints" if has_others else "sentences"
    settle("compare", usual, MODES)
    with st.container(key="set_compare"):
        modes, setting = st.columns([3, 2], vertical_alignment="bottom")
    mode = modes.segmented_control(
        t("Compare"), list(MODES), format_func=lambda mode: t(MODES[mode]), required=True, key="compare"
    )
    return mode or usual, setting


def two_checkpoints(
    key: CheckpointKey,
    text: Text,
    listed: Sequence[Listed],
    others: Mapping[str, CheckpointKey],
    setting: DeltaGenerator,
) -> tuple[Side, Side]:
    """Ask for the checkpoint on the right. Where there is none, a message ends the page.

    Args:
        key: The key of the checkpoint on the left.
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
    usual = "" if chosen in others else next(filter(lambda name: loading.can_open(others[name]), others), first)
    settle("beside", usual, others)
    name = setting.selectbox(t("Compare with"), list(others), key="beside")
    try:
        other = as_beside(key, others[name])
    except (CheckpointError, ConfigError) as error:
        reason = as_sentence(worded(error))
        end_page(plain(sentences([reason, t("Choose another checkpoint to compare with.")])))
    if isinstance(text, TextPair) and not separator_in(loading.config_of(other)):
        end_page(
            t("{name} reads single texts. Empty the second field, or choose another checkpoint.", name=plain(name))
        )
    add_fact(t("Compared with"), name)
    run = Run(text=text)
    return Side(name=key.name, key=key, run=run), Side(name=name, key=other, run=run)


def two_sentences(key: CheckpointKey, text: Text) -> tuple[Side, Side]:
    """Ask for the second sentence. Without one, a message ends the page."""
    config = loading.config_of(key)
    usual = demonstration_for(config).donor if config.task == "continuation" else examples_for(config)[-1]
    settle("second_text", usual)
    second = st.text_input(t("Second sentence"), key="second_text", max_chars=results.MAX_CHARACTERS) or ""
    if not second.strip():
        end_page(t("Type the second sentence."))
    note_cleaning(config, second)
    add_fact(t("Second sentence"), second)
    other = Run(text=paired(second, texts_of(text)[1]))
    note_shared_second_text(text)
    return Side(name=t("first"), key=key, run=Run(text=text)), Side(name=t("second"), key=key, run=other)


def trained_and_changed(key: CheckpointKey, text: Text) -> tuple[Side, Side]:
    """The model without and with the changes of the visitor. Without any, a link to the page Heads ends the page."""
    if read_only := head_analyses.why_read_only(key):
        end_page(plain(read_only))
    settle("intervention", Intervention())
    intervention: Intervention = st.session_state["intervention"].within(all_heads(loading.translator(key).model))
    if not intervention:
        st.info(t("Nothing is changed yet. Silence heads on the page Heads, and come back."))
        page_link("heads", t("Go to the ablation board"), icon=":material/toggle_on:")
        end_page()
    add_fact(t("Changed"), describe_changes(intervention))
    trained, changed = Run(text=text), Run(text=text, changes=intervention)
    return Side(name=t("as trained"), key=key, run=trained), Side(name=t("changed"), key=key, run=changed)
